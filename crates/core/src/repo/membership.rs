//! Whether a pull request stands on the one that its author declares.

use std::collections::BTreeSet;
use std::fmt;

use super::state::{CachedPr, PrState, RepoState};
use crate::facts::HeadRepo;
use crate::ids::{BranchName, CommentId, PrNumber};

/// Why a declaration does not count. Displayed, it is the comment that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    NotTheAuthor { pr: PrNumber },
    OfItself { pr: PrNumber },
    AlreadyDeclared { comment: CommentId, predecessor: PrNumber },
    NoSuchPull { predecessor: PrNumber },
    InAFork { predecessor: PrNumber },
    Closed { predecessor: PrNumber },
    BaseMismatch { pr: PrNumber, predecessor: PrNumber, base: BranchName, head: BranchName },
    NotInAStack { predecessor: PrNumber, base: BranchName, default: BranchName },
    Circle { pr: PrNumber, predecessor: PrNumber },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTheAuthor { pr } => write!(f, "Only the author of #{pr} can say what it stands on."),
            Self::OfItself { pr } => {
                write!(f, "PR #{pr} cannot be its own predecessor. Name the pull request that it is based on.")
            }
            Self::AlreadyDeclared { comment, predecessor } => write!(
                f,
                "PR already has predecessor declaration in comment #{comment} pointing to #{predecessor}. \
                 Edit that comment to change predecessors, or delete it first."
            ),
            Self::NoSuchPull { predecessor } => {
                write!(
                    f,
                    "There is no pull request #{predecessor} in this repository. Check the number, and declare again."
                )
            }
            Self::InAFork { predecessor } => write!(
                f,
                "PR #{predecessor} comes from a fork, where merge-train cannot push, so nothing can be stacked on it. \
                 Open it from a branch of this repository."
            ),
            Self::Closed { predecessor } => write!(
                f,
                "PR #{predecessor} was closed without being merged. Reopen it, or declare another predecessor."
            ),
            Self::BaseMismatch { pr, predecessor, base, head } => write!(
                f,
                "PR #{pr} declares predecessor #{predecessor}, but its base branch '{base}' doesn't match \
                 #{predecessor}'s head branch '{head}'. The PR must be based on the predecessor's branch."
            ),
            Self::NotInAStack { predecessor, base, default } => write!(
                f,
                "PR #{predecessor} is based on '{base}', not on '{default}', and declares no predecessor itself. \
                 Declare what #{predecessor} stands on first, then declare this again."
            ),
            Self::Circle { pr, predecessor } => write!(
                f,
                "PR #{predecessor} stands on #{pr} already, directly or through others, so #{pr} cannot stand on it."
            ),
        }
    }
}

/// What is to become of a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    Refused(Refusal),
    /// Nobody knows yet whether there is such a pull request.
    Unknown,
}

/// Judges the declaration that `number`, which is `pr`, stands on `predecessor`.
pub(super) fn judge(state: &RepoState, number: PrNumber, pr: &CachedPr, predecessor: PrNumber) -> Verdict {
    if number == predecessor {
        return Verdict::Refused(Refusal::OfItself { pr: number });
    }
    let Some(below) = state.prs.get(&predecessor) else { return Verdict::Unknown };
    match why_not(state, number, pr, predecessor, below) {
        Some(refusal) => Verdict::Refused(refusal),
        None => Verdict::Accepted,
    }
}

fn why_not(
    state: &RepoState,
    number: PrNumber,
    pr: &CachedPr,
    predecessor: PrNumber,
    below: &CachedPr,
) -> Option<Refusal> {
    if below.head_repo == HeadRepo::Fork {
        return Some(Refusal::InAFork { predecessor });
    }
    match below.state {
        PrState::Closed { .. } => return Some(Refusal::Closed { predecessor }),
        // Its branch may be gone, and the base may be the default branch by now.
        PrState::Merged { .. } => return None,
        PrState::Open => {}
    }
    if let Some(head) = &below.head_ref
        && *head != pr.base_ref
    {
        let (base, head) = (pr.base_ref.clone(), head.clone());
        return Some(Refusal::BaseMismatch { pr: number, predecessor, base, head });
    }
    if stands_on(state, predecessor, number) {
        return Some(Refusal::Circle { pr: number, predecessor });
    }
    let default = state.default_branch.as_ref()?;
    let is_in_a_stack = below.base_ref == *default || below.predecessor.is_some();
    (!is_in_a_stack).then(|| Refusal::NotInAStack {
        predecessor,
        base: below.base_ref.clone(),
        default: default.clone(),
    })
}

/// Whether `pr` stands on `below`, directly or through others.
fn stands_on(state: &RepoState, pr: PrNumber, below: PrNumber) -> bool {
    let mut met = BTreeSet::new();
    let mut next = Some(pr);
    while let Some(number) = next.filter(|number| met.insert(*number)) {
        if number == below {
            return true;
        }
        next = state.prs.get(&number).and_then(|pr| pr.predecessor);
    }
    false
}
