//! Why commits cannot be signed, and what a person can do about it.

use std::path::PathBuf;
use std::time::Duration;

/// What is wrong with a signing key. Told apart by the state of files, exit codes and gpg's status lines, not by prose.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("{program} is not on the PATH, so nothing can be signed. Install {package}, or set git.signing = \"off\"")]
    ProgramMissing { program: &'static str, package: &'static str },
    #[error("{} is not an absolute path. Give it from the root of the file system", .0.display())]
    PathNotAbsolute(PathBuf),
    #[error(
        "there is no signing key at {path}. Create one with `ssh-keygen -t ed25519 -N '' -f {path}`, or correct \
         git.ssh_key_path", path = .0.display()
    )]
    KeyFileMissing(PathBuf),
    #[error("the signing key {} cannot be read. Make merge-train's user its owner, with mode 0600", path.display())]
    KeyFileUnreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "others can read the signing key {path} (mode {mode:04o}), so that ssh-keygen refuses it. \
         Run `chmod 600 {path}`", path = path.display()
    )]
    KeyFileTooOpen { path: PathBuf, mode: u32 },
    #[error("{} is no private SSH key. git.ssh_key_path must name the private half, not the .pub file", .0.display())]
    NotAPrivateKey(PathBuf),
    #[error("the public half of {path} is not beside it. Run `ssh-keygen -y -f {path} > {path}.pub`", path = .0.display())]
    PublicHalfMissing(PathBuf),
    #[error(
        "GnuPG's home {path} does not exist. Correct git.gpg_home, \
         or import the key there with `gpg --homedir {path} --import`", path = .0.display()
    )]
    GpgHomeMissing(PathBuf),
    #[error("GnuPG's home {} cannot be read. Make merge-train's user its owner, with mode 0700", path.display())]
    GpgHomeUnreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(
        "gpg has no secret key {key_id:?} in {home}. `gpg --homedir {home} --list-secret-keys` shows those it has; \
         correct git.signing_key_id or import the key"
    )]
    NoSecretKey { key_id: String, home: String },
    #[error(
        "the key {key_id:?} cannot sign: it has expired, was revoked or is not for signing. \
         Renew it, or name another in git.signing_key_id"
    )]
    KeyUnusable { key_id: String },
    #[error(
        "the signing key {0} needs a passphrase, and nobody can type it. Use a key without one, or store the \
         passphrase in gpg-agent"
    )]
    PassphraseNeeded(String),
    #[error(
        "the key {configured:?} is configured, but {used} signed. \
         Name the primary key in git.signing_key_id, or add a `!` to the subkey that is meant"
    )]
    OtherKey { configured: String, used: String },
    #[error(
        "a commit was signed, but its signature does not verify: git calls it {0}. \
         Is the public half that of the key?"
    )]
    NotVerified(&'static str),
    #[error(
        "signing took longer than {} s: the key may be waiting for a passphrase or a touch. Use a key that works \
         unattended", .0.as_secs()
    )]
    TooSlow(Duration),
    /// A git older than 2.40 does not pass on what gpg says.
    #[error(
        "gpg did not sign with {key_id:?}: {said}. \
         `echo | gpg --homedir {home} --local-user {key_id} --clearsign` shows why; \
         `gpg --homedir {home} --list-secret-keys` shows the keys it has"
    )]
    GpgRefused { key_id: String, home: String, said: String },
    #[error("the commit could not be signed: {0}")]
    Refused(String),
    #[error("signing could not be tried")]
    Git(#[from] crate::Error),
}
