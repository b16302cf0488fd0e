//! Reviews and review threads: what REST, GraphQL and the pages all do with them.

mod comments;
mod diff;
mod place;

pub use comments::{delete_comment, edit_comment, is_shown, reply, set_resolved};
pub use diff::ReviewedDiff;
pub use place::{Misplaced, Place, Spot, Subject, find as find_place};

use serde_json::json;

use crate::conversation::{check_length, may_speak, note_event, touch};
use crate::http::ApiError;
use crate::webhooks::emit::{self, CommentAction, ReviewAction};
use crate::world::{Id, Review, ReviewState, Sha, World};

/// What a submitted review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Approve,
    RequestChanges,
    Comment,
}

impl Verdict {
    /// GitHub's `event`.
    pub fn parse(event: &str) -> Option<Self> {
        Some(match event {
            "APPROVE" => Self::Approve,
            "REQUEST_CHANGES" => Self::RequestChanges,
            "COMMENT" => Self::Comment,
            _ => return None,
        })
    }

    fn state(self) -> ReviewState {
        match self {
            Self::Approve => ReviewState::Approved,
            Self::RequestChanges => ReviewState::ChangesRequested,
            Self::Comment => ReviewState::Commented,
        }
    }
}

pub struct NewReview {
    pub body: String,
    /// The commit that was looked at.
    pub commit: Sha,
    pub comments: Vec<NewComment>,
}

/// A comment on a place that was found in the diff.
pub struct NewComment {
    pub spot: Spot,
    pub body: String,
}

/// Begins a review, which its author alone sees until it is submitted; its id.
pub fn begin(world: &mut World, actor: Id, repo: Id, number: u64, new: NewReview) -> Result<Id, ApiError> {
    let is_pending =
        |review: &Review| review.number == number && review.author == actor && review.state == ReviewState::Pending;
    if world.reviews.within(repo).any(is_pending) {
        return Err(refused("User can only have one pending review per pull request"));
    }
    start(world, actor, repo, number, new)
}

/// Begins and submits in one go; the review's id.
pub fn give(
    world: &mut World,
    actor: Id,
    repo: Id,
    number: u64,
    new: NewReview,
    verdict: Verdict,
) -> Result<Id, ApiError> {
    let id = start(world, actor, repo, number, new)?;
    submit(world, actor, repo, id, verdict, None)?;
    Ok(id)
}

fn start(world: &mut World, actor: Id, repo: Id, number: u64, new: NewReview) -> Result<Id, ApiError> {
    world.pulls.get(repo, number).ok_or_else(ApiError::not_found)?;
    let issue = world.issues.get(repo, number).ok_or_else(ApiError::not_found)?;
    if !may_speak(world, actor, issue) {
        return Err(ApiError::forbidden("Unable to create review because issue is locked."));
    }
    check_length("PullRequestReview", &new.body)?;
    let (id, now) = (world.next_id(), world.now);
    world.reviews.insert(Review {
        repo,
        id,
        number,
        author: actor,
        body: new.body,
        state: ReviewState::Pending,
        commit: new.commit,
        submitted_at: None,
        created_at: now,
        updated_at: now,
        edited: None,
    });
    for comment in new.comments {
        comments::add(world, repo, id, comment)?;
    }
    Ok(id)
}

/// Submits a pending review. Whoever was asked for one is no longer asked.
pub fn submit(
    world: &mut World,
    actor: Id,
    repo: Id,
    id: Id,
    verdict: Verdict,
    body: Option<&str>,
) -> Result<(), ApiError> {
    let now = world.now;
    let review = world.reviews.edit(repo, id).ok_or_else(ApiError::not_found)?;
    if review.state != ReviewState::Pending {
        return Err(refused("Can not submit a review that has already been submitted"));
    }
    if let Some(body) = body {
        check_length("PullRequestReview", body)?;
        body.clone_into(&mut review.body);
    }
    review.state = verdict.state();
    review.submitted_at = Some(now);
    review.updated_at = now;
    let (number, says_nothing) = (review.number, review.body.trim().is_empty());
    let comments: Vec<Id> =
        world.review_comments.within(repo).filter(|comment| comment.review == id).map(|found| found.id).collect();
    if world.issues.get(repo, number).is_some_and(|issue| issue.author == actor) {
        match verdict {
            Verdict::Approve => return Err(refused("Review Can not approve your own pull request")),
            Verdict::RequestChanges => return Err(refused("Review Can not request changes on your own pull request")),
            Verdict::Comment => {}
        }
    }
    if says_nothing && comments.is_empty() {
        match verdict {
            Verdict::Approve => {}
            Verdict::RequestChanges => {
                return Err(refused("You need to leave a comment indicating the requested changes."));
            }
            Verdict::Comment => return Err(refused("Review body can't be blank")),
        }
    }
    if let Some(pull) = world.pulls.edit(repo, number) {
        pull.requested_reviewers.retain(|reviewer| *reviewer != actor);
    }
    comments::open_threads(world, repo, id);
    touch(world, repo, number)?;
    emit::review(world, repo, id, actor, ReviewAction::Submitted);
    for comment in comments {
        emit::review_comment(world, repo, comment, actor, CommentAction::Created);
    }
    Ok(())
}

/// Gives a review another text.
pub fn edit_body(world: &mut World, actor: Id, repo: Id, id: Id, body: &str) -> Result<(), ApiError> {
    if body.trim().is_empty() {
        return Err(refused("Review body can't be blank"));
    }
    check_length("PullRequestReview", body)?;
    let now = world.now;
    let review = world.reviews.edit(repo, id).ok_or_else(ApiError::not_found)?;
    if review.body == body {
        return Ok(());
    }
    let body_from = std::mem::replace(&mut review.body, body.to_owned());
    review.updated_at = now;
    let (number, pending) = (review.number, review.state == ReviewState::Pending);
    if !pending {
        review.edited = Some((now, actor));
        touch(world, repo, number)?;
        emit::review(world, repo, id, actor, ReviewAction::Edited { body_from });
    }
    Ok(())
}

/// Takes away what an approval or a request for changes counts.
pub fn dismiss(world: &mut World, actor: Id, repo: Id, id: Id, message: &str) -> Result<(), ApiError> {
    if message.trim().is_empty() {
        return Err(refused("Message can't be blank"));
    }
    let now = world.now;
    let review = world.reviews.edit(repo, id).ok_or_else(ApiError::not_found)?;
    let was = review.state.as_str().to_lowercase();
    if !matches!(review.state, ReviewState::Approved | ReviewState::ChangesRequested) {
        return Err(refused(&format!("Can not dismiss a {was} pull request review")));
    }
    review.state = ReviewState::Dismissed;
    review.updated_at = now;
    let number = review.number;
    touch(world, repo, number)?;
    let dismissed = json!({ "state": was, "review_id": id, "dismissal_message": message });
    note_event(world, repo, number, actor, "review_dismissed", json!({ "dismissed_review": dismissed }));
    emit::review(world, repo, id, actor, ReviewAction::Dismissed);
    Ok(())
}

/// Throws a pending review away, with its comments.
pub fn delete_pending(world: &mut World, repo: Id, id: Id) -> Result<Review, ApiError> {
    let review = world.reviews.get(repo, id).ok_or_else(ApiError::not_found)?;
    if review.state != ReviewState::Pending {
        return Err(refused("Can not delete a non-pending pull request review"));
    }
    let comments: Vec<Id> =
        world.review_comments.within(repo).filter(|comment| comment.review == id).map(|found| found.id).collect();
    for comment in comments {
        comments::remove(world, repo, comment);
    }
    world.reviews.remove(repo, id).ok_or_else(ApiError::not_found)
}

/// GitHub's 422 for reviews: a sentence.
pub fn refused(reason: &str) -> ApiError {
    let mut error = ApiError::unprocessable("Unprocessable Entity");
    error.errors.push(reason.into());
    error
}

/// Why a review cannot be given: one of its comments stands nowhere.
pub fn unresolved(misplaced: Misplaced) -> ApiError {
    refused(match misplaced {
        Misplaced::Path => "Path could not be resolved",
        Misplaced::Line => "Line could not be resolved",
        Misplaced::Position => "Position could not be resolved",
        Misplaced::StartLine => "Start line could not be resolved",
        Misplaced::Order => "Pull request review thread start line must precede the end line.",
    })
}
