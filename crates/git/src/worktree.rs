//! A worktree for each stack: its private HEAD, its root for garbage collection, and the place where a person can look.
//!
//! Nothing is checked out in it, so it is made in milliseconds however large the repository is. Its refs are not the
//! worktree's own (`refs/worktree/…`), which `git gc` of another worktree does not keep alive, but lie in the common
//! store below [`Name::namespace`]; they go when the worktree goes.
//!
//! **Invariant:** what is begun here is completed, whoever stops waiting for it; and one thing at a time is done to the
//! worktrees of a repository, since `git worktree add`, `remove` and `prune` trip over each other.

mod folder;
mod name;
mod place;
mod sweep;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use merge_train_core::ids::PrNumber;
use tokio::sync::Mutex;

pub use name::{Name, parse_stack_dir_name};
use place::Place;

use crate::{Error, Git, Oid};

/// The worktrees of one repository. Clones of this share its lock.
#[derive(Clone, Debug)]
pub struct Worktrees {
    place: Arc<Place>,
    one_at_a_time: Arc<Mutex<()>>,
}

impl Worktrees {
    /// Of the repository whose folder is `base`: beside its `clone`.
    pub fn open(base: &Path, git: Git) -> Self {
        Self { place: Arc::new(Place::new(base, git)), one_at_a_time: Arc::default() }
    }

    /// Where the worktree of that name is, or would be.
    pub fn path(&self, name: &Name) -> PathBuf {
        self.place.path(name)
    }

    /// The worktree of the stack that began at `root`; it is made if there is none, and made again if it is none.
    pub async fn for_stack(&self, root: PrNumber) -> Result<PathBuf, Error> {
        self.ensure(&Name::Stack(root)).await
    }

    /// The worktree of that name, as [`Self::for_stack`].
    pub async fn ensure(&self, name: &Name) -> Result<PathBuf, Error> {
        let name = name.clone();
        self.alone(async move |place| place.ensure(&name).await).await
    }

    /// Removes the stack's worktree and its refs. What is gone already is no error.
    pub async fn remove(&self, root: PrNumber) -> Result<(), Error> {
        self.discard(&Name::Stack(root)).await
    }

    /// Removes the worktree of that name, as [`Self::remove`].
    pub async fn discard(&self, name: &Name) -> Result<(), Error> {
        let name = name.clone();
        self.alone(async move |place| place.discard(&name).await).await
    }

    /// The stack's root has landed and its descendants are roots now: the old worktree goes first, then the new ones
    /// are made. Done again after a crash in the middle, it completes.
    pub async fn fan_out(&self, old: PrNumber, new: &[PrNumber]) -> Result<Vec<PathBuf>, Error> {
        if new.contains(&old) {
            return Err(Error::Refused(format!("#{old} has landed, so no stack can start at it again")));
        }
        let names: Vec<Name> = new.iter().copied().map(Name::Stack).collect();
        self.alone(async move |place| {
            place.discard(&Name::Stack(old)).await?;
            let mut made = Vec::new();
            for name in &names {
                made.push(place.ensure(name).await?);
            }
            Ok(made)
        })
        .await
    }

    /// Leaves in the stack's worktree what it had when it was made, with the HEAD that it has now: no merge under way,
    /// no index, no files. For after an abort or a restart. One that cannot be cleaned is made again.
    pub async fn clean(&self, root: PrNumber) -> Result<PathBuf, Error> {
        self.alone(async move |place| place.clean(&Name::Stack(root)).await).await
    }

    /// Lets the stack's detached HEAD be `commit`.
    pub async fn set_head(&self, root: PrNumber, commit: &Oid) -> Result<(), Error> {
        self.move_head(&Name::Stack(root), commit).await
    }

    /// Lets the detached HEAD of the worktree of that name be `commit`.
    pub async fn move_head(&self, name: &Name, commit: &Oid) -> Result<(), Error> {
        let (name, commit) = (name.clone(), commit.clone());
        self.alone(async move |place| place.move_head(&name, &commit).await).await
    }

    /// Removes what a crash left behind: worktrees of no active stack that are older than `max_age`, and refs of stacks
    /// that have neither a worktree nor a train. Says which stacks' worktrees went. Folders of other names are left
    /// alone.
    pub async fn sweep(
        &self,
        active: &BTreeSet<PrNumber>,
        max_age: Duration,
        now: SystemTime,
    ) -> Result<Vec<PrNumber>, Error> {
        let active = active.clone();
        self.alone(async move |place| place.sweep(&active, max_age, now).await).await
    }

    /// Does the work in a task of its own, which goes on although the caller goes away.
    async fn alone<T, F, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send,
        W: FnOnce(Arc<Place>) -> F + Send + 'static,
    {
        let (place, lock) = (self.place.clone(), self.one_at_a_time.clone());
        let task = tokio::spawn(async move {
            let _alone = lock.lock().await;
            work(place).await
        });
        task.await.unwrap_or(Err(Error::Cancelled))
    }
}
