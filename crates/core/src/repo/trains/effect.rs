//! What trains have done outside.

use super::work::TrainTask;
use crate::ids::{BranchName, CommentId, PrNumber, Sha};
use crate::repo::EffectOwner;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// One thing for a train; also for one that is to start, and for what is left to do when it has ended.
    Work { root: PrNumber, work: TrainTask },
    /// Make the status comment on `root` say this: `comment` if it is known, another if that is gone. The answer is the
    /// comment that holds it now.
    WriteStatus {
        root: PrNumber,
        comment: Option<CommentId>,
        body: String,
        /// Which state of the record it shows.
        seq: u64,
    },
    /// Read the status comment of a train back: what it shows may be newer than what is remembered.
    ReadStatus { root: PrNumber, comment: CommentId },
    /// Read the settings of the repository, and the rules of its default branch.
    ReadPolicy { default: BranchName },
    /// Delete the branch of a pull request that has landed, if it is still where it was.
    DeleteBranch { pr: PrNumber, branch: BranchName, head: Sha },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    Work(PrNumber),
    WriteStatus(PrNumber),
    ReadStatus(PrNumber),
    ReadPolicy,
    DeleteBranch(PrNumber),
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Work { work, .. } => work.name(),
            Self::WriteStatus { .. } => "write_status",
            Self::ReadStatus { .. } => "read_status",
            Self::ReadPolicy { .. } => "read_policy",
            Self::DeleteBranch { .. } => "delete_branch",
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::Work { root, .. } => EffectKey::Work(*root),
            Self::WriteStatus { root, .. } => EffectKey::WriteStatus(*root),
            Self::ReadStatus { root, .. } => EffectKey::ReadStatus(*root),
            Self::ReadPolicy { .. } => EffectKey::ReadPolicy,
            Self::DeleteBranch { pr, .. } => EffectKey::DeleteBranch(*pr),
        }
    }

    /// What it is done for, whose end ends it.
    pub(in crate::repo) fn served(&self) -> Option<EffectOwner> {
        match self {
            Self::Work { root, .. } => Some(EffectOwner::Train(*root)),
            Self::WriteStatus { .. }
            | Self::ReadStatus { .. }
            | Self::ReadPolicy { .. }
            | Self::DeleteBranch { .. } => None,
        }
    }
}
