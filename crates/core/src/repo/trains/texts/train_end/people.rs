//! What people did while the train was under way.

use super::conflicts::MERGING_IS_WRONG;
use super::{ManualBranchMove, TrainEndText};
use crate::ids::{BranchName, PrNumber, Sha};
use crate::repo::trains::texts::{branch, declare, joined, start, trunk};

/// More pull requests were added than a status comment can hold.
pub fn grown_too_large(found: usize, most: usize) -> TrainEndText {
    TrainEndText::new(
        "TrainTooLarge",
        format!(
            "Train has grown too large ({found} PRs, maximum {most}). New PRs were added during the cascade. Please split \
             the stack or remove excess PRs, then restart."
        ),
    )
}

/// The comment that put the pull request into the stack is gone.
pub fn declaration_deleted(pr: PrNumber) -> TrainEndText {
    TrainEndText::new("PredecessorDeclarationDeleted", "Predecessor declaration deleted mid-cascade")
        .details(format!("PR #{pr} is no longer part of the stack."))
        .next(format!(
            "To land it with the stack, comment `@merge-train predecessor #N` on PR #{pr} again. Then comment \
             `@merge-train start` again."
        ))
}

/// The comment that put the pull request into the stack, or was not there, says something else now, or nothing.
pub fn declaration_changed(pr: PrNumber, from: Option<PrNumber>, to: Option<PrNumber>) -> TrainEndText {
    let named = |pr: Option<PrNumber>, none: &str| pr.map_or(none.to_owned(), |pr| format!("#{pr}"));
    let (from, now) = (named(from, "none"), named(to, "nothing"));
    TrainEndText::new("PredecessorDeclarationChanged", "Predecessor declaration changed mid-cascade")
        .details(format!("PR #{pr} declared {from} as its predecessor, and declares {now} now."))
        .next(
            "Make sure that the declarations describe the stack that you want, then comment `@merge-train start` \
             again.",
        )
}

/// The declarations lead back to where they began. `ring` begins and ends with the same pull request.
pub fn cycle(ring: &[PrNumber]) -> TrainEndText {
    TrainEndText::new(
        "CycleDetected",
        format!("Cycle detected in the predecessor declarations: {}.", joined(ring, " → ")),
    )
    .next("Edit or delete the predecessor comment that is wrong, then comment `@merge-train start` again.")
}

/// A descendant is not based on its predecessor any more.
pub fn base_changed(pr: PrNumber, base: &BranchName, predecessor: PrNumber, head: &BranchName) -> TrainEndText {
    let message = format!(
        "PR #{pr} declares predecessor #{predecessor}, but its base branch '{base}' doesn't match #{predecessor}'s head \
         branch '{head}'. The PR must be based on the predecessor's branch."
    );
    TrainEndText::new("BaseBranchMismatch", message).told(declare::mismatch(pr, base, predecessor, head)).next(format!(
        "Correct the base branch of PR #{pr}, or its declaration, then comment `@merge-train start` \
             again."
    ))
}

/// Somebody pushed to a branch that the bot had merged for already. The push is theirs to keep: the next train relates the branch again.
pub fn branch_modified(pr: PrNumber, remote: &Sha, expected: &Sha, pushed: &Sha) -> TrainEndText {
    let message = format!("Branch was modified during cascade. Remote has tree {remote}, we expected {expected}.");
    TrainEndText::new("PushRejected", message)
        .details(format!("Somebody pushed {pushed} to the branch of PR #{pr}. Nothing pushed to it is lost."))
        .next(
            "Once the branch has what the pull request should change, comment `@merge-train start` again. merge-train brings the \
             branch up to date itself, and the train waits for the checks of the new commits. Do not merge the default branch: that \
             can bring back what this pull request deleted from its predecessor's changes.",
        )
}

/// The pull request got commits that nobody checked yet.
pub fn head_moved(pr: PrNumber, found: &Sha, expected: &Sha) -> TrainEndText {
    let message =
        format!("Someone pushed to PR #{pr} before it could land. Its head is {found}, we expected {expected}.");
    TrainEndText::new("HeadMoved", message).next(
        "Once the new commits are what you want to land, comment `@merge-train start` again; the train waits for their \
         checks.",
    )
}

/// A descendant lacks commits of its predecessor that were there a moment ago.
pub fn still_behind(pr: PrNumber, predecessor: PrNumber) -> TrainEndText {
    let message = format!(
        "PR #{pr} is still behind its predecessor #{predecessor} after preparation. Someone may have pushed to \
         #{predecessor} in the meantime."
    );
    TrainEndText::new("BehindAfterPreparation", message)
        .next(format!("Once nothing more is pushed to #{predecessor}, comment `@merge-train start` again."))
}

/// Somebody merged it, and not as the train would have.
pub fn merged_outside(pr: PrNumber, moves: &[(PrNumber, ManualBranchMove)]) -> TrainEndText {
    let commands: String =
        moves.iter().map(|(above, moved)| format!("\n\nPR #{above}:\n\n{}", moved.commands())).collect();
    TrainEndText::new("MergedOutsideCascade", "PR was merged outside the cascade.")
        .details(format!("PR #{pr} was merged by someone else, and not as the squash that the train had prepared for."))
        .next(format!(
            "Move the pull requests that were stacked on it onto the default branch, and retarget them.{commands}\n\n\
             Then comment `@merge-train start` on the next one."
        ))
}

/// A descendant did not have its predecessor's content when that landed.
pub fn not_prepared(pr: PrNumber, default_branch: &BranchName, moved: &ManualBranchMove) -> TrainEndText {
    let message = format!(
        "Descendant #{pr} was not prepared before squash. Manual intervention required: rebase the descendant onto {}.",
        trunk(default_branch)
    );
    TrainEndText::new("NotPrepared", message).next(format!(
        "Move the commits of PR #{pr} onto {}. {MERGING_IS_WRONG}\n\n{}\n\nThen comment `@merge-train start` again.",
        trunk(default_branch),
        moved.commands()
    ))
}

/// The branch of the pull request that is to land is gone.
pub fn branch_gone(pr: PrNumber, head: &BranchName) -> TrainEndText {
    TrainEndText::new("BranchGone", format!("The branch '{head}' of PR #{pr} no longer exists."))
        .told(format!("The branch {} of PR #{pr} no longer exists, so it cannot land.", branch(head)))
        .next("Restore the branch and re-open the pull request, then comment `@merge-train start`.")
}

/// The pull request that was to land is closed.
pub fn root_closed(pr: PrNumber) -> TrainEndText {
    TrainEndText::new("PrClosed", format!("PR #{pr} was closed without being merged.")).next(
        "Re-open it, or restructure the stack: give the pull requests that were stacked on it another base and another \
         predecessor. Then comment `@merge-train start` again.",
    )
}

/// What the repository's settings say about why a review was dismissed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dismissal {
    /// No push dismisses reviews: a person did.
    Deliberate,
    /// The bot may not read the settings.
    Unverified,
    /// Pushes dismiss reviews, and the bot pushed.
    BySetting,
}

/// An approval is gone. A train does not resume by itself from that: somebody may have meant it.
pub fn review_dismissed(pr: PrNumber, dismissal: Dismissal) -> TrainEndText {
    const AGAIN: &str =
        "Have it approved again, then comment `@merge-train start` again: the train does not resume by itself.";
    let halt = TrainEndText::new("ReviewDismissed", format!("A review of PR #{pr} was dismissed."));
    match dismissal {
        Dismissal::Deliberate => halt.next(AGAIN),
        Dismissal::Unverified => halt.next(format!(
            "{AGAIN} If nobody dismissed it, check whether \"Dismiss stale pull request approvals when new commits are \
             pushed\" is enabled in branch protection; the bot lacks permission to check (`administration:read`)."
        )),
        Dismissal::BySetting => {
            let told =
                start::dismiss_stale_approvals().replacen("Cannot start merge train", "Cannot continue merge train", 1);
            TrainEndText::new("ReviewDismissed", format!("A review of PR #{pr} was dismissed by a push."))
                .details(told)
                .next(
                    "Change that setting, have the pull request approved again, then comment `@merge-train start` \
                     again.",
                )
        }
    }
}
