//! What the mirror reads from GitHub.

use crate::ids::PrNumber;
use crate::repo::EffectOwner;
use crate::repo::state::RepoState;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// See what the repository has: its default branch, its pull requests, and as whom GitHub knows merge-train.
    Survey,
    /// Read what was said under these pull requests; those that GitHub does not have are absent from the answer.
    ReadConversations {
        prs: Vec<PrNumber>,
    },
    FetchPull {
        pr: PrNumber,
    },
    /// Of open pull requests only; those that GitHub does not have are absent from the answer.
    ReadMergeStates {
        prs: Vec<PrNumber>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    Survey,
    ReadConversations(Option<PrNumber>),
    FetchPull(PrNumber),
    ReadMergeStates,
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::ReadConversations { .. } => "read_conversations",
            Self::FetchPull { .. } => "fetch_pull",
            Self::ReadMergeStates { .. } => "read_merge_states",
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::Survey => EffectKey::Survey,
            // Each batch has numbers of its own.
            Self::ReadConversations { prs } => EffectKey::ReadConversations(prs.first().copied()),
            Self::FetchPull { pr } => EffectKey::FetchPull(*pr),
            Self::ReadMergeStates { .. } => EffectKey::ReadMergeStates,
        }
    }

    /// What it is done for, whose end ends it.
    pub(in crate::repo) fn served(&self, state: &RepoState) -> Option<EffectOwner> {
        match self {
            Self::FetchPull { pr } => state.train_of(*pr).map(EffectOwner::Train),
            Self::Survey | Self::ReadConversations { .. } | Self::ReadMergeStates { .. } => None,
        }
    }
}
