//! Signed commits: with a GPG key, with an SSH key, or, by explicit setting, not at all.

use std::path::PathBuf;

use crate::command::Command;

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
        match self {
            Self::Off => command,
            Self::Gpg { key_id, home } => {
                let command = command.setting("gpg.format=openpgp").arg(format!("--gpg-sign={key_id}"));
                match home.clone().or_else(users_gpg_home) {
                    Some(home) => command.env("GNUPGHOME", home),
                    None => command,
                }
            }
            Self::Ssh { key_path } => command
                .setting("gpg.format=ssh")
                .setting("gpg.ssh.program=ssh-keygen")
                .arg(format!("--gpg-sign={}", key_path.display())),
        }
    }
}

/// Where gpg looks when nobody says: git's own HOME leads nowhere.
fn users_gpg_home() -> Option<PathBuf> {
    std::env::var_os("GNUPGHOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".gnupg")))
}
