//! What people are told about a train that goes on, or that ended without fault.

use super::train_end::ManualBranchMove;
use super::{advise, branch, list};
use crate::ids::{BranchName, PrNumber, Sha};

/// The train goes on without a descendant that somebody closed.
pub fn skipped_closed(pr: PrNumber) -> String {
    advise(
        &format!("Descendant #{pr} was closed during cascade, skipping."),
        "To land it anyway, re-open it, and start a train for it once this one is done.",
    )
}

/// The train goes on without a descendant that somebody merged into another branch than the default branch.
pub fn skipped_merged(pr: PrNumber, into: &BranchName) -> String {
    advise(
        &format!(
            "Descendant #{pr} was merged into {} during cascade, skipping: its change is not on the default branch.",
            branch(into)
        ),
        "To land it, open a new pull request with its commits.",
    )
}

/// The train goes on without a descendant that has no branch any more.
pub fn skipped_branch_deleted(pr: PrNumber, head: &BranchName) -> String {
    advise(
        &format!("The branch {} of descendant #{pr} was deleted during cascade, skipping.", branch(head)),
        "To land it anyway, restore the branch, and start a train for it once this one is done.",
    )
}

/// The train goes on without a descendant that somebody gave another base.
pub fn skipped_retargeted(pr: PrNumber, base: &BranchName) -> String {
    advise(
        &format!("Descendant #{pr} was retargeted to {} during cascade, skipping.", branch(base)),
        &format!(
            "To land it anyway, change the base branch of PR #{pr} back, or to the default branch once its predecessor has \
             landed. Then start a train for it."
        ),
    )
}

/// It has its base again, but a train has gone on without it.
pub fn still_left_out(pr: PrNumber) -> String {
    advise(
        &format!("PR #{pr} has the right base branch again. The current train continues without it, as announced."),
        &format!("To land it, comment `@merge-train start` on PR #{pr} once its predecessor has landed."),
    )
}

/// What it stands on was merged into the branch of another pull request.
pub fn collapsed(
    pr: PrNumber,
    predecessor: PrNumber,
    into: PrNumber,
    onto: &BranchName,
    new: Option<PrNumber>,
    moved: &ManualBranchMove,
) -> String {
    let declare = match new {
        Some(new) => format!("edit its declaration to `@merge-train predecessor #{new}`"),
        None => "delete its declaration".to_owned(),
    };
    advise(
        &format!(
            "PR #{predecessor}, which PR #{pr} is stacked on, was merged into the branch of #{into} and not into the default \
             branch. So PR #{pr} has no predecessor that a train could land."
        ),
        &format!(
            "Move the commits of PR #{pr} onto {}:\n\n{}\n\nThen change the base branch of PR #{pr} to {}, and {declare}.",
            branch(onto),
            moved.commands(),
            branch(onto)
        ),
    )
}

/// What the pull request stands on was closed. `onto` is what that was based on, and `new` the pull request of that branch.
pub fn orphaned(pr: PrNumber, predecessor: PrNumber, onto: &BranchName, new: Option<PrNumber>) -> String {
    let declare = match new {
        Some(new) => format!("edit its declaration to `@merge-train predecessor #{new}`"),
        None => "delete its declaration".to_owned(),
    };
    advise(
        &format!(
            "PR #{pr} is orphaned: its predecessor #{predecessor} was closed without being merged, so no train can land it."
        ),
        &format!(
            "Re-open #{predecessor}. Or land PR #{pr} without it: first move only the commits of PR #{pr} onto {onto}, because its \
             branch still has the commits of #{predecessor}, which would land with it. Then set its base branch to {onto}, {declare}, \
             and check which changes the pull request shows.",
            onto = branch(onto)
        ),
    )
}

/// For the pull requests that would have come later.
pub fn halted(pr: PrNumber, failed: PrNumber, root: PrNumber) -> String {
    advise(
        &format!("The merge train of PR #{root} failed at PR #{failed}, so PR #{pr} does not land for now."),
        &format!("Nothing here. The comment on PR #{failed} says what happened and how to continue."),
    )
}

/// Its predecessor landed without it, and it cannot be related to that yet.
pub fn relation_waits(pr: PrNumber, blocker: &str) -> String {
    advise(
        &format!("PR #{pr} is not up to date with what landed below it, so it cannot land yet. {blocker}"),
        "Nothing for now: merge-train retries by itself, with longer pauses each time. If this persists, ask the \
         operator of merge-train to check it.",
    )
}

/// Neither a record nor a status comment tells how far the train was.
pub fn state_lost(descendants: &[PrNumber]) -> String {
    let found = if descendants.is_empty() { "no descendants".to_owned() } else { list(descendants) };
    format!(
        "Train state was lost. Manual review required. The bot has identified {found} but cannot safely resume \
         mid-operation. Options: (a) Issue `@merge-train stop` then `@merge-train start` to restart from current position, \
         (b) Manually complete the cascade."
    )
}

/// Somebody stopped the train; what had begun may have come to its end.
pub fn stopped(root: PrNumber, current: PrNumber) -> String {
    format!(
        "The merge train of PR #{root} is stopped at PR #{current}. Nothing more happens to this stack until \
         `@merge-train start` is issued again; other trains are not affected."
    )
}

/// An administrator ended the train, and with it these pull requests.
pub fn forced_stop(closed: &[PrNumber]) -> String {
    let consequence = match closed {
        [] => String::new(),
        closed => format!(" Closed: {}.", list(closed)),
    };
    format!("Train forcibly stopped by admin.{consequence}")
}

/// All of it landed, each as a commit on the default branch.
pub fn completed(landed: &[(PrNumber, Option<Sha>)], default_branch: &BranchName) -> String {
    let lines = landed.iter().map(|(pr, commit)| match commit {
        Some(commit) => format!("\n- #{pr} as {commit}"),
        None => format!("\n- #{pr}"),
    });
    format!("Train completed. Landed on {}:\n{}", branch(default_branch), lines.collect::<String>())
}

/// A train that had halted gives way to one that begins where it stood.
pub fn succeeded(root: PrNumber) -> String {
    format!("Train ended. The rest of this stack continues as the train of #{root}.")
}

/// It ends where the stack parts.
pub fn fan_out_completed(descendants: &[PrNumber]) -> String {
    format!("Train completed. Descendants {} are now independent trains.", list(descendants))
}
