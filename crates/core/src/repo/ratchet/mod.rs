//! The ratchet: pull requests that keep moving. What broke is noticed, and a fixer is sent to fix it.
//!
//! Everything here is a pure function of what GitHub says of a pull request, of what is remembered of its workspace, and of the
//! time. `rounds.rs` asks these functions and records what they say.

mod action;
pub mod brief;
mod display;
mod effect;
mod eligibility;
mod event;
mod fix;
mod fixes;
mod look;
mod markers;
mod rounds;
mod session;
mod sessions;
mod settings;
mod status;
mod talk;
pub mod texts;
mod toggle;
mod workspace;

pub use action::{Action, Standing, determine_fixup_action};
pub use brief::Issue;
pub use display::{Column, UPDATING};
pub use effect::{Effect, EffectKey};
pub use eligibility::{Bar, Eligibility, bar};
pub use event::Event;
pub use fix::{Approved, DidPush, Fix, FixEnd, FixExit, FixPush, Phase, Settled, run_id as fixer_run_id};
pub use markers::{Change, Ci, Glimpse, Markers, Seen};
pub use rounds::candidate;
pub(super) use rounds::{apply, completed, concern, head_moved, need_a_worker, react, requested, run, wakes};
pub use session::{Session, SessionId, has_vanished, is_working};
pub use settings::{Approve, Settings};
pub use status::{OutcomeKind, Reason, Status};
pub use toggle::{LABEL_OFF, LABEL_ON};
pub(super) use toggle::{labelled, toggle};
pub use workspace::{Deed, Facts, Heard, Tried, Workspace, Workspaces};

#[cfg(test)]
mod tests;
