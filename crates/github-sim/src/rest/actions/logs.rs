//! Logs. The API sends to where they are, which takes no credentials, as GitHub's does not.

use axum::body::Body;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;

use super::{jobs, repo_id};
use crate::Sim;
use crate::ci;
use crate::http::{ApiError, ApiResult, Caller, Level, Path};
use crate::world::{Id, RunStatus};

pub async fn of_job(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let location = sim.read(|world| {
        let (_, job) = jobs::find(world, repo, id)?;
        // A job has no log before it has begun.
        if job.status == RunStatus::Queued { Err(ApiError::not_found()) } else { Ok(ci::log_url(world, id)) }
    })?;
    found(&location)
}

pub async fn of_run(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    of_any_attempt(&sim, &caller, &owner, &name, id, None)
}

pub async fn of_attempt(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id, attempt)): Path<(String, String, Id, u64)>,
) -> ApiResult {
    of_any_attempt(&sim, &caller, &owner, &name, id, Some(attempt))
}

/// Without an attempt, the newest.
fn of_any_attempt(sim: &Sim, caller: &Caller, owner: &str, name: &str, id: Id, attempt: Option<u64>) -> ApiResult {
    let repo = readable(sim, caller, owner, name)?;
    let location = sim.read(|world| {
        let run = world.workflow_runs.get(repo, id).ok_or_else(ApiError::not_found)?;
        let attempt = attempt.unwrap_or(run.run_attempt);
        if !(1..=run.run_attempt).contains(&attempt) {
            return Err(ApiError::not_found());
        }
        Ok(ci::run_logs_url(world, repo, id, attempt))
    })?;
    found(&location)
}

/// GitHub shows nobody's logs to those who did not say who they are.
fn readable(sim: &Sim, caller: &Caller, owner: &str, name: &str) -> Result<Id, ApiError> {
    caller.actor()?;
    repo_id(sim, caller, owner, name, Level::Read)
}

fn found(location: &str) -> ApiResult {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let location = HeaderValue::from_str(location).map_err(|_| ApiError::internal())?;
    response.headers_mut().insert(LOCATION, location);
    Ok(response)
}
