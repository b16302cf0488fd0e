//! The configuration itself.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use url::Url;

use super::Finding;
use crate::config::{Config, DEFAULT_FILE, Error, secrets_in};
use github::is_this_machine;

const CHECK: &str = "configuration";

pub fn readable(path: Option<&Path>, loaded: &Result<Config, Error>) -> Finding {
    let config = match loaded {
        Ok(config) => config,
        Err(error) => return unreadable(error),
    };
    let file = path.unwrap_or(Path::new(DEFAULT_FILE));
    let found = match path.is_none() && !file.exists() {
        true => format!("no {DEFAULT_FILE} here: using the environment and the defaults"),
        false => file.display().to_string(),
    };
    if config.warnings.is_empty() {
        return Finding::ok(CHECK, found);
    }
    let found = format!("{found}\n{}", config.warnings.join("\n"));
    Finding::warning(CHECK, found, "correct or unset these variables: the daemon ignores them")
}

fn unreadable(error: &Error) -> Finding {
    let mut found = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        found = format!("{found}: {cause}");
    }
    let fix = match error {
        Error::Unreadable { path, source } if source.kind() == ErrorKind::PermissionDenied => to_be_let_in(path),
        Error::Unreadable { .. } => "write one with `merge-train init`, or name it with --config".to_owned(),
        Error::Invalid(_) => {
            "fix these and run this again for the rest; docs/configuration.md lists every setting".to_owned()
        }
    };
    Finding::failed(CHECK, found, fix)
}

/// What to do about a file that is there, and may not be read by whoever asks.
pub fn to_be_let_in(file: &Path) -> String {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (file, folder) = (file.display(), folder.display());
    format!(
        "run this as the user who runs the daemon; if that user cannot read it either, give access to their group, \
         such as merge-train: `chgrp merge-train {folder} {file}`, `chmod 750 {folder}` and `chmod 640 {file}`"
    )
}

/// Whether anybody on this machine can read what opens GitHub or the daemon.
pub fn private(path: Option<&Path>, config: &Config) -> Finding {
    const CHECK: &str = "secrets";
    let file = path.unwrap_or(Path::new(DEFAULT_FILE));
    let (mut found, mut files) = (Vec::new(), Vec::new());
    let keys = [(&config.github.private_key_path, "the app's key"), (&config.git.ssh_key_path, "the signing key")];
    for (key, what) in keys {
        if let Some(key) = key.as_deref().filter(|key| is_open_to_others(key)) {
            found.push(format!("{what} is world-readable: {}", key.display()));
            files.push(key);
        }
    }
    let written = secrets_in(file);
    if !written.is_empty() && is_open_to_others(file) {
        found.push(format!("{} is world-readable and contains {}", file.display(), written.join(", ")));
        files.push(file);
    }
    if found.is_empty() {
        return Finding::ok(CHECK, "not world-readable");
    }
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Finding::warning(CHECK, found.join("\n"), format!("chmod o= {}", files.join(" ")))
}

fn is_open_to_others(file: &Path) -> bool {
    const OTHERS: u32 = 0o007;
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & OTHERS != 0)
}

/// How the world reaches the daemon.
pub fn address(config: &Config) -> Finding {
    const CHECK: &str = "public_url";
    let Some(url) = &config.server.public_url else {
        let fix = "set server.public_url to the address at which browsers and GitHub reach the daemon, such as \
                   https://merge-train.example.com";
        return Finding::warning(CHECK, "not set: merge-train's comments on GitHub have no links to it", fix);
    };
    let is_safe = |url: Url| url.scheme() == "https" || url.host().is_some_and(is_this_machine);
    if !Url::parse(url).is_ok_and(is_safe) {
        let fix = "put a proxy with a certificate in front of it, and begin server.public_url with https://";
        return Finding::warning(CHECK, format!("{url}: API keys cross the network unencrypted"), fix);
    }
    Finding::ok(CHECK, url.as_str())
}

/// Who may use the API.
pub fn api_keys(config: &Config) -> Finding {
    const CHECK: &str = "api_keys";
    match config.api_keys.len() {
        0 => {
            let fix = "create one: KEY=$(openssl rand -hex 32); printf %s \"$KEY\" | sha256sum; then add [[api_keys]] \
                       with that sha256, a name, tenant = \"*\" and role = \"admin\"";
            Finding::warning(
                CHECK,
                "none: the daemon refuses `merge-train status` and every other command that needs \
                 it",
                fix,
            )
        }
        count => Finding::ok(CHECK, count.to_string()),
    }
}
