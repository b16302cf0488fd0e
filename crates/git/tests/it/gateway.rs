//! Gateways, with plain git playing the fixer.

mod broken;
mod daemon;
mod fixer;
mod hostile;
mod names;
mod partial;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use git::gateway::{Error, Gateway, Order, Source, Taken};
use git::{Committer, Git, Oid, Signing};
use merge_train_core::ids::BranchName;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::plain;

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
const TAKEN: &str = "refs/merge-train/stack-1/fixer";

/// A clone with `main` and the branch of a pull request, and a folder for the fixer.
struct Site {
    folder: TempDir,
    git: Git,
    branch: BranchName,
    main: Oid,
    head: Oid,
}

impl Site {
    async fn new() -> Self {
        Self::with_branch("feature", &["init", "-q", "-b", "main"]).await
    }

    async fn with_branch(branch: &str, init: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seed = folder.path().join("seed");
        fs::create_dir(&seed).unwrap();
        plain::git(&seed, init);
        fs::create_dir(seed.join("src")).unwrap();
        for (name, text) in [
            ("README", "base\n"),
            ("src/lib.rs", "fn main() {}\n"),
            (".gitattributes", "*.bin filter=lfs\n*.txt filter=evil\n*.sh text eol=lf\n"),
            ("large.bin", POINTER),
            ("notes.txt", "as it is\n"),
        ] {
            fs::write(seed.join(name), text).unwrap();
        }
        symlink("README", seed.join("link")).unwrap();
        let main = commit_in(&seed, "Base");
        plain::git(&seed, &["checkout", "-q", "-b", branch]);
        fs::write(seed.join("src/lib.rs"), "fn main() { broken }\n").unwrap();
        let head = commit_in(&seed, "Change");
        plain::git(folder.path(), &["clone", "-q", "--bare", "seed", "clone"]);
        Self { folder, git: Git::find("git").await.unwrap(), branch: BranchName::parse(branch).unwrap(), main, head }
    }

    fn seed(&self) -> PathBuf {
        self.folder.path().join("seed")
    }

    fn clone(&self) -> PathBuf {
        self.folder.path().join("clone")
    }

    fn fixers(&self) -> PathBuf {
        self.folder.path().join("fixer")
    }

    async fn try_create(&self) -> Result<Gateway, Error> {
        let clone = self.clone();
        let order = Order {
            folder: &self.fixers(),
            branch: &self.branch,
            head: &self.head,
            base: Some((&BranchName::parse("main").unwrap(), &self.main)),
            identity: &bot(),
            from: Source { clone: &clone, promisor: None },
        };
        Gateway::create(&self.git, order, &CancellationToken::new()).await
    }

    async fn create(&self) -> Fixer {
        Fixer { gateway: self.try_create().await.unwrap() }
    }

    async fn take(&self, fixer: &Fixer, known: &Oid) -> Result<Taken, Error> {
        fixer.gateway.take(&self.clone(), known, TAKEN).await
    }

    /// What the clone has for the daemon.
    fn taken(&self) -> Vec<String> {
        let refs =
            plain::git(&self.clone(), &["for-each-ref", "--format=%(objectname) %(refname)", "refs/merge-train"]);
        refs.lines().map(str::to_owned).collect()
    }

    /// A commit upon another that somebody else pushed to GitHub, in the clone.
    fn foreign(&self, parent: &Oid, file: &str) -> Oid {
        plain::git(&self.seed(), &["checkout", "-q", "--detach", parent.as_str()]);
        fs::write(self.seed().join(file), file).unwrap();
        let commit = commit_in(&self.seed(), file);
        plain::git(&self.clone(), &["fetch", "-q", self.seed().to_str().unwrap(), commit.as_str()]);
        commit
    }
}

fn bot() -> Committer {
    Committer { name: "fixer \"f\"".into(), email: "fixer@example.com".into(), signing: Signing::Off }
}

fn commit_in(folder: &Path, message: &str) -> Oid {
    plain::git(folder, &["add", "--all"]);
    plain::git(folder, &["commit", "-q", "--allow-empty", "-m", message]);
    Oid::parse(plain::git(folder, &["rev-parse", "HEAD"])).unwrap()
}

/// What a fixer has.
struct Fixer {
    gateway: Gateway,
}

impl Fixer {
    fn checkout(&self) -> PathBuf {
        self.gateway.checkout()
    }

    fn repository(&self) -> PathBuf {
        self.checkout().with_file_name("gateway.git")
    }

    fn git(&self, args: &[&str]) -> String {
        plain::git(&self.checkout(), args)
    }

    fn try_git(&self, args: &[&str]) -> Output {
        plain::run("git", &self.checkout(), args, &[])
    }

    fn commit(&self, file: &str) -> Oid {
        fs::write(self.checkout().join(file), file).unwrap();
        commit_in(&self.checkout(), file)
    }

    fn push(&self, file: &str) -> Oid {
        let commit = self.commit(file);
        self.git(&["push", "-q"]);
        commit
    }

    /// Where the gateway's refs are.
    fn refs(&self) -> Vec<String> {
        let refs = plain::git(&self.repository(), &["for-each-ref", "--format=%(objectname) %(refname)"]);
        refs.lines().map(str::to_owned).collect()
    }

    /// The pushes that were reported, as where they led.
    async fn reported(&self) -> Vec<Oid> {
        self.gateway.pushes().await.unwrap().into_iter().map(|push| push.to).collect()
    }
}
