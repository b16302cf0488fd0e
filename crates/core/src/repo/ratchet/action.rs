//! What is to be done about a pull request that may be worked on.

use jiff::{SignedDuration, Timestamp};

use super::brief::FixIssue;
use super::markers::{CiSummary, ObservedPullRequest};
use super::status::{WorkspaceReason, WorkspaceStatus};
use crate::facts::{MergeState, ReviewDecision};

/// What is done, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatchetAction {
    Wait(WorkspaceReason),
    Pause(WorkspaceStatus, WorkspaceReason),
    Fix(FixIssue, WorkspaceReason),
    Noop(WorkspaceReason),
}

/// What is remembered of a workspace that the decision depends on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RatchetMemory {
    /// The run of CI that the last fixer was sent for, and since when another is waited for.
    pub last_ci_run: Option<String>,
    pub stale_since: Option<Timestamp>,
    pub stale_timeout: SignedDuration,
    /// Since when everything is green, and for how long late comments are waited for then.
    pub green_since: Option<Timestamp>,
    pub grace: SignedDuration,
}

impl RatchetMemory {
    /// Whether what CI says is what it said before the last fixer. No run at all on a new head is none that has started; but
    /// where there was none before, none is waited for.
    pub fn is_stale(&self, seen: &ObservedPullRequest) -> bool {
        self.stale_since.is_some() && self.last_ci_run.is_some() && (seen.run.is_none() || seen.run == self.last_ci_run)
    }
}

/// The next action, in the order of the specification's guards. That the workspace may be worked on at all was found out before.
pub fn determine_fixup_action(seen: &ObservedPullRequest, standing: &RatchetMemory, now: Timestamp) -> RatchetAction {
    if standing.is_stale(seen) {
        let waited = standing.stale_since.map(|since| now.duration_since(since)).unwrap_or_default();
        return if waited < standing.stale_timeout {
            RatchetAction::Wait(WorkspaceReason::StaleCi)
        } else {
            RatchetAction::Pause(WorkspaceStatus::PausedAttentionStaleCiTimeout, WorkspaceReason::StaleCiTimeout)
        };
    }
    let has_failed = seen.ci == CiSummary::Failed;
    let is_wanted = !seen.points.is_empty();
    if seen.conflicts() && !has_failed && !is_wanted {
        return RatchetAction::Pause(WorkspaceStatus::PausedWaitConflictOnly, WorkspaceReason::ConflictOnly);
    }
    if has_failed {
        return RatchetAction::Fix(FixIssue::FixCi, WorkspaceReason::CiFailed);
    }
    if is_wanted {
        return RatchetAction::Fix(FixIssue::FixReview, WorkspaceReason::ReviewComments);
    }
    if let Some(action) = blocked(seen) {
        return action;
    }
    // What has not passed is not shown: the app may not be allowed to see it.
    if (seen.merge_state, seen.ci) == (MergeState::Unstable, CiSummary::None) {
        return RatchetAction::Wait(WorkspaceReason::CiUnseen);
    }
    if !is_green(seen) {
        return RatchetAction::Noop(WorkspaceReason::NothingActionable);
    }
    let waited = standing.green_since.map(|since| now.duration_since(since)).unwrap_or_default();
    if waited < standing.grace {
        return RatchetAction::Wait(WorkspaceReason::Grace);
    }
    RatchetAction::Pause(WorkspaceStatus::PausedDone, WorkspaceReason::AllGreen)
}

/// The rules of the branch say no, although nothing is red and no reviewer waits for an answer.
fn blocked(seen: &ObservedPullRequest) -> Option<RatchetAction> {
    if seen.merge_state != MergeState::Blocked {
        return None;
    }
    let wants_review = matches!(seen.review, Some(ReviewDecision::ReviewRequired | ReviewDecision::ChangesRequested));
    if wants_review || seen.unresolved > 0 {
        return Some(RatchetAction::Pause(WorkspaceStatus::PausedWaitHumanReview, WorkspaceReason::HumanReview));
    }
    Some(match seen.ci {
        // Nobody has reported: what is missing may be a check.
        CiSummary::None => RatchetAction::Wait(WorkspaceReason::CiExpected),
        CiSummary::InProgress | CiSummary::Failed | CiSummary::Passed => {
            RatchetAction::Wait(WorkspaceReason::MergeBlocked)
        }
    })
}

/// Whether nothing is left to do. Where nobody runs CI, GitHub's own word has to do; that something has not passed, it says, too.
pub fn is_green(seen: &ObservedPullRequest) -> bool {
    let is_content = match seen.merge_state {
        MergeState::Clean | MergeState::HasHooks | MergeState::Behind | MergeState::Draft => {
            matches!(seen.ci, CiSummary::Passed | CiSummary::None)
        }
        MergeState::Unstable => seen.ci == CiSummary::Passed,
        MergeState::Unknown | MergeState::Blocked | MergeState::Dirty => false,
    };
    is_content && seen.points.is_empty()
}
