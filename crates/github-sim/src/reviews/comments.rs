//! Review comments and the threads they form.

use super::{NewComment, NewReview, Verdict, submit};
use crate::conversation::{check_length, reactions, touch};
use crate::http::{ApiError, role_of};
use crate::webhooks::emit::{self, CommentAction, ThreadAction};
use crate::world::{AccountKind, Id, ReactionSubject, RepoRole, ReviewComment, ReviewState, ReviewThread, World};

/// A comment that begins a thread, in a review that is being written.
pub(super) fn add(world: &mut World, repo: Id, review: Id, new: NewComment) -> Result<Id, ApiError> {
    check_body(&new.body)?;
    let review = world.reviews.get(repo, review).ok_or_else(ApiError::not_found)?.clone();
    let (id, thread, now) = (world.next_id(), world.next_id(), world.now);
    let NewComment { spot, body } = new;
    world.review_comments.insert(ReviewComment {
        repo,
        id,
        number: review.number,
        review: review.id,
        thread,
        author: review.author,
        body,
        path: spot.path,
        diff_hunk: spot.diff_hunk,
        commit: review.commit.clone(),
        original_commit: review.commit,
        line: spot.line,
        original_line: spot.line,
        start_line: spot.start_line,
        original_start_line: spot.start_line,
        original_position: spot.position,
        side: spot.side,
        start_side: spot.start_side,
        subject_type: spot.subject.as_str().to_owned(),
        in_reply_to: None,
        created_at: now,
        updated_at: now,
    });
    Ok(id)
}

/// Opens the threads of a review's comments. Nobody sees a thread before its review is submitted, and there is none.
pub(super) fn open_threads(world: &mut World, repo: Id, review: Id) {
    let first: Vec<ReviewComment> = world
        .review_comments
        .within(repo)
        .filter(|comment| comment.review == review && comment.in_reply_to.is_none())
        .cloned()
        .collect();
    for comment in first {
        world.review_threads.insert(ReviewThread {
            repo,
            id: comment.thread,
            number: comment.number,
            path: comment.path,
            line: comment.line,
            original_line: comment.original_line,
            side: comment.side,
            outdated: comment.line.is_none() && comment.original_line.is_some(),
            resolved_by: None,
        });
    }
}

/// Answers in a review thread; the id of the new comment. Each answer is a review of its own, as on GitHub.
pub fn reply(world: &mut World, actor: Id, repo: Id, thread: Id, body: &str) -> Result<Id, ApiError> {
    check_body(body)?;
    world.review_threads.get(repo, thread).ok_or_else(ApiError::not_found)?;
    let of_thread = |comment: &&ReviewComment| comment.thread == thread;
    let first = world.review_comments.within(repo).find(of_thread).ok_or_else(ApiError::not_found)?.clone();
    let commit = world.pulls.get(repo, first.number).ok_or_else(ApiError::not_found)?.head_sha.clone();
    let new = NewReview { body: String::new(), commit, comments: Vec::new() };
    let review = super::start(world, actor, repo, first.number, new)?;
    let (id, now) = (world.next_id(), world.now);
    world.review_comments.insert(ReviewComment {
        id,
        review,
        author: actor,
        body: body.to_owned(),
        in_reply_to: Some(first.in_reply_to.unwrap_or(first.id)),
        created_at: now,
        updated_at: now,
        ..first
    });
    submit(world, actor, repo, review, Verdict::Comment, None)?;
    Ok(id)
}

/// Resolves a thread or opens it again. Who may write to the repository may, and the pull request's author.
pub fn set_resolved(world: &mut World, actor: Id, repo: Id, thread: Id, resolved: bool) -> Result<(), ApiError> {
    let found = world.review_threads.get(repo, thread).ok_or_else(ApiError::not_found)?;
    let number = found.number;
    let writes = world.repo(repo).and_then(|repo| role_of(world, repo, actor)).is_some_and(|it| it >= RepoRole::Write);
    let is_author = world.issues.get(repo, number).is_some_and(|issue| issue.author == actor);
    // An app got here by its permission.
    if !writes && !is_author && world.account(actor).kind != AccountKind::Bot {
        return Err(ApiError::forbidden("Must have write rights to Repository."));
    }
    if found.resolved_by.is_some() == resolved {
        return Ok(());
    }
    world.review_threads.edit(repo, thread).expect("found above").resolved_by = resolved.then_some(actor);
    touch(world, repo, number)?;
    let action = if resolved { ThreadAction::Resolved } else { ThreadAction::Unresolved };
    emit::review_thread(world, repo, thread, actor, action);
    Ok(())
}

pub fn edit_comment(world: &mut World, actor: Id, repo: Id, id: Id, body: &str) -> Result<(), ApiError> {
    check_body(body)?;
    let now = world.now;
    let comment = world.review_comments.edit(repo, id).ok_or_else(ApiError::not_found)?;
    if comment.body == body {
        return Ok(());
    }
    let body_from = std::mem::replace(&mut comment.body, body.to_owned());
    comment.updated_at = now;
    let comment = comment.clone();
    if is_shown(world, &comment) {
        touch(world, repo, comment.number)?;
        emit::review_comment(world, repo, id, actor, CommentAction::Edited { body_from });
    }
    Ok(())
}

pub fn delete_comment(world: &mut World, actor: Id, repo: Id, id: Id) -> Result<(), ApiError> {
    let comment = world.review_comments.get(repo, id).ok_or_else(ApiError::not_found)?.clone();
    if is_shown(world, &comment) {
        touch(world, repo, comment.number)?;
        emit::review_comment(world, repo, id, actor, CommentAction::Deleted);
    }
    remove(world, repo, id);
    Ok(())
}

/// Removes a comment with its reactions, and its thread if nothing is left of it.
pub(super) fn remove(world: &mut World, repo: Id, id: Id) {
    let Some(comment) = world.review_comments.remove(repo, id) else { return };
    reactions::forget(world, repo, ReactionSubject::ReviewComment(id));
    if !world.review_comments.within(repo).any(|other| other.thread == comment.thread) {
        world.review_threads.remove(repo, comment.thread);
    }
}

/// What belongs to a pending review is its author's alone.
pub fn is_shown(world: &World, comment: &ReviewComment) -> bool {
    world.reviews.get(comment.repo, comment.review).is_none_or(|review| review.state != ReviewState::Pending)
}

fn check_body(body: &str) -> Result<(), ApiError> {
    if body.trim().is_empty() {
        return Err(ApiError::validation("PullRequestReviewComment", "body", "missing_field"));
    }
    check_length("PullRequestReviewComment", body)
}
