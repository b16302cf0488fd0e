//! The configuration itself.

use std::path::Path;

use super::Finding;
use crate::config::{Config, DEFAULT_FILE, Error};

const CHECK: &str = "configuration";

pub fn readable(path: Option<&Path>, loaded: &Result<Config, Error>) -> Finding {
    let config = match loaded {
        Ok(config) => config,
        Err(error) => return unreadable(error),
    };
    let file = path.unwrap_or(Path::new(DEFAULT_FILE));
    let found = match path.is_none() && !file.exists() {
        true => format!("no {DEFAULT_FILE} here: the environment and the defaults"),
        false => file.display().to_string(),
    };
    if config.warnings.is_empty() {
        return Finding::ok(CHECK, found);
    }
    let found = format!("{found}\n{}", config.warnings.join("\n"));
    Finding::warning(CHECK, found, "correct the variables or unset them: the daemon does what the others say")
}

fn unreadable(error: &Error) -> Finding {
    let mut found = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        found = format!("{found}: {cause}");
    }
    Finding::failed(CHECK, found, "mend these and run it again for the rest; docs/configuration.md has every setting")
}

pub fn webhook_secret(config: &Config) -> Finding {
    const CHECK: &str = "webhooks";
    match config.server.webhook_secret.as_slice() {
        [] => {
            let fix = "set server.webhook_secret, or MERGE_TRAIN_SERVER_WEBHOOK_SECRET, to the secret that GitHub has \
                       (make one: openssl rand -hex 32)";
            Finding::failed(CHECK, "no secret: anybody could send webhooks", fix)
        }
        [_] => Finding::ok(CHECK, "signed with a secret"),
        many => Finding::ok(CHECK, format!("signed with one of {} secrets", many.len())),
    }
}
