//! Whether a landed pull request is a squash: one commit, on what the default branch was just before.
//!
//! Reconciling a descendant merges the squash's parent and takes nothing of the squash itself. Were the parent one of
//! several commits that landed together, the descendant would be reconciled with half of its predecessor.

use merge_train_core::ids::PrNumber;

use crate::{Commit, Error, Objects, Oid};

/// A merged pull request, as GitHub and the clone tell of it.
#[derive(Clone, Debug)]
pub struct Landing {
    pub pull: PrNumber,
    /// What GitHub says the merge made.
    pub merge_commit: Oid,
    /// `refs/pull/N/head`.
    pub pull_head: Oid,
    /// How many commits GitHub counts in the pull request.
    pub pull_commits: Option<u64>,
    /// The default branch now.
    pub default_head: Oid,
    /// The default branch as it was read before the merge.
    pub known_before: Option<Oid>,
}

/// A commit that is known to be a squash. Only [`Objects::validate_squash`] makes one of what landed, so nothing else can be
/// reconciled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Squash {
    commit: Oid,
    parent: Oid,
    tree: Oid,
}

impl Squash {
    /// One that a plan made itself.
    pub(crate) fn planned(commit: Oid, parent: Oid, tree: Oid) -> Self {
        Self { commit, parent, tree }
    }

    pub fn commit(&self) -> &Oid {
        &self.commit
    }

    /// What the default branch was just before.
    pub fn parent(&self) -> &Oid {
        &self.parent
    }

    pub fn tree(&self) -> &Oid {
        &self.tree
    }
}

/// Why a landed pull request must not be treated as a squash, and what to do: fit for a comment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSquash {
    #[error(
        "Predecessor #{pull} was merged with merge (not squash). Late-addition reconciliation requires squash merge. \
         Manual intervention required: rebase the late PR onto main."
    )]
    Merge { pull: PrNumber },
    #[error(
        "Predecessor #{pull}'s merge commit {commit} has no parent. Late-addition reconciliation requires a squash merge. \
         Manual intervention required: rebase the late PR onto main."
    )]
    NoParent { pull: PrNumber, commit: Oid },
    #[error(
        "Predecessor #{pull}'s merge commit parent {parent} is not in the default branch history. \
         This may indicate a rebase merge or force-push. Late-addition reconciliation requires a squash merge. \
         Manual intervention required: rebase the late PR onto main."
    )]
    ParentElsewhere { pull: PrNumber, parent: Oid },
    #[error(
        "Predecessor #{pull}'s merge_commit_sha {commit} is not in the default branch history. \
         This is unexpected for a merged PR. Manual intervention required."
    )]
    CommitElsewhere { pull: PrNumber, commit: Oid },
    #[error(
        "Predecessor #{pull} was merged with rebase (not squash): {parent}, the parent of its merge commit, is another of \
         its commits. Late-addition reconciliation requires squash merge. \
         Manual intervention required: rebase the late PR onto main."
    )]
    Rebase { pull: PrNumber, parent: Oid },
    #[error(
        "Predecessor #{pull} was merged by fast-forward (not squash), and it is not known to have a single commit. \
         Late-addition reconciliation requires squash merge. \
         Manual intervention required: rebase the late PR onto main."
    )]
    FastForward { pull: PrNumber },
    #[error(
        "Predecessor #{pull}'s own commits are in the default branch history below its merge commit {commit}: it was merged \
         or pushed (not squashed). Late-addition reconciliation requires squash merge. \
         Manual intervention required: rebase the late PR onto main."
    )]
    HistoryKept { pull: PrNumber, commit: Oid },
    #[error(
        "Predecessor #{pull} was merged onto {parent}, which does not contain {known_before}, the head of the default \
         branch before. The default branch was force-pushed. \
         Manual intervention required: check that nothing was lost from it, then rebase the late PR onto main."
    )]
    Rewound { pull: PrNumber, parent: Oid, known_before: Oid },
}

impl NotSquash {
    /// The pull request that landed.
    pub fn pull(&self) -> PrNumber {
        match self {
            Self::Merge { pull }
            | Self::NoParent { pull, .. }
            | Self::ParentElsewhere { pull, .. }
            | Self::CommitElsewhere { pull, .. }
            | Self::Rebase { pull, .. }
            | Self::FastForward { pull }
            | Self::HistoryKept { pull, .. }
            | Self::Rewound { pull, .. } => *pull,
        }
    }

    /// How it landed instead, as a sentence without advice.
    pub fn how(&self) -> String {
        match self {
            Self::Merge { pull } => format!("#{pull} was merged with merge (not squash)."),
            Self::NoParent { pull, commit } => format!("The merge commit {commit} of #{pull} has no parent."),
            Self::ParentElsewhere { pull, parent } => {
                format!("{parent}, the parent of the merge commit of #{pull}, is not in the default branch history.")
            }
            Self::CommitElsewhere { pull, commit } => {
                format!("The merge commit {commit} of #{pull} is not in the default branch history.")
            }
            Self::Rebase { pull, parent } => format!(
                "#{pull} was merged with rebase (not squash): {parent}, the parent of its merge commit, is another of its \
                 commits."
            ),
            Self::FastForward { pull } => format!("#{pull} was merged by fast-forward (not squash)."),
            Self::HistoryKept { pull, commit } => {
                format!("The own commits of #{pull} are in the default branch history below its merge commit {commit}.")
            }
            Self::Rewound { pull, parent, known_before } => format!(
                "#{pull} was merged onto {parent}, which does not contain {known_before}, the head of the default branch \
                 before."
            ),
        }
    }
}

impl Objects {
    /// Looks whether the merge commit of a landed pull request is a squash: it has one parent, both are on the default
    /// branch, and the parent was the default branch's head just before.
    ///
    /// A single commit that landed by rebase or fast-forward is as good as a squash. Several are not, although each of them
    /// is on the default branch now.
    pub async fn validate_squash(&self, landing: &Landing) -> Result<Result<Squash, NotSquash>, Error> {
        let pull = landing.pull;
        let Commit { id: commit, tree, parents } = match self.commit(&landing.merge_commit).await {
            // The default branch was fetched and this was not: it is none of its commits.
            Err(Error::Failed { .. }) if self.commit(&landing.default_head).await.is_ok() => {
                return Ok(Err(NotSquash::CommitElsewhere { pull, commit: landing.merge_commit.clone() }));
            }
            read => read?,
        };
        let parent = match <[Oid; 1]>::try_from(parents) {
            Ok([parent]) => parent,
            Err(parents) if parents.is_empty() => return Ok(Err(NotSquash::NoParent { pull, commit })),
            Err(_) => return Ok(Err(NotSquash::Merge { pull })),
        };
        if !self.is_ancestor(&commit, &landing.default_head).await? {
            let parent_is_there = self.is_ancestor(&parent, &landing.default_head).await?;
            return Ok(Err(match parent_is_there {
                true => NotSquash::CommitElsewhere { pull, commit },
                false => NotSquash::ParentElsewhere { pull, parent },
            }));
        }
        if let Some(refusal) = self.not_on_former_head(landing, &parent).await? {
            return Ok(Err(refusal));
        }
        Ok(Ok(Squash { commit, parent, tree }))
    }

    /// Why `parent` was not the default branch's head just before the landing, if it was not.
    async fn not_on_former_head(&self, landing: &Landing, parent: &Oid) -> Result<Option<NotSquash>, Error> {
        let Landing { pull, merge_commit, pull_head, .. } = landing;
        let known_before = match &landing.known_before {
            Some(known) if known == parent => return Ok(None),
            // Somebody else merged the pull request before the default branch was read: it tells nothing then.
            Some(known) if self.is_ancestor(merge_commit, known).await? => None,
            Some(known) if !self.is_ancestor(known, parent).await? => {
                let (parent, known_before) = (parent.clone(), known.clone());
                return Ok(Some(NotSquash::Rewound { pull: *pull, parent, known_before }));
            }
            known => known.as_ref(),
        };
        if merge_commit == pull_head && landing.pull_commits == Some(1) {
            return Ok(None);
        }
        if self.is_ancestor(merge_commit, pull_head).await? {
            return Ok(Some(NotSquash::FastForward { pull: *pull }));
        }
        if self.is_ancestor(pull_head, merge_commit).await? {
            return Ok(Some(NotSquash::HistoryKept { pull: *pull, commit: merge_commit.clone() }));
        }
        // What a rebase writes is new. What the pull request itself stands on was on the default branch before.
        if self.is_ancestor(parent, pull_head).await? {
            return Ok(None);
        }
        let rebased = self.landed_in_several_copies(merge_commit, parent, known_before, pull_head).await?;
        Ok(rebased.then(|| NotSquash::Rebase { pull: *pull, parent: parent.clone() }))
    }
}
