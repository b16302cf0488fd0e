//! What happened to issues and pull requests.

use axum::Router;
use axum::extract::State;
use axum::routing::get;

use super::issue_for;
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Caller, Level, Page, Path, Scope};
use crate::present;
use crate::world::{Id, IssueEvent};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/issues/events", get(list_of_repository))
        .route("/repos/{owner}/{repo}/issues/events/{event_id}", get(show))
        .route("/repos/{owner}/{repo}/issues/{issue_number}/events", get(list_of_issue))
        .route("/repos/{owner}/{repo}/issues/{issue_number}/timeline", get(timeline))
}

async fn list_of_repository(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let events: Vec<&IssueEvent> = world.issue_events.within(repo.id).rev().collect();
        Ok(page.of(&events, |event| present::issue_event_with_issue(world, event)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let event = world.issue_events.get(repo.id, id).ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &present::issue_event_with_issue(world, event)))
    })
}

async fn list_of_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Read)?.repo;
        let events: Vec<&IssueEvent> = world.issue_events.within(repo).filter(|event| event.number == number).collect();
        Ok(page.of(&events, |event| present::issue_event(world, event)))
    })
}

async fn timeline(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Read)?.repo;
        Ok(page.of(&present::timeline(world, repo, number), Clone::clone))
    })
}
