//! Issues, comments, reactions and labels: what REST, GraphQL and the pages all do with them.

mod comments;
mod issues;
pub mod labels;
pub mod reactions;

pub use comments::{add_comment, delete_comment, edit_comment};
pub use issues::{check_words, edit_text, lock, may_be_assigned, open_issue, set_assignees, set_state, unlock};

use serde_json::json;

use crate::http::{ApiError, role_of};
use crate::world::{Id, Issue, RepoRole, World};

/// The longest text GitHub takes as the body of anything.
const LONGEST_BODY_CHARS: usize = 65536;

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

/// The issue or pull request, marked as changed now.
pub fn touch(world: &mut World, repo: Id, number: u64) -> Result<&mut Issue, ApiError> {
    let now = world.now;
    let issue = world.issues.edit(repo, number).ok_or_else(ApiError::not_found)?;
    issue.updated_at = now;
    Ok(issue)
}

/// In a locked conversation only people who may write speak; a bot's rights do not count.
pub fn may_speak(world: &World, actor: Id, issue: &Issue) -> bool {
    !issue.locked
        || world
            .repo(issue.repo)
            .and_then(|repo| role_of(world, repo, actor))
            .is_some_and(|role| role >= RepoRole::Write)
}

/// Whether the text fits, for what was made before (GitHub has other words where it is made).
pub fn check_length(resource: &str, body: &str) -> Result<(), ApiError> {
    if body.chars().count() <= LONGEST_BODY_CHARS {
        return Ok(());
    }
    let mut error = ApiError::unprocessable("Validation Failed");
    error.errors.push(json!({
        "resource": resource,
        "code": "custom",
        "field": "body",
        "message": format!("body is too long (maximum is {LONGEST_BODY_CHARS} characters)"),
    }));
    Err(error)
}
