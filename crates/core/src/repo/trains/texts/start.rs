//! Why a train does not start, and what is said when it starts all the same.

use super::{advise, joined};
use crate::ids::PrNumber;
use crate::markdown::introduced;
use crate::repo::trains::plan::LandingPlan;

/// The root is a draft.
pub fn draft(pr: PrNumber) -> String {
    format!("Cannot start merge train: PR #{pr} is a draft. Please mark it as ready for review first.")
}

/// The pull request was merged or closed.
pub fn not_open(pr: PrNumber) -> String {
    advise(
        &format!("Cannot start merge train: PR #{pr} is not open."),
        "Comment `@merge-train start` on an open pull request, or re-open this one first.",
    )
}

/// The pull request stands on others that land first. `path` leads from the root to it, both included.
pub fn not_the_root(pr: PrNumber, path: &[PrNumber]) -> String {
    let next = match path.first() {
        Some(root) => format!("Comment `@merge-train start` on PR #{root}: it lands first, and this one follows."),
        None => "Declare what it is stacked on with `@merge-train predecessor #N`, and start the train on the root of \
                 the stack."
            .to_owned(),
    };
    let stack = if path.len() > 1 { format!(" The stack is {}.", joined(path, " ← ")) } else { String::new() };
    advise(&format!("Cannot start merge train: PR #{pr} is not the root of its stack.{stack}"), &next)
}

/// The declarations lead back to where they began. `ring` begins and ends with the same pull request.
pub fn cycle(ring: &[PrNumber]) -> String {
    advise(
        &format!("Cannot start merge train: cycle detected in the predecessor declarations: {}.", joined(ring, " → ")),
        "Edit or delete the predecessor comment that is wrong, then comment `@merge-train start` again.",
    )
}

/// More pull requests than a status comment can hold.
pub fn too_large(found: usize, most: usize) -> String {
    format!("Train too large: found {found} PRs, maximum allowed is {most}. Please split this into smaller stacks.")
}

/// A rule of the branch takes approvals away with every push.
pub fn dismiss_stale_approvals() -> String {
    "Cannot start merge train: this repository has \"Dismiss stale pull request approvals when new commits are pushed\" \
     enabled in branch protection.\n\n\
     The merge train bot pushes merge commits to PR branches during cascade operations, which would invalidate approvals \
     after each step. Please either:\n\n\
     1. Disable \"Dismiss stale pull request approvals\" in branch protection settings, OR\n\
     2. Use a different workflow for stacked PRs in this repository\n\n\
     See: https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/\
     managing-protected-branches/about-protected-branches#require-pull-request-reviews-before-merging"
        .to_owned()
}

/// Whether such a rule exists could not be seen; the train starts anyway.
pub fn unverified_protection() -> String {
    "⚠️ Unable to verify branch protection settings (missing permissions). If 'dismiss stale approvals' is enabled, the \
     cascade may abort. Consider granting `administration:read` permission."
        .to_owned()
}

/// GitHub did not answer what must be known before a start.
pub fn preflight_failed(answer: &str) -> String {
    advise(
        &introduced("Cannot start merge train: could not read this repository's settings. GitHub answered:", answer),
        "Comment `@merge-train start` again in a few minutes. If this persists, ask the operator of merge-train to \
         check its log.",
    )
}

/// The stack is sure to conflict, or would land something else than its pull requests change.
pub fn would_conflict(plan: &LandingPlan) -> String {
    let why = match plan.differences.is_empty() {
        true => "it would hit merge conflicts",
        false => "a pull request would land changes that are not its own",
    };
    advise(
        &format!("Cannot start merge train: {why}.\n\n{plan}"),
        "Run the commands above, then comment `@merge-train start` again. Nothing has been changed so far.",
    )
}

/// The stack has a train already.
pub fn already_running(root: PrNumber) -> String {
    format!(
        "This stack already has a merge train: the train of PR #{root}. Its status comment there shows the progress. \
         To start over, comment `@merge-train stop`, then `@merge-train start`."
    )
}
