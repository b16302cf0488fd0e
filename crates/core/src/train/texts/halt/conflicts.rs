//! Merges that need a person.

use super::Halt;
use crate::conflict::Conflict;
use crate::ids::{BranchName, PrNumber};
use crate::train::texts::trunk;

const MERGE_CONFLICT: &str = "MergeConflict";

/// The root is behind the default branch, and cannot be updated.
pub fn behind_conflict(pr: PrNumber, default_branch: &BranchName, conflict: &Conflict) -> Halt {
    let message = format!(
        "Cannot update PR #{pr}: merge conflicts with {}. Please resolve conflicts locally and push, then re-issue \
         `@merge-train start`.",
        trunk(default_branch)
    );
    Halt::new(MERGE_CONFLICT, message).details(conflict.to_string())
}

/// GitHub says that the pull request cannot be merged into its base.
pub fn dirty(pr: PrNumber, default_branch: &BranchName) -> Halt {
    let with = trunk(default_branch);
    Halt::new(MERGE_CONFLICT, format!("PR #{pr} cannot land: GitHub reports merge conflicts with {with}.")).next(format!(
        "Merge {with} into the branch of PR #{pr}, resolve the conflicts and push, then re-issue `@merge-train start`."
    ))
}

/// A descendant does not take its predecessor's head. Nothing has landed yet.
pub fn preparation_conflict(pr: PrNumber, predecessor: PrNumber, conflict: &Conflict) -> Halt {
    let message = format!("Cannot prepare PR #{pr}: merge conflicts with its predecessor #{predecessor}.");
    Halt::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Merge the branch of #{predecessor} into the branch of PR #{pr}, resolve the conflicts and push, then re-issue \
         `@merge-train start`. #{predecessor} has not been merged."
    ))
}

/// Somebody pushed to a descendant while it was prepared, and the two do not go together.
pub fn pushed_conflict(pr: PrNumber, predecessor: PrNumber, conflict: &Conflict) -> Halt {
    let message = format!(
        "Someone pushed to PR #{pr} during the cascade, and the new commits conflict with its predecessor #{predecessor}."
    );
    Halt::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Either revert the push, or merge the branch of #{predecessor} into the branch of PR #{pr}, resolve the conflicts \
         and push. Then re-issue `@merge-train start`."
    ))
}

/// A descendant does not take what the default branch was before its predecessor landed.
pub fn reconcile_conflict(
    pr: PrNumber,
    predecessor: PrNumber,
    default_branch: &BranchName,
    conflict: &Conflict,
) -> Halt {
    let with = trunk(default_branch);
    let message = format!(
        "Cannot reconcile PR #{pr} with the squash of #{predecessor}: merge conflicts with commits on {with} that landed \
         before it."
    );
    Halt::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "#{predecessor} has landed. Merge {with} into the branch of PR #{pr}, resolve the conflicts and push, then \
         re-issue `@merge-train start`."
    ))
}

/// A descendant does not take what landed on the default branch since its predecessor did.
pub fn catch_up_conflict(pr: PrNumber, default_branch: &BranchName, conflict: &Conflict) -> Halt {
    let with = trunk(default_branch);
    Halt::new(MERGE_CONFLICT, format!("Conflict with commits on {with} that landed after the squash."))
        .details(format!("In PR #{pr}:\n{conflict}"))
        .next(format!(
            "Merge {with} into the branch of PR #{pr}, resolve the conflicts and push, then re-issue `@merge-train start`."
        ))
}

/// A descendant came after its predecessor had landed, and conflicts with what landed.
pub fn late_conflict(pr: PrNumber, predecessor: PrNumber, default_branch: &BranchName, conflict: &Conflict) -> Halt {
    let onto = trunk(default_branch);
    let message = format!(
        "PR #{pr} was not prepared when its predecessor #{predecessor} landed, and cannot be reconciled with {onto}."
    );
    Halt::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Merge {onto} into the branch of PR #{pr}, resolve the conflicts and push. If a train is to land it, issue \
         `@merge-train start` then."
    ))
}
