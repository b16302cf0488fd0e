//! What a command needs beyond a configuration that can be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git::Signing;
use git::repository::Settings;
use jsonwebtoken::{Algorithm, EncodingKey, Header};

use super::problem::{ConfigProblem, Error, ValueSource, none_of};
use super::{Config, Secret};

/// What only `serve` cannot do without.
#[derive(Debug, Clone)]
pub struct ServeRequirements {
    pub credentials: Credentials,
    /// At least one; none is empty.
    pub webhook_secrets: Vec<Secret>,
    pub storage: Storage,
    pub clones: Settings,
}

/// As whom GitHub is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    App { app_id: u64, private_key_pem: Secret, installation_id: Option<u64> },
    Token(Secret),
}

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Storage {
    /// The embedded database, in a directory that exists and can be written.
    Directory(PathBuf),
    Postgres(Secret),
}

impl Config {
    /// All that `serve` needs, or all that is missing.
    pub fn check_for_serve(&self) -> Result<ServeRequirements, Error> {
        let mut problems = Vec::new();
        let mut keep = |problem| problems.push(problem);
        let credentials = self.read_credentials().map_err(&mut keep).ok();
        let webhook_secrets = self.webhook_secrets().map_err(&mut keep).ok();
        let storage = self.find_storage().map_err(&mut keep).ok();
        let signing = self.find_signing().map_err(&mut keep).ok();
        none_of(problems)?;
        Ok(ServeRequirements {
            credentials: credentials.expect("it is a problem otherwise"),
            webhook_secrets: webhook_secrets.expect("it is a problem otherwise"),
            storage: storage.expect("it is a problem otherwise"),
            clones: self.git.clones(signing.expect("it is a problem otherwise")),
        })
    }

    /// As whom GitHub is spoken to. Reads the app's key.
    pub fn credentials(&self) -> Result<Credentials, Error> {
        self.read_credentials().map_err(|problem| Error::Invalid(vec![problem]))
    }

    /// How commits are signed: never unsigned because nobody said anything.
    pub fn signing(&self) -> Result<Signing, Error> {
        self.find_signing().map_err(|problem| Error::Invalid(vec![problem]))
    }

    /// Where state is kept. Makes the directory if it is not there.
    pub fn storage(&self) -> Result<Storage, Error> {
        self.find_storage().map_err(|problem| Error::Invalid(vec![problem]))
    }

    fn read_credentials(&self) -> Result<Credentials, ConfigProblem> {
        let github = &self.github;
        if let Some(token) = &github.token {
            return Ok(Credentials::Token(token.clone()));
        }
        let (Some(app_id), Some(path)) = (github.app_id, &github.private_key_path) else {
            let text = "no GitHub credentials; set github.app_id and github.private_key_path or, for a trial, \
                        github.token (MERGE_TRAIN_GITHUB_TOKEN)";
            return Err(ConfigProblem::new(ValueSource::Nowhere, text));
        };
        let private_key_pem = read_private_key(path).map_err(|why| {
            let text = format!("github.private_key_path: {} {why}", path.display());
            ConfigProblem::new(self.place("github", "private_key_path"), text)
        })?;
        Ok(Credentials::App { app_id, private_key_pem, installation_id: github.installation_id })
    }

    fn webhook_secrets(&self) -> Result<Vec<Secret>, ConfigProblem> {
        if self.server.webhook_secret.is_empty() {
            let text = "server.webhook_secret is missing: without it anyone could send webhooks; set it, or \
                        MERGE_TRAIN_SERVER_WEBHOOK_SECRET, to the app's webhook secret on GitHub";
            return Err(ConfigProblem::new(ValueSource::Nowhere, text));
        }
        Ok(self.server.webhook_secret.clone())
    }

    fn find_signing(&self) -> Result<Signing, ConfigProblem> {
        self.git.signing().ok_or_else(|| {
            let text = "commit signing is not configured; set git.signing_key_id (and git.gpg_home) to sign with GPG, \
                        git.ssh_key_path to sign with an SSH key, or git.signing = \"off\" to leave them unsigned";
            ConfigProblem::new(ValueSource::Nowhere, text)
        })
    }

    fn find_storage(&self) -> Result<Storage, ConfigProblem> {
        if let Some(url) = &self.state.database_url {
            return Ok(Storage::Postgres(url.clone()));
        }
        let directory = &self.state.state_dir;
        make_writable(directory).map_err(|error| {
            let text = format!(
                "state.state_dir: {} cannot be written ({error}); set state.state_dir or MERGE_TRAIN_STATE_DIR to a \
                 writable directory on a persistent disk",
                directory.display()
            );
            ConfigProblem::new(self.place("state", "state_dir"), text)
        })?;
        Ok(Storage::Directory(directory.clone()))
    }
}

/// The key's text, or the end of a sentence that begins with its path. No part of the key is ever in it.
fn read_private_key(path: &Path) -> Result<Secret, String> {
    let pem = fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    let not_a_key =
        "is not an RSA private key in PEM format; download one from the app's settings on GitHub".to_owned();
    let key = EncodingKey::from_rsa_pem(pem.as_bytes()).map_err(|_| not_a_key.clone())?;
    // A key that reads as one may still be unable to sign: a damaged file, or one that is too short.
    let claims = serde_json::json!({});
    jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key).map_err(|_| not_a_key)?;
    Ok(Secret::new(pem))
}

fn make_writable(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    tempfile::tempfile_in(directory).map(drop)
}
