//! Whether a workspace may be worked on at all.

use super::markers::CiSummary;
use super::status::{WorkspaceReason, WorkspaceStatus};

/// What the guards ask, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eligibility {
    pub user_is_working: bool,
    pub has_pr: bool,
    pub is_open: bool,
    pub is_enabled: bool,
    pub ci: CiSummary,
}

/// What keeps the ratchet from a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatchetBlocker {
    pub status: WorkspaceStatus,
    pub reason: WorkspaceReason,
}

/// The first guard that says no. What is new about the pull request is not dealt with by that: it is still new when the bar is gone.
///
/// The attempt budget has its place before the last of them in the specification, and bars a fix "when a fixup action would
/// otherwise be taken": it is asked where that is known, so that a third push that helped ends in `PAUSED_DONE`.
pub fn bar(asked: Eligibility) -> Option<RatchetBlocker> {
    let bar = |status, reason| Some(RatchetBlocker { status, reason });
    match asked {
        Eligibility { user_is_working: true, .. } => {
            bar(WorkspaceStatus::PausedUserWorking, WorkspaceReason::UserWorking)
        }
        Eligibility { has_pr: false, .. } => bar(WorkspaceStatus::PausedNoPr, WorkspaceReason::NoPr),
        Eligibility { is_open: false, .. } => bar(WorkspaceStatus::PausedPrNotOpen, WorkspaceReason::PrNotOpen),
        Eligibility { is_enabled: false, .. } => bar(WorkspaceStatus::PausedDisabled, WorkspaceReason::Disabled),
        Eligibility { ci: CiSummary::InProgress, .. } => {
            bar(WorkspaceStatus::WaitingForCi, WorkspaceReason::CiInProgress)
        }
        Eligibility {
            user_is_working: false,
            has_pr: true,
            is_open: true,
            is_enabled: true,
            ci: CiSummary::None | CiSummary::Failed | CiSummary::Passed,
        } => None,
    }
}
