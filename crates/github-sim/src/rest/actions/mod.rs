//! GitHub Actions, as far as the simulator's CI is one: a workflow per repository, its runs, their jobs and logs.

mod jobs;
mod logs;
mod runs;
mod workflows;

use axum::Router;
use axum::routing::{get, post};

use crate::Sim;
use crate::http::{self, ApiError, Caller, Level, Scope};
use crate::world::Id;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/actions/runs", get(runs::list))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}", get(runs::get))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}", get(runs::get_attempt))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/cancel", post(runs::cancel))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/force-cancel", post(runs::cancel))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/rerun", post(runs::rerun))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs", post(runs::rerun_failed))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts", get(runs::artifacts))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/logs", get(logs::of_run))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/logs", get(logs::of_attempt))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", get(jobs::list))
        .route("/repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}/jobs", get(jobs::list_attempt))
        .route("/repos/{owner}/{repo}/actions/jobs/{job_id}", get(jobs::get))
        .route("/repos/{owner}/{repo}/actions/jobs/{job_id}/logs", get(logs::of_job))
        .route("/repos/{owner}/{repo}/actions/jobs/{job_id}/rerun", post(jobs::rerun))
        .route("/repos/{owner}/{repo}/actions/workflows", get(workflows::list))
        .route("/repos/{owner}/{repo}/actions/workflows/{workflow_id}", get(workflows::get))
        .route("/repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs", get(workflows::runs))
}

/// The repository, as far as the caller may go with its workflows.
fn repo_id(sim: &Sim, caller: &Caller, owner: &str, name: &str, level: Level) -> Result<Id, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, Scope::Actions, level).map(|repo| repo.id))
}
