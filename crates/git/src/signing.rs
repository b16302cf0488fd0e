//! Signed commits: with a GPG key, with an SSH key, or, by explicit setting, not at all.
//!
//! **Invariant:** a committer with a key never makes an unsigned commit. A key that does not work is an error, and
//! [`check`] finds it before the first commit is due.

mod check;
mod fault;
mod gpg_status;
mod ssh_key;

use std::ffi::OsString;
use std::path::PathBuf;

pub use check::{Check, check, verify};
pub use fault::Fault;

use crate::command::Command;

const GPG: &str = "gpg";
const SSH_KEYGEN: &str = "ssh-keygen";

/// How commits are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signing {
    Gpg {
        key_id: String,
        /// GnuPG's home; without it, the one of the user who runs the daemon.
        home: Option<PathBuf>,
    },
    Ssh {
        key_path: PathBuf,
    },
    Off,
}

impl Signing {
    /// Lets a command that writes a commit sign it.
    pub(crate) fn sign(&self, command: Command) -> Command {
        let command = self.equip(command);
        match self {
            Self::Off => command,
            Self::Gpg { key_id, .. } => command.arg(format!("--gpg-sign={key_id}")),
            Self::Ssh { key_path } => {
                let mut arg = OsString::from("--gpg-sign=");
                arg.push(key_path);
                command.arg(arg)
            }
        }
    }

    /// Lets a command find the program that signs and verifies, and its keys. Said outright, so that no repository's
    /// configuration names another program.
    fn equip(&self, command: Command) -> Command {
        match self {
            Self::Off => command,
            Self::Gpg { .. } => {
                let command = command.setting("gpg.format=openpgp").setting(format!("gpg.program={GPG}"));
                match self.gpg_home() {
                    Some(home) => command.env("GNUPGHOME", home),
                    None => command,
                }
            }
            Self::Ssh { .. } => command.setting("gpg.format=ssh").setting(format!("gpg.ssh.program={SSH_KEYGEN}")),
        }
    }

    /// Where gpg keeps its keys. Git's own HOME leads nowhere, so that gpg has to be told.
    fn gpg_home(&self) -> Option<PathBuf> {
        match self {
            Self::Gpg { home: Some(home), .. } => Some(home.clone()),
            Self::Gpg { home: None, .. } => std::env::var_os("GNUPGHOME")
                .map(PathBuf::from)
                .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".gnupg"))),
            Self::Ssh { .. } | Self::Off => None,
        }
    }
}
