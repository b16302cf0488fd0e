//! `/_sim/logs`: what jobs printed, where the API's redirects lead.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use axum::routing::get;

use crate::http::{ApiError, ApiResult, Path};
use crate::world::Id;
use crate::{Sim, checks, ci};

pub fn routes() -> Router<Sim> {
    Router::new().route("/logs/{job_id}", get(of_job)).route("/logs/{repo_id}/{run_id}/{archive}", get(of_attempt))
}

async fn of_job(State(sim): State<Sim>, Path(job): Path<Id>) -> ApiResult {
    match tokio::fs::read(sim.log_path(job)).await {
        Ok(text) => Ok(respond(text, "text/plain; charset=utf-8")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(ApiError::not_found()),
        Err(error) => Err(error.into()),
    }
}

/// A zip archive with a file for each job, as GitHub names them.
async fn of_attempt(State(sim): State<Sim>, Path((repo, run, archive)): Path<(Id, Id, String)>) -> ApiResult {
    let attempt =
        archive.strip_suffix(".zip").and_then(|number| number.parse().ok()).ok_or_else(ApiError::not_found)?;
    let jobs: Vec<(Id, String)> = sim.read(|world| {
        checks::jobs_of(world, repo, run, attempt).into_iter().map(|job| (job.id, job.name.clone())).collect()
    });
    let mut files = Vec::new();
    for (at, (id, name)) in jobs.into_iter().enumerate() {
        // A job that has not begun has printed nothing.
        let text = tokio::fs::read(sim.log_path(id)).await.unwrap_or_default();
        files.push((format!("{at}_{}.txt", name.replace(['/', '\\', ':'], "")), text));
    }
    if files.is_empty() {
        return Err(ApiError::not_found());
    }
    Ok(respond(ci::archive(&files), "application/zip"))
}

fn respond(body: Vec<u8>, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
