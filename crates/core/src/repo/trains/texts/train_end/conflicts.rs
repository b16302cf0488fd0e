//! Merges that need a person.

use super::{ManualBranchMove, ManualMerge, TrainEndText};
use crate::ids::{BranchName, PrNumber};
use crate::repo::trains::conflict::Conflict;
use crate::repo::trains::texts::trunk;

const MERGE_CONFLICT: &str = "MergeConflict";

/// Why the advice is not the first thing that comes to mind.
pub(super) const MERGING_IS_WRONG: &str = "Do not merge the default branch instead: that would bring back what this pull request \
    deleted from its predecessor's changes.";

/// The root is behind the default branch, and cannot be updated.
pub fn behind_conflict(
    pr: PrNumber,
    default_branch: &BranchName,
    conflict: &Conflict,
    merge: &ManualMerge,
) -> TrainEndText {
    let message = format!(
        "Cannot update PR #{pr}: merge conflicts with {}. Please resolve conflicts locally and push, then re-issue \
         `@merge-train start`.",
        trunk(default_branch)
    );
    TrainEndText::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Merge {} into the branch:\n\n{}",
        trunk(default_branch),
        merge.commands()
    ))
}

/// GitHub says that the pull request cannot be merged into its base.
pub fn dirty(pr: PrNumber, default_branch: &BranchName, merge: &ManualMerge) -> TrainEndText {
    let with = trunk(default_branch);
    TrainEndText::new(MERGE_CONFLICT, format!("PR #{pr} cannot land: GitHub reports merge conflicts with {with}.")).next(format!(
        "Merge {with} into the branch of PR #{pr}, resolve the conflicts and push:\n\n{}\n\nThen comment `@merge-train \
         start` again.",
        merge.commands()
    ))
}

/// A descendant does not take its predecessor's head. Nothing has landed yet.
pub fn preparation_conflict(
    pr: PrNumber,
    predecessor: PrNumber,
    conflict: &Conflict,
    merge: &ManualMerge,
) -> TrainEndText {
    let message = format!("Cannot prepare PR #{pr}: merge conflicts with its predecessor #{predecessor}.");
    TrainEndText::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Merge the branch of #{predecessor} into the branch of PR #{pr}, resolve the conflicts and push:\n\n{}\n\nThen \
         comment `@merge-train start` again. #{predecessor} has not been merged.",
        merge.commands()
    ))
}

/// The same where the predecessor was rewritten since the descendant was written on it.
pub fn rewritten_conflict(
    pr: PrNumber,
    predecessor: PrNumber,
    conflict: &Conflict,
    moved: &ManualBranchMove,
) -> TrainEndText {
    let message = format!(
        "Cannot prepare PR #{pr}: #{predecessor} was rewritten since PR #{pr} was written on it, and the two conflict."
    );
    TrainEndText::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Move the commits of PR #{pr} onto the branch of #{predecessor} and resolve the conflicts. Do not merge that \
         branch instead: that would bring back what PR #{pr} deleted from it.\n\n{}\n\nThen comment `@merge-train \
         start` again. #{predecessor} has not been merged.",
        moved.commands()
    ))
}

/// Somebody pushed to a descendant while it was prepared, and the two do not go together.
pub fn pushed_conflict(pr: PrNumber, predecessor: PrNumber, conflict: &Conflict, merge: &ManualMerge) -> TrainEndText {
    let message = format!(
        "Someone pushed to PR #{pr} during the cascade, and the new commits conflict with its predecessor #{predecessor}."
    );
    TrainEndText::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Either revert the push, or merge the branch of #{predecessor} into the branch of PR #{pr}, resolve the \
         conflicts and push:\n\n{}\n\nThen comment `@merge-train start` again.",
        merge.commands()
    ))
}

/// A descendant does not take what the default branch was before its predecessor landed.
pub fn reconcile_conflict(
    pr: PrNumber,
    predecessor: PrNumber,
    default_branch: &BranchName,
    conflict: &Conflict,
    moved: Option<ManualBranchMove>,
) -> TrainEndText {
    let with = trunk(default_branch);
    let message = format!(
        "Cannot reconcile PR #{pr} with the squash of #{predecessor}: merge conflicts with commits on {with} that landed \
         before it."
    );
    let commands = moved.map(|moved| format!("\n\n{}\n\n", moved.commands())).unwrap_or_default();
    TrainEndText::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "#{predecessor} has landed. Move the commits of PR #{pr} onto {with} and resolve the conflicts. \
         {MERGING_IS_WRONG}{commands}Then comment `@merge-train start` again."
    ))
}

/// A descendant does not take what landed on the default branch since its predecessor did.
pub fn catch_up_conflict(
    pr: PrNumber,
    default_branch: &BranchName,
    conflict: &Conflict,
    merge: &ManualMerge,
) -> TrainEndText {
    let with = trunk(default_branch);
    TrainEndText::new(MERGE_CONFLICT, format!("Conflict with commits on {with} that landed after the squash."))
        .details(format!("In PR #{pr}:\n{conflict}"))
        .next(format!(
            "Merge {with} into the branch of PR #{pr}, resolve the conflicts and push:\n\n{}\n\nThen comment \
             `@merge-train start` again.",
            merge.commands()
        ))
}

/// A descendant came after its predecessor had landed, and conflicts with what landed.
pub fn late_conflict(
    pr: PrNumber,
    predecessor: PrNumber,
    default_branch: &BranchName,
    conflict: &Conflict,
    moved: &ManualBranchMove,
) -> TrainEndText {
    let onto = trunk(default_branch);
    let message = format!(
        "PR #{pr} was not prepared when its predecessor #{predecessor} landed, and cannot be reconciled with {onto}."
    );
    TrainEndText::new(MERGE_CONFLICT, message).details(conflict.to_string()).next(format!(
        "Move the commits of PR #{pr} onto {onto} and resolve the conflicts. {MERGING_IS_WRONG}\n\n{}\n\n\
         Then comment `@merge-train start` to land it with a train.",
        moved.commands()
    ))
}
