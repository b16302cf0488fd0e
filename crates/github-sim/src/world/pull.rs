//! The code side of a pull request, native stacks, and asynchronous merges.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::table::{Doc, Key};
use super::{Id, Sha};

/// Stands beside the [`super::Issue`] of the same number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pull {
    pub repo: Id,
    pub number: u64,
    pub id: Id,
    /// Another repository for a fork's pull request; none when the fork was deleted.
    pub head_repo: Option<Id>,
    /// The owner's login, kept for `label` when the fork is gone.
    pub head_owner: String,
    pub head_ref: String,
    /// Also at `refs/pull/{number}/head`, whatever becomes of the branch.
    pub head_sha: Sha,
    pub base_ref: String,
    /// The base branch's commit when the head or the base was last changed; at the merge, the commit merged onto.
    pub base_sha: Sha,
    /// Who last moved the head; whoever opened it, until then.
    pub last_pusher: Option<Id>,
    pub draft: bool,
    pub merged: Option<Merged>,
    pub requested_reviewers: Vec<Id>,
    pub maintainer_can_modify: bool,
    /// What the merge state shows while it lags behind the head.
    pub stale_merge_state: Option<StaleMergeState>,
    /// As of the last change of the head: known at once, while the merge state has to be asked for.
    #[serde(default)]
    pub size: PullSize,
}

/// How much a pull request proposes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullSize {
    pub commits: u64,
    pub additions: u64,
    pub deletions: u64,
    pub changed_files: u64,
}

impl Pull {
    /// From another repository than the one it is opened in.
    pub fn is_fork(&self) -> bool {
        self.head_repo != Some(self.repo)
    }
}

impl Doc for Pull {
    const KIND: &'static str = "pull";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.number }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Merged {
    pub at: Timestamp,
    pub by: Id,
    pub sha: Sha,
    pub method: MergeMethod,
    /// Until then `merge_commit_sha` answers null.
    pub sha_visible_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    Merge,
    Squash,
    Rebase,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StaleMergeState {
    /// `CLEAN`, `BLOCKED`, … as it was for the head before.
    pub status: String,
    pub mergeable: Option<bool>,
    pub until: Timestamp,
}

/// What git says of a base and a head commit. Never stored: git can always say it again.
#[derive(Clone, Debug)]
pub struct PullFacts {
    pub merge_base: Option<Sha>,
    pub mergeability: Mergeability,
    /// The commit at `refs/pull/N/merge` for these two.
    pub test_merge: Option<Sha>,
    /// Commits of the base that the head does not have.
    pub behind_by: u64,
    pub size: PullSize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mergeability {
    /// The tree of the merge.
    Clean {
        tree: Sha,
    },
    Conflicting {
        files: Vec<String>,
    },
}

/// GitHub's own stack: a line of pull requests, bottom first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stack {
    pub repo: Id,
    pub id: Id,
    pub number: u64,
    pub base_ref: String,
    pub pulls: Vec<u64>,
    pub created_at: Timestamp,
}

impl Doc for Stack {
    const KIND: &'static str = "stack";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.number }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AsyncMerge {
    pub repo: Id,
    pub id: Id,
    pub uuid: String,
    pub number: u64,
    pub method: MergeMethod,
    /// `default`, `direct_merge` or `merge_queue`.
    pub action: String,
    pub expected_head_sha: Sha,
    pub commit_title: Option<String>,
    pub commit_message: Option<String>,
    pub requested_by: Id,
    /// The app it was requested through.
    pub via_installation: Option<Id>,
    pub status: AsyncMergeStatus,
    pub due_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Doc for AsyncMerge {
    const KIND: &'static str = "async_merge";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AsyncMergeStatus {
    Pending,
    Merged { sha: Sha },
    Failed { message: String },
}
