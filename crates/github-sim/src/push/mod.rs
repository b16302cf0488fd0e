//! What follows from refs having moved, however they moved: by a push, by the API, by a merge.

use crate::git::RefChange;
use crate::http::ApiError;
use crate::world::Id;
use crate::{RepoGuard, Sim};

/// Compares git's refs with what is known of them and draws the consequences of every difference.
pub async fn take_in(sim: &Sim, guard: &RepoGuard, actor: Id) -> Result<(), ApiError> {
    let _ = (sim, guard, actor);
    Ok(())
}

/// The same for every repository, at the start: a push may have been cut off after git had taken it.
pub async fn take_in_all(sim: &Sim) -> Result<(), crate::git::Error> {
    let _ = sim;
    Ok(())
}

/// Moves refs, all or none, and draws the consequences. A ref that does not hold its `old` value is a conflict (409).
pub async fn update(sim: &Sim, guard: &RepoGuard, actor: Id, changes: Vec<RefChange>) -> Result<(), ApiError> {
    let _ = (sim, guard, actor, changes);
    Ok(())
}
