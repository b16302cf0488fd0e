//! The test world: a repository as GitHub has it, histories written as data, and pull requests that land in every way
//! GitHub, or somebody with git, can land them. None of it is made with the code under test.

pub mod contents;
pub mod engine;
pub mod generate;
pub mod history;
pub mod landing;
mod process;

use std::cell::Cell;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use git::{Committer, Git, Objects, Oid, Signing};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub use contents::Contents;
pub use history::{Change, Draft, Parent};

/// A bare repository, `origin.git`, that plays GitHub's; its checkout; and the production object store upon it.
pub struct World {
    folder: TempDir,
    /// The git that the production code runs on, and that merges in the checkout.
    program: PathBuf,
    runtime: tokio::runtime::Runtime,
    objects: Objects,
    /// Seconds since the epoch; every commit gets its own.
    clock: Cell<i64>,
    base: Oid,
}

impl World {
    /// A world whose `main` has one commit, with these files.
    pub fn with_base(files: &[Change]) -> Self {
        Self::of_git(Path::new("git"), files)
    }

    /// A world whose production code runs on another git.
    pub fn of_git(program: &Path, files: &[Change]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let git = runtime.block_on(Git::find(program)).expect("git is installed");
        let origin = folder.path().join("origin.git");
        let objects = Objects::new(git, &origin, bot(), CancellationToken::new());
        let clock = Cell::new(1_700_000_000);
        let placeholder = Oid::parse("0".repeat(40)).expect("a null name");
        let program = program.to_owned();
        let mut world = Self { folder, program, runtime, objects, clock, base: placeholder };
        process::git(
            world.folder.path(),
            &["init", "-q", "--bare", "--template=", "--initial-branch=main", "origin.git"],
        );
        world.base = world.commit(&[], files, "Base");
        world.set_ref("refs/heads/main", &world.base);
        process::git(&origin, &["worktree", "add", "-q", "--no-checkout", "../checkout", "main"]);
        world
    }

    pub fn new() -> Self {
        Self::with_base(&[Change::write("README", b"base\n")])
    }

    /// `main` as it was in the beginning. What was written since stays in the store.
    pub fn start_over(&self) {
        self.set_ref("refs/heads/main", &self.base);
    }

    /// The first commit of `main`.
    pub fn base(&self) -> &Oid {
        &self.base
    }

    /// The production code.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Waits for production code.
    pub fn run<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }

    pub fn origin(&self) -> PathBuf {
        self.folder.path().join("origin.git")
    }

    fn checkout(&self) -> PathBuf {
        self.folder.path().join("checkout")
    }

    /// What `main` of GitHub is.
    pub fn main(&self) -> Oid {
        oid(&std::fs::read(self.origin().join("refs/heads/main")).expect("main is a loose ref: nobody packs refs here"))
    }

    pub fn set_pull_ref(&self, number: u64, head: &Oid) {
        self.set_ref(&format!("refs/pull/{number}/head"), head);
    }

    /// Moves a ref, or makes it: a file, as long as refs are loose.
    pub fn set_ref(&self, name: &str, to: &Oid) {
        let path = self.origin().join(name);
        std::fs::create_dir_all(path.parent().expect("refs are in folders")).expect("a folder for the ref");
        std::fs::write(path, format!("{to}\n")).expect("the ref is written");
    }

    pub fn rev_parse(&self, name: &str) -> Oid {
        let output = process::git(&self.origin(), &["rev-parse", "--verify", "-q", name]);
        oid(&output)
    }

    fn tick(&self) -> i64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }
}

/// Who makes the commits of production code.
fn bot() -> Committer {
    Committer { name: "merge-train".into(), email: "merge-train@example.com".into(), signing: Signing::Off }
}

/// Major and minor of the git on the PATH.
pub fn git_version() -> (u32, u32) {
    process::version(Path::new("git"))
}

/// The git of the distribution, if it is too old to read attributes from a tree; otherwise the one on the PATH.
pub fn older_git() -> &'static Path {
    static FOUND: OnceLock<&'static Path> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = Path::new("/usr/bin/git");
        if path.exists() && process::version(path) < (2, 41) { path } else { Path::new("git") }
    })
}

fn oid(output: &[u8]) -> Oid {
    Oid::parse(String::from_utf8_lossy(output).trim()).expect("git names an object")
}
