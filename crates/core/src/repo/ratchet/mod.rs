//! The ratchet: pull requests that keep moving. What broke is noticed, and a fixer is sent to fix it.
//!
//! Everything here is a pure function of what GitHub says of a pull request, of what is remembered of its workspace, and of the
//! time. `rounds.rs` asks these functions and records what they say.

mod action;
pub mod brief;
mod comments;
mod display;
mod effect;
mod eligibility;
mod event;
mod fix;
mod fixes;
mod markers;
mod observation;
mod rounds;
mod session;
mod sessions;
mod settings;
mod status;
pub mod texts;
mod toggle;
mod workspace;

pub use action::{RatchetAction, RatchetMemory, determine_fixup_action};
pub use brief::FixIssue;
pub use display::{BoardColumn, UPDATING};
pub use effect::{Effect, EffectKey};
pub use eligibility::{Eligibility, RatchetBlocker, bar};
pub use event::Event;
pub use fix::{DidPush, Fix, FixApproval, FixEnd, FixExit, FixPhase, FixPush, FixResult, run_id as fixer_run_id};
pub use markers::{CiSummary, HeartbeatFingerprint, Markers, ObservedPullRequest, RatchetDelta};
pub use rounds::candidate;
pub(super) use rounds::{apply, completed, concern, head_moved, need_a_worker, react, requested, run, wakes};
pub use session::{SessionId, UserSession, has_vanished, is_working};
pub use settings::{ApprovalRule, Settings};
pub use status::{OutcomeKind, WorkspaceReason, WorkspaceStatus};
pub use toggle::{LABEL_OFF, LABEL_ON};
pub(super) use toggle::{labelled, toggle};
pub use workspace::{HandledReviewActivity, LastFix, TransitionLogAction, Workspace, WorkspaceFacts, Workspaces};

#[cfg(test)]
mod tests;
