//! What is wrong with a declaration of a predecessor, or became wrong with it.

use super::{advise, branch};
use crate::ids::{BranchName, CommentId, PrNumber};

/// The pull request is not based on what it declares as its predecessor.
pub fn base_mismatch(pr: PrNumber, base: &BranchName, predecessor: PrNumber, head: &BranchName) -> String {
    advise(
        &mismatch(pr, base, predecessor, head),
        &format!(
            "Change the base branch of PR #{pr} to {}, then comment `@merge-train predecessor #{predecessor}` again.",
            branch(head)
        ),
    )
}

pub(super) fn mismatch(pr: PrNumber, base: &BranchName, predecessor: PrNumber, head: &BranchName) -> String {
    format!(
        "PR #{pr} declares predecessor #{predecessor}, but its base branch {} doesn't match #{predecessor}'s head branch \
         {}. The PR must be based on the predecessor's branch.",
        branch(base),
        branch(head)
    )
}

/// The pull request was given another base while its predecessor is open.
/// A train that is under way goes on without it.
pub fn retargeted_away(
    pr: PrNumber,
    base: &BranchName,
    predecessor: PrNumber,
    head: &BranchName,
    train: Option<PrNumber>,
) -> String {
    if let Some(root) = train {
        return advise(
            &format!(
                "PR #{pr} was retargeted to {}, which no longer matches predecessor #{predecessor}'s head branch {}. \
                 The train of PR #{root} continues without PR #{pr}.",
                branch(base),
                branch(head)
            ),
            &format!(
                "To land it, change the base branch back to {}, and comment `@merge-train start` on PR #{pr} once \
                 #{predecessor} has landed. If PR #{pr} is no longer stacked on #{predecessor}, edit or delete the comment \
                 that says so.",
                branch(head)
            ),
        );
    }
    advise(
        &format!(
            "PR #{pr} was retargeted to {}, which no longer matches predecessor #{predecessor}'s head branch {}. This PR \
             will not be included in the cascade until the base branch is corrected.",
            branch(base),
            branch(head)
        ),
        &format!(
            "Change the base branch back to {}. If PR #{pr} is no longer stacked on #{predecessor}, edit or delete the \
             comment that says so.",
            branch(head)
        ),
    )
}

/// The pull request was given the default branch as its base before it was related to its predecessor's squash.
pub fn manually_retargeted(default_branch: &BranchName, predecessor: PrNumber) -> String {
    format!(
        "⚠️ **Warning**: This PR was retargeted to {} but has not been reconciled with predecessor #{predecessor}'s squash \
         commit. This PR cannot be safely merged until reconciliation completes.\n\n\
         The bot will now attempt reconciliation automatically.",
        branch(default_branch)
    )
}

/// The number names no pull request.
pub fn unknown_predecessor(predecessor: PrNumber) -> String {
    format!("There is no pull request #{predecessor} in this repository. Check the number, then declare again.")
}

/// A pull request cannot stand on itself.
pub fn its_own_predecessor(pr: PrNumber) -> String {
    format!("PR #{pr} cannot be its own predecessor. Name the pull request that it is based on.")
}

/// The predecessor's branch is where the bot cannot push.
pub fn forked_predecessor(predecessor: PrNumber) -> String {
    format!(
        "PR #{predecessor} comes from a fork, where merge-train cannot push, so nothing can be stacked on it. Open it from a \
         branch of this repository."
    )
}

/// merge-train would push merges to the default branch.
pub fn of_the_default_branch(pr: PrNumber) -> String {
    format!(
        "PR #{pr} is opened from the default branch, which only squashes may change, so it cannot be part of a stack. To update a \
         branch, merge the default branch into it."
    )
}

/// The predecessor was closed without being merged.
pub fn closed_predecessor(predecessor: PrNumber) -> String {
    format!("PR #{predecessor} was closed without being merged. Reopen it, or declare another predecessor.")
}

/// The predecessor is itself stacked on something that nobody declared.
pub fn undeclared_predecessor(predecessor: PrNumber, base: &BranchName, default_branch: &BranchName) -> String {
    format!(
        "PR #{predecessor} is based on {}, not on {}, and declares no predecessor itself. Declare the predecessor of \
         #{predecessor} first, then declare this one again.",
        branch(base),
        branch(default_branch)
    )
}

/// The declaration would close a ring.
pub fn cycle(pr: PrNumber, predecessor: PrNumber) -> String {
    format!(
        "Cycle: #{predecessor} is already stacked on #{pr}, so #{pr} cannot be stacked on it. Name the pull request \
         that #{pr} is based on, or correct the other declarations."
    )
}

/// A pull request has one predecessor; the first declaration counts.
pub fn already_declared(comment: CommentId, predecessor: PrNumber) -> String {
    format!(
        "PR already has predecessor declaration in comment #{comment} pointing to #{predecessor}. Edit that comment to \
         change predecessors, or delete it first."
    )
}

/// An edit of the declaration that is not accepted, for one of the reasons above.
pub fn edit_rejected(reason: &str, remaining: PrNumber) -> String {
    format!("The edit was not accepted: the predecessor of this PR is still #{remaining}.\n\n{reason}")
}
