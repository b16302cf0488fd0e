//! Why a train does not go on yet: what keeps it, who can change that, and what happens then.

use jiff::Timestamp;

use super::status::{WaitParty, WaitReason};
use crate::ids::{BranchName, PrNumber, Sha};
use crate::markdown::code_span;

/// A reason to wait, without the time since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    blocker: String,
    who: String,
    next: String,
    party: WaitParty,
}

impl Blocker {
    pub fn since(self, since: Timestamp) -> WaitReason {
        let Self { blocker, who, next, party } = self;
        WaitReason { blocker, who, since, next, party }
    }

    /// Whether it is the same as what was said before.
    pub fn is(&self, why: &WaitReason) -> bool {
        self.blocker == why.blocker && self.who == why.who && self.next == why.next
    }

    /// Whether it keeps the train from the same thing, though not in the same words.
    pub fn is_like(&self, why: &WaitReason) -> bool {
        self.who == why.who && self.next == why.next
    }
}

/// What happens where merge-train tries again by itself.
const AGAIN: &str = "merge-train retries by itself, with longer pauses each time; `@merge-train retry` retries now.";

fn reason(party: WaitParty, blocker: String, who: String, next: String) -> Blocker {
    Blocker { blocker, who, next, party }
}

fn lands(pr: PrNumber, once: &str) -> String {
    format!("PR #{pr} is squash-merged once {once}; nobody needs to start the train again.")
}

/// `` `build` `` or `` `build` and 2 more ``.
fn names(names: &[&str]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| code_span(name)).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn checks(count: usize) -> &'static str {
    if count == 1 { "check" } else { "checks" }
}

fn once_passed(count: usize) -> &'static str {
    match count {
        1 => "the check passes and nothing else blocks it",
        _ => "the checks pass and nothing else blocks it",
    }
}

fn short(sha: &Sha) -> String {
    format!("`{}`", &sha.as_str()[..10.min(sha.as_str().len())])
}

/// Required checks failed.
pub fn checks_failed(pr: PrNumber, failed: &[&str], head: &Sha) -> Blocker {
    let (count, list) = (checks(failed.len()), names(failed));
    reason(
        WaitParty::Author,
        format!("The required {count} {list} failed on PR #{pr} at {}.", short(head)),
        format!("The author of PR #{pr}, by pushing a fix or running the {count} again."),
        lands(pr, once_passed(failed.len())),
    )
}

/// A fixer owns the branch.
pub fn fixer_at_work(pr: PrNumber, waits_for_approval: bool) -> Blocker {
    match waits_for_approval {
        true => reason(
            WaitParty::Maintainer,
            format!("A fixer's push to PR #{pr} needs approval."),
            "A maintainer, by approving or rejecting it.".to_owned(),
            "The train continues once that is decided; nobody needs to start it again.".to_owned(),
        ),
        false => reason(
            WaitParty::Fixer,
            format!("A fixer is working on PR #{pr}."),
            "The fixer: nobody needs to do anything.".to_owned(),
            "The train continues once the fixer is done; nobody needs to start it again.".to_owned(),
        ),
    }
}

/// Checks have not come to an end.
pub fn checks_running(pr: PrNumber, running: &[&str], head: &Sha) -> Blocker {
    let what =
        if running.is_empty() { "CI".to_owned() } else { format!("The {} {}", checks(running.len()), names(running)) };
    let verb = if running.len() > 1 { "have" } else { "has" };
    reason(
        WaitParty::Ci,
        format!("{what} {verb} not finished on PR #{pr} at {}.", short(head)),
        "CI: nobody needs to do anything.".to_owned(),
        lands(pr, "CI passes and nothing else blocks it"),
    )
}

/// Required checks have not begun.
pub fn checks_expected(pr: PrNumber, expected: &[&str], head: &Sha) -> Blocker {
    let (count, list) = (checks(expected.len()), names(expected));
    let have = if expected.len() == 1 { "has" } else { "have" };
    reason(
        WaitParty::Ci,
        format!("The required {count} {list} {have} not reported on PR #{pr} at {} yet.", short(head)),
        format!("CI; if it never starts, whoever maintains the {count} {list}."),
        lands(pr, once_passed(expected.len())),
    )
}

/// Nothing is known of CI for this head.
pub fn ci_expected(pr: PrNumber, head: &Sha) -> Blocker {
    reason(
        WaitParty::Ci,
        format!("No check has reported on PR #{pr} at {} yet.", short(head)),
        "CI; if it never starts, whoever maintains CI for this repository.".to_owned(),
        lands(pr, "GitHub reports it as ready to merge"),
    )
}

pub fn review_required(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Reviewer,
        format!("PR #{pr} needs an approving review."),
        format!("A reviewer of PR #{pr}, by approving it."),
        lands(pr, "it is approved and nothing else blocks it"),
    )
}

pub fn changes_requested(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Author,
        format!("A reviewer requested changes on PR #{pr}."),
        format!("The author of PR #{pr}, by making them, and then the reviewer, by approving."),
        lands(pr, "it is approved and nothing else blocks it"),
    )
}

pub fn draft(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Author,
        format!("PR #{pr} is a draft."),
        format!("The author of PR #{pr}, by marking it as ready for review."),
        lands(pr, "it is ready for review and its requirements are met"),
    )
}

/// GitHub has not computed it.
pub fn unknown(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Github,
        format!("GitHub has not computed yet whether PR #{pr} can be merged."),
        "GitHub: nobody needs to do anything.".to_owned(),
        format!("merge-train asks again, and squash-merges PR #{pr} once GitHub says yes."),
    )
}

/// GitHub says blocked, and nothing that can be seen explains it.
pub fn unexplained(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Maintainer,
        format!(
            "GitHub reports PR #{pr} as blocked by a branch rule, although every check and review that merge-train can \
             see is fine."
        ),
        format!("GitHub, if it lags behind; otherwise an admin: the merge box of PR #{pr} names the rule."),
        lands(pr, "GitHub reports it as ready to merge"),
    )
}

/// It was given another base.
pub fn other_base(pr: PrNumber, base: &BranchName, default: &BranchName) -> Blocker {
    let (base, default) = (code_span(base.as_str()), code_span(default.as_str()));
    reason(
        WaitParty::Author,
        format!("PR #{pr} targets {base}, not {default}."),
        format!("The author of PR #{pr}, by changing its base branch to {default}."),
        lands(pr, &format!("it targets {default} and its requirements are met")),
    )
}

/// GitHub did not take the squash, for a reason that may pass.
pub fn squash_not_taken(pr: PrNumber, message: &str) -> Blocker {
    reason(
        WaitParty::Github,
        format!("GitHub does not merge PR #{pr} for now. It says: {}.", code_span(message.trim_end_matches('.'))),
        format!("CI or GitHub; if this persists, check the merge box of PR #{pr}."),
        "merge-train retries after the next CI or review event, and at every poll; `@merge-train retry` retries now."
            .to_owned(),
    )
}

/// GitHub and git, or GitHub and itself, tell different things.
pub fn disagree(pr: PrNumber, message: &str) -> Blocker {
    reason(
        WaitParty::Github,
        format!("GitHub's answers about PR #{pr} do not match yet: {}.", code_span(message.trim_end_matches('.'))),
        format!("GitHub, if it lags behind; if this persists, check the branch of PR #{pr} for pushes by others."),
        AGAIN.to_owned(),
    )
}

/// A pull request cannot be read.
pub fn unread(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Github,
        format!("Could not read PR #{pr} from GitHub."),
        "GitHub or the network, in most cases; if this persists, the operator of merge-train.".to_owned(),
        AGAIN.to_owned(),
    )
}

/// The repository cannot be read.
pub fn repository_unread(message: &str) -> Blocker {
    reason(
        WaitParty::Github,
        format!("Could not read the repository from GitHub: {}.", code_span(message.trim_end_matches('.'))),
        "GitHub or the network, in most cases; if this persists, the operator of merge-train.".to_owned(),
        "The train continues by itself after the next successful read.".to_owned(),
    )
}

/// The status comment cannot be read, and it may know more.
pub fn status_unread(pr: PrNumber) -> Blocker {
    reason(
        WaitParty::Github,
        format!("Could not read the status comment on PR #{pr}, which may be newer than merge-train's own record."),
        "GitHub or the network, in most cases; if this persists, the operator of merge-train.".to_owned(),
        "The train continues by itself after the next successful read.".to_owned(),
    )
}

/// Pushes land, and yet another is needed.
pub fn pushed_again(pr: PrNumber, times: u32) -> Blocker {
    reason(
        WaitParty::Github,
        format!("merge-train pushed to PR #{pr} {times} times in a row, and its branch still needs another push."),
        format!("GitHub, if it lags behind; if this persists, check who else changes PR #{pr} or its base branch."),
        AGAIN.to_owned(),
    )
}

/// Squash merges are tried again and again.
pub fn squashed_again(pr: PrNumber, times: u32) -> Blocker {
    reason(
        WaitParty::Github,
        format!("merge-train tried to squash-merge PR #{pr} {times} times in a row without success."),
        format!("GitHub, if it lags behind; if this persists, check the merge box of PR #{pr}."),
        AGAIN.to_owned(),
    )
}

/// The base branch does not stay what it was made.
pub fn retargeted_again(pr: PrNumber, times: u32) -> Blocker {
    reason(
        WaitParty::Github,
        format!(
            "merge-train changed the base branch of PR #{pr} {times} times in a row, and GitHub still shows the old one."
        ),
        format!("GitHub, if it lags behind; if this persists, check who else changes the base branch of PR #{pr}."),
        AGAIN.to_owned(),
    )
}

/// Something outside does not answer.
pub fn trouble(what: &str, message: &str) -> Blocker {
    reason(
        WaitParty::Github,
        format!("Could not {what}: {}.", code_span(message.trim_end_matches('.'))),
        "GitHub or the network, in most cases; if this persists, the operator of merge-train.".to_owned(),
        "merge-train retries by itself; `@merge-train retry` retries now.".to_owned(),
    )
}
