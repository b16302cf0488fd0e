//! Reviews and review threads: what REST, GraphQL and the pages all do with them.

use crate::http::ApiError;
use crate::world::{Id, World};

/// Resolves a thread or opens it again.
pub fn set_resolved(world: &mut World, actor: Id, repo: Id, thread: Id, resolved: bool) -> Result<(), ApiError> {
    let _ = (world, actor, repo, thread, resolved);
    Ok(())
}

/// Answers in a review thread; the id of the new comment.
pub fn reply(world: &mut World, actor: Id, repo: Id, thread: Id, body: &str) -> Result<Id, ApiError> {
    let _ = (world, actor, repo, thread, body);
    Ok(0)
}
