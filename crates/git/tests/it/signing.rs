//! Real keys, real signatures.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use git::signing::{Check, Fault, check, verify};
use git::{Committer, Error, Git, Objects, Oid, Signing};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::plain;
use crate::support::git_version;

/// A home for gpg, with a short path, since the agent's socket is in it. Its agent ends with it.
struct Keyring {
    home: TempDir,
}

impl Keyring {
    fn new() -> Self {
        let home = tempfile::Builder::new().prefix("mt-gpg").tempdir_in("/tmp").unwrap();
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
        Self { home }
    }

    fn gpg(&self, args: &[&str]) -> String {
        let output = plain::run("gpg", self.home.path(), &[&["--batch", "--quiet"], args].concat(), &[self.env()]);
        assert!(output.status.success(), "gpg {args:?}: {}", plain::text(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn env(&self) -> (&str, &str) {
        ("GNUPGHOME", self.home.path().to_str().unwrap())
    }

    /// Makes a key and returns its fingerprint.
    fn key(&self, email: &str, passphrase: &str) -> String {
        let loopback = ["--pinentry-mode", "loopback", "--passphrase", passphrase];
        self.gpg(&[&loopback[..], &["--quick-generate-key", email, "ed25519", "sign", "never"]].concat());
        let keys = self.gpg(&["--with-colons", "--list-secret-keys", email]);
        keys.lines().find_map(|line| line.strip_prefix("fpr:")).unwrap().trim_matches(':').to_owned()
    }

    /// Lets the agent forget the passphrases that it was told.
    fn forget(&self) {
        plain::run("gpgconf", Path::new("/"), &["--homedir", self.env().1, "--kill", "all"], &[]);
    }

    fn signing(&self, key_id: &str) -> Signing {
        Signing::Gpg { key_id: key_id.to_owned(), home: Some(self.home.path().to_owned()) }
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        self.forget();
    }
}

/// Makes an SSH key in `folder`.
fn ssh_key(folder: &Path, name: &str, options: &[&str], passphrase: &str) -> PathBuf {
    let args = [&["-q", "-f", name, "-N", passphrase], options].concat();
    let output = plain::run("ssh-keygen", folder, &args, &[]);
    assert!(output.status.success(), "{}", plain::text(&output));
    folder.join(name)
}

fn ssh(key_path: &Path) -> Signing {
    Signing::Ssh { key_path: key_path.to_owned() }
}

fn committer(signing: Signing) -> Committer {
    Committer { name: "merge-train".into(), email: "bot@example.com".into(), signing }
}

async fn git() -> Git {
    Git::find("git").await.unwrap()
}

async fn check_of(signing: Signing) -> Result<Check, Fault> {
    check(&git().await, &committer(signing)).await
}

/// A bare repository in which commits are made as in production.
struct Repo {
    folder: TempDir,
}

impl Repo {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        plain::git(folder.path(), &["init", "-q", "--bare"]);
        Self { folder }
    }

    async fn commit(&self, signing: &Signing) -> Result<Oid, Error> {
        let tree = Oid::parse(plain::git(self.folder.path(), &["mktree"])).unwrap();
        let objects =
            Objects::new(git().await, self.folder.path(), committer(signing.clone()), CancellationToken::new());
        objects.write_commit(&tree, &[], "A merge\n").await
    }

    /// The same commit with another message, and so with a signature of something else.
    fn tampered(&self, commit: &Oid) -> Oid {
        let text = plain::git(self.folder.path(), &["cat-file", "commit", commit.as_str()]);
        let file = self.folder.path().join("tampered");
        fs::write(&file, text.replace("A merge", "Another") + "\n").unwrap();
        let args = ["hash-object", "-t", "commit", "-w", file.to_str().unwrap()];
        Oid::parse(plain::git(self.folder.path(), &args)).unwrap()
    }

    async fn verify(&self, commit: &Oid, signing: &Signing) -> Result<Check, Fault> {
        verify(&git().await, self.folder.path(), commit, signing).await
    }

    fn commits(&self) -> usize {
        let all = plain::git(self.folder.path(), &["cat-file", "--batch-all-objects", "--batch-check"]);
        all.lines().filter(|line| line.contains(" commit ")).count()
    }
}

#[tokio::test]
async fn a_gpg_key_signs_and_its_signature_verifies() {
    let keyring = Keyring::new();
    let fingerprint = keyring.key("bot@example.com", "");
    for id in ["bot@example.com", &fingerprint, &fingerprint[24..]] {
        let found = check_of(keyring.signing(id)).await.unwrap();
        assert_eq!(found, Check::Gpg { fingerprint: fingerprint.clone() }, "{id}");
    }
}

#[tokio::test]
async fn an_ssh_key_of_every_kind_signs_and_its_signature_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [&[&str]; 4] =
        [&["-t", "ed25519"], &["-t", "ecdsa"], &["-t", "rsa", "-b", "2048"], &["-t", "rsa", "-b", "2048", "-m", "PEM"]];
    for (number, options) in kinds.into_iter().enumerate() {
        let key = ssh_key(folder.path(), &format!("key {number}"), options, "");
        let listed = plain::run("ssh-keygen", folder.path(), &["-l", "-f", key.to_str().unwrap()], &[]);
        let Check::Ssh { fingerprint } = check_of(ssh(&key)).await.unwrap() else { panic!("{options:?}") };
        assert!(plain::text(&listed).contains(&fingerprint), "{options:?}: {fingerprint}");
    }
}

#[tokio::test]
async fn a_key_that_holds_its_public_half_needs_no_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let key = ssh_key(folder.path(), "key", &["-t", "ed25519"], "");
    fs::remove_file(folder.path().join("key.pub")).unwrap();
    assert!(matches!(check_of(ssh(&key)).await, Ok(Check::Ssh { .. })));

    let old = ssh_key(folder.path(), "old", &["-t", "rsa", "-b", "2048", "-m", "PEM"], "");
    fs::remove_file(folder.path().join("old.pub")).unwrap();
    assert!(matches!(check_of(ssh(&old)).await, Err(Fault::PublicHalfMissing(path)) if path == old));
}

#[tokio::test]
async fn without_signing_by_setting_the_check_says_so() {
    assert_eq!(check_of(Signing::Off).await.unwrap(), Check::Unsigned);
}

#[tokio::test]
async fn what_another_ssh_key_signed_is_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, other) =
        (ssh_key(folder.path(), "a", &["-t", "ed25519"], ""), ssh_key(folder.path(), "b", &["-t", "ed25519"], ""));
    let repo = Repo::new();
    let commit = repo.commit(&ssh(&other)).await.unwrap();
    assert!(matches!(repo.verify(&commit, &ssh(&other)).await, Ok(Check::Ssh { .. })));
    assert!(matches!(repo.verify(&commit, &ssh(&ours)).await, Err(Fault::OtherKey { .. })));
}

#[tokio::test]
async fn what_another_gpg_key_signed_is_not_verified() {
    let keyring = Keyring::new();
    let (ours, other) = (keyring.key("a@example.com", ""), keyring.key("b@example.com", ""));
    let repo = Repo::new();
    let commit = repo.commit(&keyring.signing(&other)).await.unwrap();
    assert!(matches!(repo.verify(&commit, &keyring.signing(&other)).await, Ok(Check::Gpg { .. })));
    let Err(Fault::OtherKey { configured, used }) = repo.verify(&commit, &keyring.signing(&ours)).await else {
        panic!()
    };
    assert_eq!((configured, used), (ours, other));

    let stranger = Keyring::new();
    let verdict = repo.verify(&commit, &stranger.signing("b@example.com")).await;
    assert!(matches!(verdict, Err(Fault::NotVerified("impossible to check"))), "{verdict:?}");
}

#[tokio::test]
async fn a_commit_that_was_changed_after_signing_is_not_verified() {
    let (keyring, folder) = (Keyring::new(), tempfile::tempdir().unwrap());
    let keys = [
        keyring.signing(&keyring.key("bot@example.com", "")),
        ssh(&ssh_key(folder.path(), "key", &["-t", "ed25519"], "")),
    ];
    for signing in keys {
        let repo = Repo::new();
        let commit = repo.commit(&signing).await.unwrap();
        let tampered = repo.tampered(&commit);
        assert_ne!(tampered, commit);
        let verdict = repo.verify(&tampered, &signing).await;
        assert!(matches!(verdict, Err(Fault::NotVerified("bad"))), "{verdict:?}");
    }
}

#[tokio::test]
async fn an_unsigned_commit_is_not_verified() {
    let folder = tempfile::tempdir().unwrap();
    let key = ssh_key(folder.path(), "key", &["-t", "ed25519"], "");
    let repo = Repo::new();
    let commit = repo.commit(&Signing::Off).await.unwrap();
    assert!(matches!(repo.verify(&commit, &ssh(&key)).await, Err(Fault::NotVerified("unsigned"))));
}

#[tokio::test]
async fn without_a_working_key_no_commit_is_made_rather_than_an_unsigned_one() {
    let (keyring, folder) = (Keyring::new(), tempfile::tempdir().unwrap());
    let repo = Repo::new();
    for signing in [
        keyring.signing("bot@example.com"),
        keyring.signing(""),
        ssh(&folder.path().join("missing")),
        ssh(&ssh_key(folder.path(), "locked", &["-t", "ed25519"], "open sesame")),
    ] {
        let made = repo.commit(&signing).await;
        assert!(matches!(made, Err(Error::Signing(_))), "{signing:?}: {made:?}");
    }
    assert_eq!(repo.commits(), 0);
}

#[tokio::test]
async fn a_repositorys_configuration_cannot_name_the_program_that_signs() {
    let folder = tempfile::tempdir().unwrap();
    let (marker, program) = (folder.path().join("ran"), folder.path().join("program"));
    fs::write(&program, format!("#!/bin/sh\ntouch '{}'\nexit 1\n", marker.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let keyring = Keyring::new();
    keyring.key("bot@example.com", "");
    let key = ssh_key(folder.path(), "key", &["-t", "ed25519"], "");
    for signing in [keyring.signing("bot@example.com"), ssh(&key)] {
        let repo = Repo::new();
        for setting in ["gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"] {
            plain::git(repo.folder.path(), &["config", setting, program.to_str().unwrap()]);
        }
        let commit = repo.commit(&signing).await.unwrap();
        repo.verify(&commit, &signing).await.unwrap();
        assert!(!marker.exists(), "{signing:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_ssh_key_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    assert!(matches!(check_of(ssh(&missing)).await, Err(Fault::KeyFileMissing(path)) if path == missing));

    let key = ssh_key(folder.path(), "key", &["-t", "ed25519"], "");
    assert!(matches!(check_of(ssh(&key.join("inside"))).await, Err(Fault::KeyFileUnreadable { .. })));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(check_of(ssh(&key)).await, Err(Fault::KeyFileTooOpen { mode: 0o640, .. })));

    let public = folder.path().join("key.pub");
    assert!(matches!(check_of(ssh(&public)).await, Err(Fault::NotAPrivateKey(_))));
    assert!(matches!(check_of(ssh(folder.path())).await, Err(Fault::NotAPrivateKey(_))));
    assert!(matches!(check_of(ssh(Path::new("key"))).await, Err(Fault::PathNotAbsolute(_))));

    let locked = ssh_key(folder.path(), "locked", &["-t", "ed25519"], "open sesame");
    assert!(matches!(check_of(ssh(&locked)).await, Err(Fault::PassphraseNeeded(_))));
    let locked = ssh_key(folder.path(), "pem", &["-t", "rsa", "-b", "2048", "-m", "PEM"], "open sesame");
    assert!(matches!(check_of(ssh(&locked)).await, Err(Fault::PassphraseNeeded(_))));
}

#[tokio::test]
async fn what_is_wrong_with_a_gpg_key_is_said() {
    let keyring = Keyring::new();
    let nowhere = Signing::Gpg { key_id: "bot@example.com".into(), home: Some("/nonexistent/gnupg".into()) };
    assert!(matches!(check_of(nowhere).await, Err(Fault::GpgHomeMissing(_))));

    let found = check_of(keyring.signing("bot@example.com")).await;
    if git_version() < (2, 40) {
        // It does not pass on what gpg says: then the fault says how to see it.
        assert!(matches!(found, Err(Fault::GpgRefused { ref key_id, .. }) if key_id == "bot@example.com"), "{found:?}");
        return;
    }
    assert!(matches!(found, Err(Fault::NoSecretKey { ref key_id, .. }) if key_id == "bot@example.com"), "{found:?}");

    let expired = ["--passphrase", "", "--faked-system-time", "20200101T000000"];
    keyring.gpg(&[&expired[..], &["--quick-generate-key", "old@example.com", "ed25519", "sign", "1d"]].concat());
    assert!(matches!(check_of(keyring.signing("old@example.com")).await, Err(Fault::KeyUnusable { .. })));

    keyring.key("locked@example.com", "open sesame");
    keyring.forget();
    assert!(matches!(check_of(keyring.signing("locked@example.com")).await, Err(Fault::PassphraseNeeded(_))));
}

#[tokio::test]
async fn every_fault_says_what_to_do_and_names_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let fault = check_of(ssh(&folder.path().join("missing"))).await.unwrap_err().to_string();
    assert!(fault.contains("missing") && fault.contains("ssh-keygen -t ed25519"), "{fault}");
    let fault = check_of(Keyring::new().signing("bot@example.com")).await.unwrap_err().to_string();
    assert!(fault.contains("\"bot@example.com\"") && fault.contains("--list-secret-keys"), "{fault}");
}
