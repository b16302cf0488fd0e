//! `merge-train init`: a configuration to begin with.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::json;

use crate::cli::doctor;
use crate::cli::private_file::{self, ExistingFile, random_text};
use crate::config::{DEFAULT_FILE, NewFileValues, default_path, sha256_of};

#[derive(clap::Args)]
pub struct Args {
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    config: PathBuf,
    /// Overwrite the file if it exists.
    #[arg(long)]
    force: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut values = NewFileValues::default();
    let key = begin(&mut values);
    let existing = if args.force { ExistingFile::Replace } else { ExistingFile::Keep };
    let shown = args.config.display();
    match private_file::write(&args.config, &values.as_new_file(), existing) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!(
                "{shown} already exists and was not changed; --force overwrites it, --config FILE writes another file"
            )
        }
        Err(error) => return Err(error).with_context(|| format!("{shown} cannot be written")),
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&json!({ "config": args.config, "api_key": key }))?);
        return Ok(ExitCode::SUCCESS);
    }
    println!("{shown} is written. {}", about_key(&key));
    println!(
        "
Next:
  merge-train app create --url https://HOST --config {shown}   creates the GitHub App, and adds its id, key and secret
  merge-train doctor --config {shown}                          shows what is missing or wrong
  merge-train serve --config {shown}                           runs the daemon"
    );
    Ok(ExitCode::SUCCESS)
}

/// What a new file begins with: a key for the API, and folders where the daemon can write. Gives the key, which the file does not
/// have.
pub fn begin(values: &mut NewFileValues) -> String {
    let key = random_text();
    values.text("api_keys", "name", "admin");
    values.text("api_keys", "tenant", "*");
    values.text("api_keys", "role", "admin");
    values.text("api_keys", "sha256", &sha256_of(&key));
    for (section, setting) in [("state", "state_dir"), ("git", "clone_base_dir"), ("runs", "work_dir")] {
        let default = default_path(section, setting);
        // Beside the file, for somebody who is no administrator.
        if let Some(name) = default.file_name().filter(|_| !doctor::is_writable(&default)) {
            values.text(section, setting, &name.to_string_lossy());
        }
    }
    key
}

/// What to say about the key, this once.
pub fn about_key(key: &str) -> String {
    format!("The API key is shown only once:\n\n  export MERGE_TRAIN_API_KEY={key}")
}
