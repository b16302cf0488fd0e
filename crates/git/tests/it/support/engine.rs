//! The production engine upon the world's repository.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use git::repository::{Extent, Repository, Settings};
use git::stack::Pull;
use git::{Committer, Git, Remote, Signing, TokenSource};
use merge_train_core::ids::{BranchName, PrNumber, RepoId};
use merge_train_core::secret::Secret;
use test_support::git_server::{Server, TOKEN};

use super::World;

pub struct Planted;

#[async_trait]
impl TokenSource for Planted {
    async fn token(&self) -> Result<Option<Secret>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Some(Secret::new(TOKEN)))
    }
}

pub fn branch(name: &str) -> BranchName {
    BranchName::parse(name).expect("a branch name")
}

pub fn pr(number: u64) -> PrNumber {
    PrNumber::new(number)
}

pub fn pull(number: u64, name: &str) -> Pull {
    Pull { number: pr(number), branch: branch(name) }
}

fn repo() -> RepoId {
    RepoId::new("octocat", "hello").expect("a name")
}

fn settings(base: &Path, extent: Extent) -> Settings {
    let committer =
        Committer { name: "merge-train".into(), email: "merge-train@example.com".into(), signing: Signing::Off };
    Settings { base: base.to_owned(), extent, committer }
}

impl World {
    /// The folder that the clones are in.
    pub fn clones(&self) -> std::path::PathBuf {
        self.folder.path().join("clones")
    }

    /// A clone of the origin, over the file system.
    pub fn repository(&self, extent: Extent) -> Arc<Repository> {
        let remote = Remote::folder(&self.origin()).expect("an absolute path");
        self.open(extent, remote)
    }

    /// A clone of the origin as `server` has it.
    pub fn repository_on(&self, server: &Server, extent: Extent) -> Arc<Repository> {
        self.open(extent, Remote::on_server(server.url(), &repo(), Arc::new(Planted)).expect("an address"))
    }

    fn open(&self, extent: Extent, remote: Remote) -> Arc<Repository> {
        let settings = settings(&self.clones(), extent);
        self.run(async {
            let git = Git::find("git").await.expect("git is installed");
            Repository::open(git, &settings, &repo(), remote).await.expect("a clone")
        })
    }

    /// Serves the origin as `octocat/hello.git`, as a server does that allows what GitHub allows.
    pub fn serve(&self) -> Server {
        let root = self.folder.path().join("served");
        std::fs::create_dir_all(root.join("octocat")).expect("a folder");
        std::os::unix::fs::symlink(self.origin(), root.join("octocat/hello.git")).expect("a link");
        for (key, value) in [("http.receivepack", "true"), ("uploadpack.allowFilter", "true")] {
            self.configure(key, value);
        }
        self.configure("uploadpack.allowAnySHA1InWant", "true");
        Server::start(&root)
    }

    /// Sets something in the configuration of the origin.
    pub fn configure(&self, key: &str, value: &str) {
        super::process::git(&self.origin(), &["config", key, value]);
    }
}

impl World {
    /// The refs that the clone has left.
    pub fn refs_of_clone(&self) -> Vec<String> {
        let clone = self.clone_dir();
        let listed = super::process::git(&clone, &["for-each-ref", "--format=%(refname)"]);
        String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
    }
}

impl World {
    fn clone_dir(&self) -> std::path::PathBuf {
        self.clones().join("octocat-hello/clone")
    }

    /// Whether the clone has the object, without asking the server for it.
    pub fn clone_has(&self, object: &git::Oid) -> bool {
        self.objects_of_clone().iter().any(|line| line.starts_with(object.as_str()))
    }

    /// How many files' contents the clone has.
    pub fn blobs_of_clone(&self) -> usize {
        self.objects_of_clone().iter().filter(|line| line.contains(" blob ")).count()
    }

    fn objects_of_clone(&self) -> Vec<String> {
        let args = ["cat-file", "--batch-check", "--batch-all-objects"];
        let listed = super::process::git(&self.clone_dir(), &args);
        String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
    }

    pub fn delete_ref(&self, name: &str) {
        super::process::git(&self.origin(), &["update-ref", "-d", name]);
    }

    pub fn has_ref(&self, name: &str) -> bool {
        !super::process::git(&self.origin(), &["for-each-ref", name]).is_empty()
    }

    /// Gives the origin a hook, as a server has them.
    pub fn add_hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let folder = self.origin().join("hooks");
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join(name);
        std::fs::write(&path, script).expect("a hook");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("an executable hook");
    }
}

impl World {
    /// Every ref of the origin that GitHub would show.
    pub fn all_refs(&self) -> String {
        let listed = super::process::git(&self.origin(), &["for-each-ref", "refs/heads", "refs/pull", "refs/tags"]);
        String::from_utf8_lossy(&listed).into_owned()
    }

    /// Whether git allows the name.
    pub fn is_ref(&self, name: &str) -> bool {
        super::process::run_at(Path::new("git"), &self.origin(), &["check-ref-format", name], 1).status.success()
    }

    /// Plain git, in any folder; whether it succeeds is not the question.
    pub fn run_git_in(&self, folder: &Path, args: &[&str]) {
        super::process::run_at(Path::new("git"), folder, args, 1);
    }
}
