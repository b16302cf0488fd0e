//! Comments.

use serde_json::json;

use super::{LONGEST_BODY_CHARS, check_length, may_speak, touch};
use crate::http::ApiError;
use crate::webhooks::emit::{self, CommentAction};
use crate::world::{Comment, Id, World};

/// Comments on an issue or pull request; the id of the new comment.
pub fn add_comment(
    world: &mut World,
    actor: Id,
    via_app: Option<Id>,
    repo: Id,
    number: u64,
    body: &str,
) -> Result<Id, ApiError> {
    let issue = world.issues.get(repo, number).ok_or_else(ApiError::not_found)?;
    if !may_speak(world, actor, issue) {
        return Err(ApiError::forbidden("Unable to create comment because issue is locked."));
    }
    if body.trim().is_empty() {
        return Err(unprocessable("Body cannot be blank".into()));
    }
    if body.chars().count() > LONGEST_BODY_CHARS {
        return Err(unprocessable(format!("Body is too long (maximum is {LONGEST_BODY_CHARS} characters)")));
    }
    touch(world, repo, number)?;
    let (id, now) = (world.next_id(), world.now);
    world.comments.insert(Comment {
        repo,
        id,
        number,
        author: actor,
        via_app,
        body: body.to_owned(),
        created_at: now,
        updated_at: now,
        editor: None,
    });
    emit::issue_comment(world, repo, id, actor, CommentAction::Created);
    Ok(id)
}

/// Gives a comment another text. Whether the actor may is for the caller to know.
pub fn edit_comment(world: &mut World, actor: Id, repo: Id, id: Id, body: &str) -> Result<(), ApiError> {
    if body.trim().is_empty() {
        return Err(ApiError::validation("IssueComment", "body", "missing_field"));
    }
    check_length("IssueComment", body)?;
    let now = world.now;
    let comment = world.comments.edit(repo, id).ok_or_else(ApiError::not_found)?;
    if comment.body == body {
        return Ok(());
    }
    let body_from = std::mem::replace(&mut comment.body, body.to_owned());
    comment.updated_at = now;
    comment.editor = Some(actor);
    let number = comment.number;
    touch(world, repo, number)?;
    emit::issue_comment(world, repo, id, actor, CommentAction::Edited { body_from });
    Ok(())
}

/// Removes a comment and its reactions.
pub fn delete_comment(world: &mut World, actor: Id, repo: Id, id: Id) -> Result<(), ApiError> {
    let number = world.comments.get(repo, id).ok_or_else(ApiError::not_found)?.number;
    touch(world, repo, number)?;
    emit::issue_comment(world, repo, id, actor, CommentAction::Deleted);
    super::reactions::forget(world, repo, crate::world::ReactionSubject::Comment(id));
    world.comments.remove(repo, id);
    Ok(())
}

/// GitHub's words where a comment is made.
fn unprocessable(message: String) -> ApiError {
    let mut error = ApiError::unprocessable("Validation Failed");
    error
        .errors
        .push(json!({ "resource": "IssueComment", "code": "unprocessable", "field": "data", "message": message }));
    error
}
