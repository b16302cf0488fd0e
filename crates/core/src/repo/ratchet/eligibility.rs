//! Whether a workspace may be worked on at all.

use super::markers::Ci;
use super::status::{Reason, Status};

/// What the guards ask, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eligibility {
    pub user_is_working: bool,
    pub has_pr: bool,
    pub is_open: bool,
    pub is_enabled: bool,
    pub ci: Ci,
}

/// What keeps the ratchet from a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    pub status: Status,
    pub reason: Reason,
}

/// The first guard that says no. What is new about the pull request is not dealt with by that: it is still new when the bar is gone.
///
/// The attempt budget has its place before the last of them in the specification, and bars a fix "when a fixup action would
/// otherwise be taken": it is asked where that is known, so that a third push that helped ends in `PAUSED_DONE`.
pub fn bar(asked: Eligibility) -> Option<Bar> {
    let bar = |status, reason| Some(Bar { status, reason });
    match asked {
        Eligibility { user_is_working: true, .. } => bar(Status::PausedUserWorking, Reason::UserWorking),
        Eligibility { has_pr: false, .. } => bar(Status::PausedNoPr, Reason::NoPr),
        Eligibility { is_open: false, .. } => bar(Status::PausedPrNotOpen, Reason::PrNotOpen),
        Eligibility { is_enabled: false, .. } => bar(Status::PausedDisabled, Reason::Disabled),
        Eligibility { ci: Ci::InProgress, .. } => bar(Status::WaitingForCi, Reason::CiInProgress),
        Eligibility {
            user_is_working: false,
            has_pr: true,
            is_open: true,
            is_enabled: true,
            ci: Ci::None | Ci::Failed | Ci::Passed,
        } => None,
    }
}
