//! What GitHub refused, or did differently than it was asked to.

use super::{ManualBranchMove, TrainEndText};
use crate::ids::{BranchName, PrNumber, Sha};
use crate::markdown::introduced;
use crate::repo::trains::texts::{branch, trunk};

/// The repository runs hooks or a queue of its own at a merge.
pub fn merge_hooks(pr: PrNumber) -> TrainEndText {
    let message = format!(
        "PR #{pr} cannot be merged by a train: GitHub reports HAS_HOOKS, so the repository has pre-receive hooks or a \
         merge queue enabled."
    );
    TrainEndText::new("MergeHooksEnabled", message).next(
        "Ask an admin to disable the merge queue or the hooks for the default branch, then comment `@merge-train \
         start` again; or land this stack without a train.",
    )
}

/// GitHub did not accept the squash, and will not by itself.
pub fn squash_refused(pr: PrNumber, answer: &str) -> TrainEndText {
    TrainEndText::new("ApiError", format!("GitHub refused to squash-merge PR #{pr}: {answer}"))
        .told(introduced(&format!("GitHub refused to squash-merge PR #{pr}:"), answer))
        .next("Satisfy the requirements that the pull request shows, then comment `@merge-train start` again.")
}

/// The branch does not take pushes of the bot: a rule or a hook, and no race.
pub fn push_refused(pr: PrNumber, head: &BranchName, answer: &str) -> TrainEndText {
    TrainEndText::new("PushRejected", format!("The push to '{head}' of PR #{pr} was rejected: {answer}"))
        .told(introduced(&format!("The push to {} of PR #{pr} was rejected:", branch(head)), answer))
        .next(
            "Ask an admin to allow the bot to push to this branch (branch protection, rulesets, hooks), then comment \
             `@merge-train start` again.",
        )
}

/// The pull request is merged, and GitHub does not say as which commit.
pub fn merge_commit_unknown(pr: PrNumber) -> TrainEndText {
    TrainEndText::new("MissingMergeCommitSha", format!("GitHub does not say which commit PR #{pr} was merged as."))
        .next("Wait until the pull request shows its merge commit, then comment `@merge-train start` again.")
}

/// GitHub does not have the ref of a pull request any more.
pub fn pull_ref_gone(pr: PrNumber) -> TrainEndText {
    TrainEndText::new(
        "PullRefGone",
        format!(
            "Failed to fetch predecessor PR #{pr}'s head ref (refs/pull/{pr}/head).\n\n\
             This ref may have been garbage-collected. On github.com this should not happen; on GitHub Enterprise Server, \
             check your instance's ref retention settings.\n\n\
             The cascade cannot proceed without the predecessor's commit history."
        ),
    )
    .next(format!("Restore the ref, for example by re-opening PR #{pr}, then comment `@merge-train start` again."))
}

/// The predecessor landed in a way that nothing can be related to.
pub fn not_squashed(predecessor: PrNumber, reason: &str, moved: &ManualBranchMove) -> TrainEndText {
    TrainEndText::new("NonSquashMerge", reason)
        .told(format!("PR #{predecessor} did not land as a squash. {reason}"))
        .next(format!(
            "Move only the commits of this pull request:\n\n{}\n\nThen comment `@merge-train start`.",
            moved.commands()
        ))
}

/// Something that cannot be done, for a reason that does not go away by itself.
pub fn not_done(what: &str, pr: PrNumber, answer: &str) -> TrainEndText {
    TrainEndText::new("ApiError", format!("Cannot {what} PR #{pr}: {answer}"))
        .told(introduced(&format!("Cannot {what} PR #{pr}:"), answer))
        .next(
            "Fix the cause, then comment `@merge-train start` again. If the cause is not clear, ask the operator of \
             merge-train to check its log.",
        )
}

/// Nobody can say whether what landed is right.
pub fn cannot_prove(pr: PrNumber, commit: &Sha, default_branch: &BranchName) -> TrainEndText {
    let on = trunk(default_branch);
    let message = format!("merge-train cannot verify that commit {commit} on {on} contains the changes of PR #{pr}.");
    wrong_landed("UnprovenSquash", message, pr, &on)
}

/// The default branch lacks what had landed on it.
pub fn default_rewound(pr: PrNumber, commit: &Sha, default_branch: &BranchName) -> TrainEndText {
    let on = trunk(default_branch);
    let message = format!(
        "{on} was rewound: commit {commit}, which PR #{pr} landed as, is no longer on it. Somebody force-pushed {on}."
    );
    let told = format!("🚨 {message}");
    TrainEndText::new("DefaultBranchRewound", message)
        .headed("Merge train frozen")
        .told(told)
        .details("merge-train pushes, merges and retargets nothing more, so that nothing is built on it.".to_owned())
        .next(format!(
            "If the commit was removed by mistake, restore it on {on}, then comment `@merge-train start` again. If it \
             was removed on purpose, open its change again as a new pull request, and restack what was stacked on PR \
             #{pr}."
        ))
}

/// Somebody changed the base in the moment of the merge: GitHub guards the head, and nothing guards the base.
pub fn landed_elsewhere(pr: PrNumber, commit: &Sha, base: &BranchName, default_branch: &BranchName) -> TrainEndText {
    let on = trunk(default_branch);
    let message = |base: &str| {
        format!(
            "PR #{pr} was merged into {base}, not into {on}: somebody changed its base branch while it was being merged."
        )
    };
    let (message, told) = (message(base.as_str()), format!("🚨 {}", message(&branch(base))));
    TrainEndText::new("MergedElsewhere", message)
        .headed("Merge train frozen")
        .told(told)
        .details(format!("The commit is {commit}. merge-train pushes, merges and retargets nothing more for this \
             stack."))
        .next(format!(
            "Open a new pull request to {on} from the branch of PR #{pr}. Edit the declarations of the pull requests that are \
             stacked on PR #{pr} so that they name the new one. Then comment `@merge-train start` on it."
        ))
}

/// The record fits no status comment.
pub fn status_too_large() -> TrainEndText {
    TrainEndText::new(
        "StatusCommentTooLarge",
        "Status comment size limit exceeded unexpectedly. This is a bug — please report it with the train configuration. \
         Train aborted to prevent recovery data loss.",
    )
}

/// What landed is not what was checked.
pub fn wrong_landed_tree(
    pr: PrNumber,
    commit: &Sha,
    expected: &Sha,
    found: &Sha,
    default_branch: &BranchName,
) -> TrainEndText {
    let on = trunk(default_branch);
    let message = format!(
        "The squash of PR #{pr} left an unexpected tree on {on}: commit {commit} has tree {found}, expected \
         {expected}."
    );
    wrong_landed("WrongLandedTree", message, pr, &on)
}

/// What landed is not one commit upon the default branch.
pub fn wrong_landed_parents(pr: PrNumber, commit: &Sha, default_branch: &BranchName) -> TrainEndText {
    let on = trunk(default_branch);
    let message = format!(
        "PR #{pr} did not land as a squash: commit {commit} must have exactly one parent, the commit that {on} was at \
         just before."
    );
    wrong_landed("NonSquashMerge", message, pr, &on)
}

fn wrong_landed(error_type: &'static str, message: String, pr: PrNumber, on: &str) -> TrainEndText {
    let told = format!("🚨 {message}");
    TrainEndText::new(error_type, message)
        .headed("Merge train frozen")
        .told(told)
        .details(format!(
            "Changes of this or of earlier pull requests may be missing from {on}, or undone. The train is frozen: \
             merge-train pushes, merges and retargets nothing more, so that nothing is built on it."
        ))
        .next(format!(
            "Merge nothing else into {on} for now. Compare the commit with the changes of PR #{pr}. If it is wrong, \
             fix {on} (with a revert, or a pull request that adds what is missing), then comment `@merge-train start` \
             again."
        ))
}
