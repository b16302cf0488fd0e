//! Where a fixer works: a checkout of one pull request, whose `origin` is a repository on this machine, the gateway.
//!
//! The gateway takes pushes to that one branch, and only fast-forwards; the daemon alone talks to GitHub, so that no
//! token is anywhere a fixer can look. It has objects of its own: what happens to it cannot harm the clone.
//!
//! **Invariant:** once a fixer has had the folder, nothing in it is believed. The gateway is read through
//! `upload-pack`, git's door into repositories of others, and what came is checked in the clone: that it is sound, and
//! that it is a fast-forward of what the daemon knows. The gateway's own rules are there to tell a fixer early, and
//! politely.

mod config;
mod intact;
mod make;
mod pushes;
mod refresh;
mod remove;
mod supply;
mod take;

use std::path::{Path, PathBuf};
use std::time::Duration;

use merge_train_core::ids::BranchName;
use tokio_util::sync::CancellationToken;

pub use make::Order;
pub use pushes::Push;
pub use refresh::{Move, News, Refreshed};
pub use supply::Source;
pub use take::Taken;

use crate::{Git, Oid};

/// How often the gateway is looked at for pushes.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A large history is copied in minutes, and a large tree is written in minutes.
const COPY_DEADLINE: Duration = Duration::from_secs(30 * 60);

/// A fixer's checkout and the gateway behind it, in one folder.
#[derive(Clone, Debug)]
pub struct Gateway {
    git: Git,
    folder: PathBuf,
    branch: BranchName,
}

/// Why a gateway cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing of it goes on. A new gateway at `known` lets the fixer try again.
    #[error(
        "the fixer's {branch} is at {}, which does not build on {}: commits were rewritten. Nothing of it is pushed",
        found.short(), known.short()
    )]
    NotFastForward { branch: BranchName, known: Oid, found: Oid },
    /// What a fixer's own tools never do. The gateway has to be removed.
    #[error(
        "{} {what}: the fixer's repository was tampered with and is no longer used. Remove the checkout",
        path.display()
    )]
    TamperedWith { path: PathBuf, what: &'static str },
    /// Git cannot make sense of it, or of what was pushed to it. The gateway has to be removed.
    #[error("the fixer's repository {} cannot be read: {cause}. Nothing is pushed from it", path.display())]
    Unreadable { path: PathBuf, cause: crate::Error },
    #[error(transparent)]
    Git(#[from] crate::Error),
}

impl Gateway {
    /// The gateway for `branch` that was made in `folder`, perhaps by a process that is no more. What a fixer did to its
    /// checkout does not matter any more.
    pub fn open(git: &Git, folder: &Path, branch: &BranchName) -> Result<Self, Error> {
        let gateway = Self { git: git.clone(), folder: folder.to_owned(), branch: branch.clone() };
        if gateway.path().symlink_metadata().is_ok() {
            Ok(gateway)
        } else {
            let text =
                format!("the fixer's repository in {} is gone: it was removed, or never created", folder.display());
            Err(crate::Error::Refused(text).into())
        }
    }

    /// Where the fixer works.
    pub fn checkout(&self) -> PathBuf {
        self.folder.join("checkout")
    }

    pub fn branch(&self) -> &BranchName {
        &self.branch
    }

    fn path(&self) -> PathBuf {
        self.folder.join("gateway.git")
    }

    fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// The pushes that the gateway took, in their order. They are on disk: a daemon that knows how many it has seen
    /// sees each of the others, whatever crashed. A fixer that meddles with the log hides its pushes from here, and not
    /// from [`Self::take`].
    pub async fn pushes(&self) -> Result<Vec<Push>, Error> {
        let (root, log) = (self.path(), Path::new("logs").join(self.branch_ref()));
        let text = tokio::task::spawn_blocking(move || intact::read(&root, &log)).await.map_err(join_error)??;
        Ok(pushes::parse(&text))
    }

    /// Waits for the push after the first `seen`.
    pub async fn next_push(&self, seen: usize, cancel: &CancellationToken) -> Result<Push, Error> {
        loop {
            if let Some(push) = self.pushes().await?.into_iter().nth(seen) {
                return Ok(push);
            }
            tokio::select! {
                () = cancel.cancelled() => return Err(crate::Error::Cancelled.into()),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Removes the checkout and the gateway.
    pub async fn remove(self) -> Result<(), Error> {
        let folder = self.folder;
        let doing = format!("removing the fixer's folder {}", folder.display());
        let removed = tokio::task::spawn_blocking(move || remove::remove_all(&folder)).await.map_err(join_error)?;
        removed.map_err(|error| crate::Error::io(doing)(error).into())
    }
}

/// Removes a folder that a fixer had, whatever it did to it.
pub fn remove_all(folder: &Path) -> std::io::Result<()> {
    remove::remove_all(folder)
}

fn join_error(error: tokio::task::JoinError) -> Error {
    crate::Error::io("working on the fixer's folder")(std::io::Error::other(error)).into()
}
