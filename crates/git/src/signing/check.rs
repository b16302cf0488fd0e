//! Whether commits can be signed, tried out: one is made as in production, and git verifies it.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::gpg_status::{self, Reason};
use super::ssh_key::{self, Lock, PrivateKey};
use super::{Fault, GPG, SSH_KEYGEN, Signing};
use crate::{Committer, Error, Git, Objects, Oid};

/// A signature takes milliseconds; a card or an agent that waits for a person takes for ever.
const DEADLINE: Duration = Duration::from_secs(30);
/// Of a key file; real ones are below 10 KB.
const KEY_FILE_LIMIT: u64 = 256 * 1024;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// A commit was signed with this GPG key, and the signature verified.
    Gpg { fingerprint: String },
    /// A commit was signed with this SSH key, and the signature verified.
    Ssh { fingerprint: String },
    /// By setting, commits are not signed.
    Unsigned,
}

/// Makes a signed commit in a repository that is thrown away, by the way all commits are made, and verifies it.
pub async fn check(git: &Git, committer: &Committer) -> Result<Check, Fault> {
    let signing = &committer.signing;
    look(signing)?;
    let folder = tempfile::tempdir().map_err(Error::io("making a folder to try the signing key in"))?;
    let attempt = async {
        git.anywhere(["init", "--quiet", "--bare", "--template="]).arg(folder.path()).run().await?;
        let objects = Objects::new(git.clone(), folder.path(), committer.clone(), CancellationToken::new());
        let tree = git.on(folder.path(), ["mktree"]).run().await?.oid()?;
        let written = objects.write_commit(&tree, &[], "Try the signing key\n").await;
        let commit = written.map_err(|error| explain(signing, error))?;
        verify(git, folder.path(), &commit, signing).await
    };
    tokio::time::timeout(DEADLINE, attempt).await.unwrap_or(Err(Fault::TooSlow(DEADLINE)))
}

/// Asks git whether a commit carries a good signature by the key that `signing` names.
pub async fn verify(git: &Git, dir: &Path, commit: &Oid, signing: &Signing) -> Result<Check, Fault> {
    let command = git.on(dir, ["log", "-1", "--no-show-signature", "--format=%G?%n%GF%n%GP", commit.as_str()]);
    let mut command = signing.equip(command);
    let mut signers = None;
    match signing {
        Signing::Off => return Ok(Check::Unsigned),
        Signing::Gpg { .. } => {}
        Signing::Ssh { key_path } => {
            let file = allowed_signers(key_path)?;
            let mut setting = OsString::from("gpg.ssh.allowedSignersFile=");
            setting.push(file.path());
            command = command.setting(setting);
            signers = Some(file);
        }
    }
    let output = command.run().await?;
    drop(signers);
    let text = output.text();
    let mut lines = text.lines();
    let (status, fingerprint) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default().to_owned());
    let primary = lines.next().unwrap_or_default();
    match (signing, status) {
        (Signing::Ssh { .. }, "G") => Ok(Check::Ssh { fingerprint }),
        (Signing::Ssh { key_path }, "U") => {
            Err(Fault::OtherKey { configured: key_path.display().to_string(), used: fingerprint })
        }
        // Nobody vouches for an imported key: it is good all the same, since it is the one that was asked for.
        (Signing::Gpg { key_id, .. }, "G" | "U") => {
            if may_be(key_id, [&fingerprint, primary]) {
                Ok(Check::Gpg { fingerprint })
            } else {
                Err(Fault::OtherKey { configured: key_id.clone(), used: fingerprint })
            }
        }
        (_, status) => Err(Fault::NotVerified(meaning(status))),
    }
}

/// What can be known without trying.
fn look(signing: &Signing) -> Result<(), Fault> {
    match signing {
        Signing::Off => Ok(()),
        Signing::Gpg { .. } => {
            on_path(GPG, "GnuPG")?;
            let Some(home) = signing.gpg_home() else { return Ok(()) };
            if !home.is_absolute() {
                return Err(Fault::PathNotAbsolute(home));
            }
            match std::fs::read_dir(&home) {
                Ok(_) => Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Fault::GpgHomeMissing(home)),
                Err(source) => Err(Fault::GpgHomeUnreadable { path: home, source }),
            }
        }
        Signing::Ssh { key_path } => {
            on_path(SSH_KEYGEN, "OpenSSH")?;
            let key = read_key(key_path)?;
            if key.lock == Lock::Passphrase {
                return Err(Fault::PassphraseNeeded(key_path.display().to_string()));
            }
            public_half(key_path, key).map(drop)
        }
    }
}

fn on_path(program: &'static str, package: &'static str) -> Result<(), Fault> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if is_in(&path, program) { Ok(()) } else { Err(Fault::ProgramMissing { program, package }) }
}

/// Whether one of the folders that a PATH names has the program.
fn is_in(path: &OsStr, program: &str) -> bool {
    let runs = |folder: PathBuf| rustix::fs::access(folder.join(program), rustix::fs::Access::EXEC_OK).is_ok();
    std::env::split_paths(path).any(runs)
}

/// Reads the key file, if ssh-keygen would.
fn read_key(path: &Path) -> Result<PrivateKey, Fault> {
    if !path.is_absolute() {
        return Err(Fault::PathNotAbsolute(path.to_owned()));
    }
    let unreadable = |source| Fault::KeyFileUnreadable { path: path.to_owned(), source };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Fault::KeyFileMissing(path.to_owned()));
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !metadata.is_file() || metadata.len() > KEY_FILE_LIMIT {
        return Err(Fault::NotAPrivateKey(path.to_owned()));
    }
    let text = std::fs::read(path).map_err(unreadable)?;
    let key = ssh_key::parse(&String::from_utf8_lossy(&text)).ok_or_else(|| Fault::NotAPrivateKey(path.to_owned()))?;
    // The rule of ssh-keygen: it looks at the mode of its own user's files only.
    let mode = metadata.mode() & 0o7777;
    if metadata.uid() == rustix::process::getuid().as_raw() && mode & 0o077 != 0 {
        return Err(Fault::KeyFileTooOpen { path: path.to_owned(), mode });
    }
    Ok(key)
}

/// The kind and the key of the public half: from the private file where that has it, or else from beside it.
fn public_half(path: &Path, key: PrivateKey) -> Result<String, Fault> {
    if let Some(public) = key.public {
        return Ok(public);
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".pub");
    let text = std::fs::read_to_string(beside).map_err(|_| Fault::PublicHalfMissing(path.to_owned()))?;
    let mut words = text.split_whitespace();
    match (words.next(), words.next()) {
        (Some(kind), Some(key)) => Ok(format!("{kind} {key}")),
        _ => Err(Fault::PublicHalfMissing(path.to_owned())),
    }
}

/// A file that allows this one key to sign, whoever the committer is.
fn allowed_signers(key_path: &Path) -> Result<tempfile::NamedTempFile, Fault> {
    let public = public_half(key_path, read_key(key_path)?)?;
    let write = || {
        let mut file = tempfile::NamedTempFile::new()?;
        writeln!(file, "* {public}")?;
        file.flush()?;
        Ok(file)
    };
    write().map_err(|error| Error::io("writing the key that is allowed to sign")(error).into())
}

/// Whether one of `fingerprints` can be meant by `key_id`. A key that is named by its owner, gpg has found itself.
fn may_be(key_id: &str, fingerprints: [&str; 2]) -> bool {
    let id = key_id.trim().trim_end_matches('!');
    let id = id.strip_prefix("0x").unwrap_or(id).to_ascii_uppercase();
    let is_number = id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_number || fingerprints.into_iter().any(|fingerprint| fingerprint.to_ascii_uppercase().ends_with(&id))
}

/// Why the commit was not made.
fn explain(signing: &Signing, error: Error) -> Fault {
    let Error::Signing(stderr) = error else { return error.into() };
    let Signing::Gpg { key_id, .. } = signing else { return Fault::Refused(stderr) };
    let home = signing.gpg_home().unwrap_or_default().display().to_string();
    match gpg_status::reason(&stderr) {
        Reason::NoSecretKey => Fault::NoSecretKey { key_id: key_id.clone(), home },
        Reason::UnusableKey => Fault::KeyUnusable { key_id: key_id.clone() },
        Reason::PassphraseNeeded => Fault::PassphraseNeeded(key_id.clone()),
        Reason::Unknown => Fault::GpgRefused { key_id: key_id.clone(), home, said: stderr },
    }
}

/// Of the letters that git gives to signatures.
fn meaning(status: &str) -> &'static str {
    match status {
        "N" => "unsigned",
        "B" => "bad",
        "X" | "Y" => "expired",
        "R" => "made by a revoked key",
        "E" => "impossible to check",
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::{is_in, may_be};

    #[test]
    fn a_program_is_found_where_it_can_be_run() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("gpg");
        let path = std::env::join_paths(["/nonexistent".as_ref(), folder.path()]).unwrap();
        assert!(!is_in(&path, "gpg"));
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!is_in(&path, "gpg"));
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_in(&path, "gpg"));
        assert!(!is_in("".as_ref(), "gpg"));
    }

    #[test]
    fn a_key_is_recognised_by_the_end_of_its_fingerprint_or_of_its_primarys() {
        let fingerprints = ["6152EFF93BDCAB6CA10B935349B41AFBDBBDCF9B", "2FB7A73F174C003012E137CEC7DD56C2B93602E7"];
        for (id, expected) in [
            ("49B41AFBDBBDCF9B", true),
            ("0xdbbdcf9b", true),
            ("C7DD56C2B93602E7!", true),
            ("6152EFF93BDCAB6CA10B935349B41AFBDBBDCF9B", true),
            ("0123456789ABCDEF", false),
            ("bot@example.com", true),
        ] {
            assert_eq!(may_be(id, fingerprints), expected, "{id}");
        }
    }
}
