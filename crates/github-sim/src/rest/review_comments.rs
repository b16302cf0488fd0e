//! Review comments: what is said about lines of a pull request's diff.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::comments::Order;
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::reviews::{self, Misplaced, NewComment, NewReview, Place, ReviewedDiff, Subject, Verdict};
use crate::world::{Id, Pull, ReviewComment, Side, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/pulls/comments", get(list_of_repository))
        .route("/repos/{owner}/{repo}/pulls/comments/{comment_id}", get(show).patch(update).delete(remove))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/comments", get(list_of_pull).post(create))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies", post(reply))
}

#[derive(Deserialize)]
struct CreateComment {
    body: String,
    commit_id: Option<String>,
    in_reply_to: Option<Id>,
    #[serde(flatten)]
    place: PlaceFields,
}

/// How requests name a place in a diff.
#[derive(Deserialize)]
pub(super) struct PlaceFields {
    path: Option<String>,
    line: Option<u64>,
    side: Option<Side>,
    start_line: Option<u64>,
    start_side: Option<Side>,
    position: Option<u64>,
    subject_type: Option<String>,
}

impl PlaceFields {
    pub fn into_place(self) -> Result<Place, ApiError> {
        let missing = || ApiError::unprocessable("Invalid request.\n\n\"path\" wasn't supplied.");
        let subject = match self.subject_type.as_deref() {
            None | Some("line") => Subject::Line,
            Some("file") => Subject::File,
            Some(_) => return Err(ApiError::validation("PullRequestReviewComment", "subject_type", "invalid")),
        };
        Ok(Place {
            path: self.path.ok_or_else(missing)?,
            line: self.line,
            side: self.side,
            start_line: self.start_line,
            start_side: self.start_side,
            position: self.position,
            subject,
        })
    }
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(new): Body<CreateComment>,
) -> ApiResult {
    let pull = sim.read(|world| pull_for(world, &caller, &owner, &name, number, Level::Participate).cloned())?;
    if let Some(to) = new.in_reply_to {
        return sim.write(|world| answer(world, &caller, &pull, to, &new.body));
    }
    let commit =
        new.commit_id.ok_or_else(|| ApiError::unprocessable("Invalid request.\n\n\"commit_id\" wasn't supplied."))?;
    let place = new.place.into_place()?;
    let diff = ReviewedDiff::of(&sim, &pull, &commit).await?;
    let diff = diff.ok_or_else(|| problem("commit_id", "custom", Some("commit_id is not part of the pull request")))?;
    let spot = reviews::find_place(&diff.files, &place).map_err(misplaced)?;
    sim.write(|world| {
        pull_for(world, &caller, &owner, &name, number, Level::Participate)?;
        let comments = vec![NewComment { spot, body: new.body }];
        let review = NewReview { body: String::new(), commit, comments };
        let review = reviews::give(world, caller.actor()?, pull.repo, number, review, Verdict::Comment)?;
        let comment = world.review_comments.within(pull.repo).find(|comment| comment.review == review);
        let comment = comment.expect("the review was given with one");
        Ok(http::json(201, &present::review_comment(world, comment)))
    })
}

fn misplaced(misplaced: Misplaced) -> ApiError {
    let thread = |field: &str, code, message| problem(&format!("pull_request_review_thread.{field}"), code, message);
    let mut error = match misplaced {
        Misplaced::Path => thread("path", "invalid", None),
        Misplaced::Line => thread("line", "custom", Some("pull_request_review_thread.line must be part of the diff")),
        Misplaced::Position => thread("position", "invalid", None),
        Misplaced::StartLine => thread(
            "start_line",
            "custom",
            Some("pull_request_review_thread.start_line must be part of the same hunk as the line."),
        ),
        Misplaced::Order => {
            thread("start_line", "custom", Some("pull_request_review_thread.start_line must precede the end line."))
        }
    };
    if matches!(misplaced, Misplaced::Path | Misplaced::Line | Misplaced::Position) {
        error.errors.push(json!({
            "resource": "PullRequestReviewComment",
            "code": "missing_field",
            "field": "pull_request_review_thread.diff_hunk",
        }));
    }
    error
}

fn problem(field: &str, code: &str, message: Option<&str>) -> ApiError {
    let mut error = ApiError::validation("PullRequestReviewComment", field, code);
    if let Some(message) = message {
        error.errors[0]["message"] = message.into();
    }
    error
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

async fn reply(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
    Body(new): Body<Text>,
) -> ApiResult {
    sim.write(|world| {
        let pull = pull_for(world, &caller, &owner, &name, number, Level::Participate)?.clone();
        answer(world, &caller, &pull, id, &new.body)
    })
}

fn answer(world: &mut World, caller: &Caller, pull: &Pull, to: Id, body: &str) -> ApiResult {
    let comment = world.review_comments.get(pull.repo, to).filter(|comment| comment.number == pull.number);
    let thread = comment.ok_or_else(ApiError::not_found)?.thread;
    let id = reviews::reply(world, caller.actor()?, pull.repo, thread, body)?;
    Ok(http::json(201, &shown(world, pull.repo, id)))
}

async fn list_of_pull(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Query(order): Query<Order>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = pull_for(world, &caller, &owner, &name, number, Level::Read)?.repo;
        let of_pull = |comment: &&ReviewComment| comment.number == number && reviews::is_shown(world, comment);
        let mut comments: Vec<&ReviewComment> = world.review_comments.within(repo).filter(of_pull).collect();
        order.apply(&mut comments, |comment| comment.created_at, |comment| comment.updated_at)?;
        Ok(page.of(&comments, |comment| present::review_comment(world, comment)))
    })
}

async fn list_of_repository(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(order): Query<Order>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::PullRequests, Level::Read)?.id;
        let mut comments: Vec<&ReviewComment> =
            world.review_comments.within(repo).filter(|comment| reviews::is_shown(world, comment)).collect();
        order.apply(&mut comments, |comment| comment.created_at, |comment| comment.updated_at)?;
        Ok(page.of(&comments, |comment| present::review_comment(world, comment)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.read(|world| {
        let comment = review_comment_for(world, &caller, &owner, &name, id, Level::Read)?;
        Ok(http::json(200, &present::review_comment(world, comment)))
    })
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
    Body(new): Body<Text>,
) -> ApiResult {
    sim.write(|world| {
        let repo = own_comment(world, &caller, &owner, &name, id)?.repo;
        reviews::edit_comment(world, caller.actor()?, repo, id, &new.body)?;
        Ok(http::json(200, &shown(world, repo, id)))
    })
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = own_comment(world, &caller, &owner, &name, id)?.repo;
        reviews::delete_comment(world, caller.actor()?, repo, id)?;
        Ok(http::no_content())
    })
}

/// The comment, if the caller may see it (a pending one is its author's alone) and do that much with it.
pub(super) fn review_comment_for<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    id: Id,
    level: Level,
) -> Result<&'w ReviewComment, ApiError> {
    let repo = http::repo(world, caller, owner, name, Scope::PullRequests, level)?;
    let sees = |comment: &&ReviewComment| {
        reviews::is_shown(world, comment) || caller.actor().is_ok_and(|actor| actor == comment.author)
    };
    world.review_comments.get(repo.id, id).filter(sees).ok_or_else(ApiError::not_found)
}

/// The comment, if the caller may change it: its author may, and whoever may write to the repository.
fn own_comment<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    id: Id,
) -> Result<&'w ReviewComment, ApiError> {
    let comment = review_comment_for(world, caller, owner, name, id, Level::Participate)?;
    let writes = http::repo(world, caller, owner, name, Scope::PullRequests, Level::Write).is_ok();
    if writes || comment.author == caller.actor()? {
        Ok(comment)
    } else {
        Err(ApiError::forbidden("Must have admin rights to Repository."))
    }
}

/// The pull request, if the caller may see it and do that much with it.
pub(super) fn pull_for<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    number: u64,
    level: Level,
) -> Result<&'w Pull, ApiError> {
    let repo = http::repo(world, caller, owner, name, Scope::PullRequests, level)?;
    world.pulls.get(repo.id, number).ok_or_else(ApiError::not_found)
}

fn shown(world: &World, repo: Id, id: Id) -> Value {
    present::review_comment(world, world.review_comments.get(repo, id).expect("written in this transaction"))
}
