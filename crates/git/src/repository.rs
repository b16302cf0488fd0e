//! The clone of one repository: bare, shared by all of its stacks, and replaceable: everything in it can be fetched again.

mod exchange;
mod folder;
mod health;
mod upkeep;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use merge_train_core::ids::{BranchName, PrNumber, RepoId};
use tokio_util::sync::CancellationToken;

pub use exchange::{Heads, Wanted};
pub(crate) use health::is_unexplained;

use crate::gateway::{self, Gateway};
use crate::stack::Stack;
use crate::worktree::{Name, Worktrees};
use crate::{Committer, Error, Git, Objects, Oid, Remote};

/// How much of the remote's history a clone holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// File contents are fetched when a merge needs them, where the server allows that.
    Partial,
    Full,
}

/// What all clones of a daemon have in common.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder that holds a folder for each repository.
    pub base: PathBuf,
    pub extent: Extent,
    pub committer: Committer,
}

/// One repository's folder: `clone/`, and `worktrees/` with one for each stack.
#[derive(Debug)]
pub struct Repository {
    git: Git,
    folder: PathBuf,
    remote: Remote,
    extent: Extent,
    committer: Committer,
    worktrees: Worktrees,
    /// Shared by the processes that use the clone, so that none replaces it under another.
    lock: std::fs::File,
    /// Rises each time the clone was made again.
    generation: AtomicU64,
    health: health::Watch,
}

impl Repository {
    /// Opens the clone, and makes an empty one if there is none. Nothing is fetched yet.
    pub async fn open(git: Git, settings: &Settings, repo: &RepoId, remote: Remote) -> Result<Arc<Self>, Error> {
        let folder = settings.base.join(folder::name(repo));
        let lock = folder::claim(&folder)?;
        folder::ensure(&git, &folder, &remote, settings.extent).await?;
        let worktrees = Worktrees::open(&folder, git.clone());
        Ok(Arc::new(Self {
            git,
            folder,
            remote,
            extent: settings.extent,
            committer: settings.committer.clone(),
            worktrees,
            lock,
            generation: AtomicU64::new(0),
            health: health::Watch::default(),
        }))
    }

    /// Whether there is a clone of `repo` under `base`.
    pub fn exists(base: &Path, repo: &RepoId) -> bool {
        base.join(folder::name(repo)).join(folder::CLONE).is_dir()
    }

    /// The bare clone.
    pub fn clone_dir(&self) -> PathBuf {
        self.folder.join(folder::CLONE)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn worktrees(&self) -> &Worktrees {
        &self.worktrees
    }

    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// The stack that began at `root`, with a worktree of its own. `cancel` ends whatever is done for it.
    pub async fn stack(self: &Arc<Self>, root: PrNumber, cancel: CancellationToken) -> Result<Stack, Error> {
        Stack::open(self.clone(), Name::Stack(root), cancel).await
    }

    /// A view that is gone when it is closed, for what only wants to know.
    pub async fn glance(self: &Arc<Self>, cancel: CancellationToken) -> Result<Stack, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let token = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Stack::open(self.clone(), Name::Plan(token), cancel).await
    }

    /// A checkout for a fixer in `folder`, and the gateway that it pushes to, with what this clone has. `kept` names refs under
    /// which the clone keeps what it gave: by them it tells the gateway what need not be sent back, and may not even be there.
    pub async fn make_gateway(
        &self,
        folder: &Path,
        branch: (&BranchName, &Oid),
        base: Option<(&BranchName, &Oid)>,
        kept: &str,
        cancel: &CancellationToken,
    ) -> Result<Gateway, gateway::Error> {
        let clone = self.clone_dir();
        let mut refs = format!("update {kept}/head {}\n", branch.1);
        if let Some((_, base)) = base {
            refs += &format!("update {kept}/base {base}\n");
        }
        self.git.on(&clone, ["update-ref", "--stdin"]).stdin(refs).run().await?;
        let promisor = match self.extent {
            Extent::Partial => Some(&self.remote),
            Extent::Full => None,
        };
        let from = gateway::Source { clone: &clone, promisor };
        let (branch, head) = branch;
        let order = gateway::Order { folder, branch, head, base, identity: &self.committer, from };
        Gateway::create(&self.git, order, cancel).await
    }

    /// Forgets what was kept for a gateway, and what was taken from it.
    pub async fn forget_gateway(&self, kept: &str) -> Result<(), Error> {
        let clone = self.clone_dir();
        let listed = self.git.on(&clone, ["for-each-ref", "--format=delete %(refname)", kept]).run().await?;
        self.git.on(&clone, ["update-ref", "--stdin"]).stdin(listed.text()).run().await.map(drop)
    }

    /// The gateway that was made in `folder`, perhaps by a process that is no more.
    pub fn open_gateway(&self, folder: &Path, branch: &BranchName) -> Result<Gateway, gateway::Error> {
        Gateway::open(&self.git, folder, branch)
    }

    /// The object store, for one piece of work.
    pub fn objects(&self, cancel: CancellationToken) -> Objects {
        let objects = Objects::new(self.git.clone(), self.clone_dir(), self.committer.clone(), cancel);
        match self.extent {
            Extent::Partial => objects.completed_by(self.remote.clone()),
            Extent::Full => objects,
        }
    }

    /// How many git processes were started for it and for all that share its git.
    pub fn processes(&self) -> u64 {
        self.git.started()
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
