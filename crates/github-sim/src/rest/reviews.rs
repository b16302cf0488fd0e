//! Reviews of pull requests.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post, put};
use serde::Deserialize;

use super::review_comments::{PlaceFields, pull_for};
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path};
use crate::present;
use crate::reviews::{self, NewComment, NewReview, ReviewedDiff, Verdict, refused};
use crate::world::{Id, Review, ReviewComment, ReviewState, World};

pub fn routes() -> Router<Sim> {
    let reviews = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews";
    let review = "/repos/{owner}/{repo}/pulls/{pull_number}/reviews/{review_id}";
    Router::new()
        .route(reviews, get(list).post(create))
        .route(review, get(show).put(update).delete(remove))
        .route(&format!("{review}/comments"), get(comments))
        .route(&format!("{review}/events"), post(submit))
        .route(&format!("{review}/dismissals"), put(dismiss))
}

#[derive(Deserialize)]
struct CreateReview {
    commit_id: Option<String>,
    body: Option<String>,
    event: Option<String>,
    comments: Option<Vec<DraftComment>>,
}

#[derive(Deserialize)]
struct DraftComment {
    body: String,
    #[serde(flatten)]
    place: PlaceFields,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(new): Body<CreateReview>,
) -> ApiResult {
    let pull = sim.read(|world| pull_for(world, &caller, &owner, &name, number, Level::Participate).cloned())?;
    let verdict = verdict(new.event.as_deref())?;
    let drafts = new.comments.unwrap_or_default();
    let commit = new.commit_id.unwrap_or_else(|| pull.head_sha.clone());
    let mut placed = Vec::new();
    if !drafts.is_empty() || commit != pull.head_sha {
        let diff = ReviewedDiff::of(&sim, &pull, &commit).await?;
        let diff = diff.ok_or_else(|| refused("commit_id is not part of the pull request"))?;
        for draft in drafts {
            let spot = reviews::find_place(&diff.files, &draft.place.into_place()?).map_err(reviews::unresolved)?;
            placed.push(NewComment { spot, body: draft.body });
        }
    }
    sim.write(|world| {
        pull_for(world, &caller, &owner, &name, number, Level::Participate)?;
        let new = NewReview { body: new.body.unwrap_or_default(), commit, comments: placed };
        let actor = caller.actor()?;
        let id = match verdict {
            Some(verdict) => reviews::give(world, actor, pull.repo, number, new, verdict)?,
            None => reviews::begin(world, actor, pull.repo, number, new)?,
        };
        Ok(http::json(200, &shown(world, pull.repo, id)))
    })
}

/// An empty or missing `event` leaves the review pending.
fn verdict(event: Option<&str>) -> Result<Option<Verdict>, ApiError> {
    match event {
        None | Some("" | "PENDING") => Ok(None),
        Some(event) => Verdict::parse(event).map(Some).ok_or_else(|| {
            ApiError::validation_message(
                "PullRequestReview",
                "Variable $event of type PullRequestReviewEvent was provided invalid value",
            )
        }),
    }
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = pull_for(world, &caller, &owner, &name, number, Level::Read)?.repo;
        let mut found: Vec<&Review> =
            world.reviews.within(repo).filter(|review| review.number == number && sees(&caller, review)).collect();
        // Pending ones last; the rest as they were submitted.
        found.sort_by_key(|review| (review.submitted_at.is_none(), review.submitted_at, review.id));
        Ok(page.of(&found, |review| present::review(world, review)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
) -> ApiResult {
    sim.read(|world| {
        let review = review_for(world, &caller, &owner, &name, number, id, Level::Read)?;
        Ok(http::json(200, &present::review(world, review)))
    })
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
    Body(new): Body<Text>,
) -> ApiResult {
    sim.write(|world| {
        let repo = own_review(world, &caller, &owner, &name, number, id)?.repo;
        reviews::edit_body(world, caller.actor()?, repo, id, &new.body)?;
        Ok(http::json(200, &shown(world, repo, id)))
    })
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = own_review(world, &caller, &owner, &name, number, id)?.repo;
        let gone = reviews::delete_pending(world, repo, id)?;
        Ok(http::json(200, &present::review(world, &gone)))
    })
}

async fn comments(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = review_for(world, &caller, &owner, &name, number, id, Level::Read)?.repo;
        let found: Vec<&ReviewComment> =
            world.review_comments.within(repo).filter(|comment| comment.review == id).collect();
        Ok(page.of(&found, |comment| present::review_comment(world, comment)))
    })
}

#[derive(Deserialize)]
struct Submission {
    event: String,
    body: Option<String>,
}

async fn submit(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
    Body(new): Body<Submission>,
) -> ApiResult {
    let verdict = verdict(Some(&new.event))?.ok_or_else(|| refused("Event can't be blank"))?;
    sim.write(|world| {
        let repo = own_review(world, &caller, &owner, &name, number, id)?.repo;
        reviews::submit(world, caller.actor()?, repo, id, verdict, new.body.as_deref())?;
        Ok(http::json(200, &shown(world, repo, id)))
    })
}

#[derive(Deserialize)]
struct Dismissal {
    message: String,
}

async fn dismiss(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, id)): Path<(String, String, u64, Id)>,
    Body(new): Body<Dismissal>,
) -> ApiResult {
    sim.write(|world| {
        let repo = review_for(world, &caller, &owner, &name, number, id, Level::Write)?.repo;
        reviews::dismiss(world, caller.actor()?, repo, id, &new.message)?;
        Ok(http::json(200, &shown(world, repo, id)))
    })
}

/// A pending review is its author's alone.
fn sees(caller: &Caller, review: &Review) -> bool {
    review.state != ReviewState::Pending || caller.actor().is_ok_and(|actor| actor == review.author)
}

fn review_for<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    number: u64,
    id: Id,
    level: Level,
) -> Result<&'w Review, ApiError> {
    let repo = pull_for(world, caller, owner, name, number, level)?.repo;
    let found = world.reviews.get(repo, id).filter(|review| review.number == number && sees(caller, review));
    found.ok_or_else(ApiError::not_found)
}

fn own_review<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    number: u64,
    id: Id,
) -> Result<&'w Review, ApiError> {
    let review = review_for(world, caller, owner, name, number, id, Level::Participate)?;
    if review.author == caller.actor()? {
        Ok(review)
    } else {
        Err(ApiError::forbidden("Must be the review's author to change it."))
    }
}

fn shown(world: &World, repo: Id, id: Id) -> serde_json::Value {
    present::review(world, world.reviews.get(repo, id).expect("written in this transaction"))
}
