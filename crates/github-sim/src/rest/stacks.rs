//! Stacks of pull requests.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;

use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::world::{Id, Stack, World};
use crate::{Sim, present, pulls};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/stacks", get(list).post(create))
        .route("/repos/{owner}/{repo}/stacks/{stack_number}", get(show))
        .route("/repos/{owner}/{repo}/stacks/{stack_number}/add", post(add))
        .route("/repos/{owner}/{repo}/stacks/{stack_number}/unstack", post(unstack))
}

type At = Path<(String, String, u64)>;

fn repo_id(world: &World, caller: &Caller, owner: &str, name: &str, level: Level) -> Result<Id, ApiError> {
    http::repo(world, caller, owner, name, Scope::PullRequests, level).map(|repo| repo.id)
}

fn find(world: &World, repo: Id, number: u64) -> Result<&Stack, ApiError> {
    world.stacks.get(repo, number).ok_or_else(ApiError::not_found)
}

#[derive(Deserialize)]
struct Filter {
    pull_request: Option<u64>,
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
    Query(filter): Query<Filter>,
) -> ApiResult {
    sim.read(|world| {
        let repo = repo_id(world, &caller, &owner, &name, Level::Read)?;
        let wanted = |stack: &&Stack| filter.pull_request.is_none_or(|number| stack.pulls.contains(&number));
        let stacks: Vec<&Stack> = world.stacks.within(repo).rev().filter(wanted).collect();
        Ok(page.of(&stacks, |stack| present::minimal_stack(world, stack)))
    })
}

async fn show(State(sim): State<Sim>, caller: Caller, Path((owner, name, number)): At) -> ApiResult {
    sim.read(|world| {
        let repo = repo_id(world, &caller, &owner, &name, Level::Read)?;
        Ok(http::json(200, &present::stack(world, find(world, repo, number)?)))
    })
}

#[derive(Deserialize)]
struct Pulls {
    pull_requests: Vec<u64>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(body): Body<Pulls>,
) -> ApiResult {
    sim.write(|world| {
        let repo = repo_id(world, &caller, &owner, &name, Level::Write)?;
        let number = pulls::create_stack(world, repo, &body.pull_requests)?;
        Ok(http::json(201, &present::stack(world, find(world, repo, number)?)))
    })
}

async fn add(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): At,
    Body(body): Body<Pulls>,
) -> ApiResult {
    sim.write(|world| {
        let repo = repo_id(world, &caller, &owner, &name, Level::Write)?;
        pulls::add_to_stack(world, repo, number, &body.pull_requests)?;
        Ok(http::json(200, &present::stack(world, find(world, repo, number)?)))
    })
}

async fn unstack(State(sim): State<Sim>, caller: Caller, Path((owner, name, number)): At) -> ApiResult {
    sim.write(|world| {
        let repo = repo_id(world, &caller, &owner, &name, Level::Write)?;
        if pulls::dissolve(world, repo, number)? {
            Ok(http::json(200, &present::stack(world, find(world, repo, number)?)))
        } else {
            Ok(http::no_content())
        }
    })
}
