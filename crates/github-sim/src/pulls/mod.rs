//! Pull requests: opening, moving, their merge state, merging.

use crate::Sim;
use crate::http::ApiError;
use crate::world::{Id, Pull, World};

/// What GraphQL and REST show of a pull request's readiness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeState {
    /// `CLEAN`, `UNSTABLE`, `BLOCKED`, `BEHIND`, `DIRTY`, `HAS_HOOKS`, `DRAFT` or `UNKNOWN`.
    pub status: &'static str,
    /// None while it is not known.
    pub mergeable: Option<bool>,
}

/// Asks git what has to be known about these pull requests, so that `World::facts` holds it.
pub async fn settle(sim: &Sim, repo: Id, numbers: &[u64]) -> Result<(), ApiError> {
    let _ = (sim, repo, numbers);
    Ok(())
}

pub fn merge_state(world: &World, pull: &Pull) -> MergeState {
    let _ = (world, pull);
    MergeState { status: "UNKNOWN", mergeable: None }
}

/// `APPROVED`, `CHANGES_REQUESTED` or `REVIEW_REQUIRED`; none where no review is required and none was given.
pub fn review_decision(world: &World, pull: &Pull) -> Option<&'static str> {
    let _ = (world, pull);
    None
}

/// Marks it ready for review, or turns it into a draft.
pub fn set_draft(world: &mut World, actor: Id, repo: Id, number: u64, draft: bool) -> Result<(), ApiError> {
    let _ = (world, actor, repo, number, draft);
    Ok(())
}

/// Carries out asynchronous merges when they are due, those from before a restart included.
pub fn start_async_merges(sim: &Sim) {
    let _ = sim;
}
