//! Jobs.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::repo_id;
use crate::Sim;
use crate::checks;
use crate::ci::{self, Which};
use crate::http::{self, ApiError, ApiResult, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::world::{CheckRun, Id, WorkflowRun, World};

#[derive(Deserialize)]
pub struct Filters {
    filter: Option<String>,
}

pub async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
    Query(filters): Query<Filters>,
    page: Page,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    sim.read(|world| {
        let run = world.workflow_runs.get(repo, id).ok_or_else(ApiError::not_found)?;
        let jobs = match filters.filter.as_deref() {
            Some("all") => world.check_runs.within(repo).filter(|job| job.workflow_run == Some(id)).collect(),
            _ => checks::jobs_of(world, repo, id, run.run_attempt),
        };
        list_page(world, run, &jobs, &page)
    })
}

pub async fn list_attempt(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id, attempt)): Path<(String, String, Id, u64)>,
    page: Page,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    sim.read(|world| {
        let run = world.workflow_runs.get(repo, id).ok_or_else(ApiError::not_found)?;
        if attempt == 0 || attempt > run.run_attempt {
            return Err(ApiError::not_found());
        }
        list_page(world, run, &checks::jobs_of(world, repo, id, attempt), &page)
    })
}

fn list_page(world: &World, run: &WorkflowRun, jobs: &[&CheckRun], page: &Page) -> Result<Response, ApiError> {
    let repo = world.repo(run.repo).ok_or_else(ApiError::not_found)?;
    let shown = jobs[page.range(jobs.len())].iter().map(|job| present::job(world, repo, run, job));
    Ok(page.respond(jobs.len(), &json!({ "total_count": jobs.len(), "jobs": shown.collect::<Vec<_>>() })))
}

pub(super) fn find(world: &World, repo: Id, id: Id) -> Result<(&WorkflowRun, &CheckRun), ApiError> {
    let job = world.check_runs.get(repo, id).ok_or_else(ApiError::not_found)?;
    let run = job.workflow_run.and_then(|run| world.workflow_runs.get(repo, run)).ok_or_else(ApiError::not_found)?;
    Ok((run, job))
}

pub async fn get(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Actions, Level::Read)?;
        let (run, job) = find(world, repo.id, id)?;
        Ok(http::json(200, &present::job(world, repo, run, job)))
    })
}

pub async fn rerun(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Actions, Level::Write)?.id;
        let run = find(world, repo, id)?.0.id;
        ci::rerun(world, repo, run, Which::One(id), caller.actor()?)
    })?;
    Ok(http::json(201, &json!({})))
}
