//! Comments, reactions and labels: what REST, GraphQL and the pages all do with them.

use crate::http::ApiError;
use crate::world::{Id, World};

/// Comments on an issue or pull request; the id of the new comment.
pub fn add_comment(
    world: &mut World,
    actor: Id,
    via_app: Option<Id>,
    repo: Id,
    number: u64,
    body: &str,
) -> Result<Id, ApiError> {
    let _ = (world, actor, via_app, repo, number, body);
    Ok(0)
}

/// A line of the timeline.
pub fn note_event(world: &mut World, repo: Id, number: u64, actor: Id, event: &str, details: serde_json::Value) {
    let (id, created_at) = (world.next_id(), world.now);
    world.issue_events.insert(crate::world::IssueEvent {
        repo,
        id,
        number,
        actor,
        event: event.to_owned(),
        details,
        created_at,
    });
}
