//! Pull requests: opening, moving, their merge state, merging.

mod facts;
mod lifecycle;
mod open;
mod stack;
mod state;

pub use facts::{base_commit, facts, settle};
pub use lifecycle::{MergedBy, close, mark_merged, retarget, set_draft};
pub use open::{NewPull, open};
pub use stack::stack_of;
pub use state::{MergeState, merge_state, review_decision};

use crate::Sim;
use crate::http::ApiError;
use crate::world::{Id, Issue, IssueState, Pull, World};

/// Carries out asynchronous merges when they are due, those from before a restart included.
pub fn start_async_merges(sim: &Sim) {
    let _ = sim;
}

/// A pull request and its conversation side.
pub fn find(world: &World, repo: Id, number: u64) -> Result<(&Pull, &Issue), ApiError> {
    world.pulls.get(repo, number).zip(world.issues.get(repo, number)).ok_or_else(ApiError::not_found)
}

pub fn is_open(world: &World, pull: &Pull) -> bool {
    world.issues.get(pull.repo, pull.number).is_some_and(|issue| issue.state == IssueState::Open)
}
