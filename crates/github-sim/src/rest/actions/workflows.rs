//! Workflows: a repository has one as soon as it has a CI definition or a run.

use axum::extract::State;
use serde_json::json;

use super::{repo_id, runs};
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::world::{Repo, World};

pub async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Actions, Level::Read)?;
        let all: Vec<_> = has_one(world, repo).then(|| present::workflow(world, repo)).into_iter().collect();
        let shown = &all[page.range(all.len())];
        Ok(page.respond(all.len(), &json!({ "total_count": all.len(), "workflows": shown })))
    })
}

fn has_one(world: &World, repo: &Repo) -> bool {
    repo.ci.is_some() || world.workflow_runs.within(repo.id).next().is_some()
}

/// By its id or by the name of its file.
fn named(world: &World, repo: &Repo, workflow: &str) -> Result<(), ApiError> {
    let file = present::WORKFLOW_PATH.rsplit('/').next().unwrap_or_default();
    let matches = workflow == file || workflow.parse() == Ok(repo.id);
    if matches && has_one(world, repo) { Ok(()) } else { Err(ApiError::not_found()) }
}

pub async fn get(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, workflow)): Path<(String, String, String)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Actions, Level::Read)?;
        named(world, repo, &workflow)?;
        Ok(http::json(200, &present::workflow(world, repo)))
    })
}

pub async fn runs(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, workflow)): Path<(String, String, String)>,
    Query(filters): Query<runs::Filters>,
    page: Page,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    sim.read(|world| named(world, world.repo(repo).ok_or_else(ApiError::not_found)?, &workflow))?;
    runs::list_page(&sim, repo, &filters, &page).await
}
