//! Whether a pull request stands on the one that its author declares.

use std::collections::BTreeSet;

use crate::facts::HeadRepo;
use crate::ids::{BranchName, CommentId, PrNumber};
use crate::repo::commands::Command;
use crate::repo::state::{CachedPr, PrState, RepoState};
use crate::repo::trains::texts::answer::{self, AllowedPeople};
use crate::repo::trains::texts::declare;

/// Why a declaration does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::repo) enum Refusal {
    NotTheAuthor { predecessor: PrNumber },
    OfItself { pr: PrNumber },
    AlreadyDeclared { comment: CommentId, predecessor: PrNumber },
    NoSuchPull { predecessor: PrNumber },
    InAFork { predecessor: PrNumber },
    OfTheDefaultBranch { pr: PrNumber },
    Closed { predecessor: PrNumber },
    BaseMismatch { pr: PrNumber, predecessor: PrNumber, base: BranchName, head: BranchName },
    NotInAStack { predecessor: PrNumber, base: BranchName, default: BranchName },
    Circle { pr: PrNumber, predecessor: PrNumber },
}

impl Refusal {
    /// What the author is told.
    pub fn told(&self) -> String {
        match self {
            Self::NotTheAuthor { predecessor } => {
                answer::not_authorized(&Command::Predecessor(*predecessor), AllowedPeople::Author)
            }
            Self::OfItself { pr } => declare::its_own_predecessor(*pr),
            Self::AlreadyDeclared { comment, predecessor } => declare::already_declared(*comment, *predecessor),
            Self::NoSuchPull { predecessor } => declare::unknown_predecessor(*predecessor),
            Self::InAFork { predecessor } => declare::forked_predecessor(*predecessor),
            Self::OfTheDefaultBranch { pr } => declare::of_the_default_branch(*pr),
            Self::Closed { predecessor } => declare::closed_predecessor(*predecessor),
            Self::BaseMismatch { pr, predecessor, base, head } => declare::base_mismatch(*pr, base, *predecessor, head),
            Self::NotInAStack { predecessor, base, default } => {
                declare::undeclared_predecessor(*predecessor, base, default)
            }
            Self::Circle { pr, predecessor } => declare::cycle(*pr, *predecessor),
        }
    }
}

/// What is to become of a declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::repo) enum Verdict {
    Accepted,
    Refused(Refusal),
    /// Nobody knows yet whether there is such a pull request.
    Unknown,
}

/// Judges the declaration that `number`, which is `pr`, stands on `predecessor`.
pub(in crate::repo) fn judge(state: &RepoState, number: PrNumber, pr: &CachedPr, predecessor: PrNumber) -> Verdict {
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
    for (pr, known) in [(number, pr), (predecessor, below)] {
        if known.head_is_default {
            return Some(Refusal::OfTheDefaultBranch { pr });
        }
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
