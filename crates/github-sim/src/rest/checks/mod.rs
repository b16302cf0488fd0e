//! Check runs and check suites. Only apps may write them.

mod input;
mod runs;
mod suites;

use axum::Router;
use axum::routing::{get, patch, post};

use crate::Sim;
use crate::http::{self, ApiError, Caller, Level, Scope};
use crate::world::Id;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/check-runs", post(runs::create))
        .route("/repos/{owner}/{repo}/check-runs/{check_run_id}", get(runs::get).patch(runs::update))
        .route("/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", get(runs::annotations))
        .route("/repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest", post(runs::rerequest))
        .route("/repos/{owner}/{repo}/commits/{ref}/check-runs", get(runs::list_for_ref))
        .route("/repos/{owner}/{repo}/check-suites", post(suites::create))
        .route("/repos/{owner}/{repo}/check-suites/preferences", patch(suites::set_preferences))
        .route("/repos/{owner}/{repo}/check-suites/{check_suite_id}", get(suites::get))
        .route("/repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs", get(runs::list_for_suite))
        .route("/repos/{owner}/{repo}/check-suites/{check_suite_id}/rerequest", post(suites::rerequest))
        .route("/repos/{owner}/{repo}/commits/{ref}/check-suites", get(suites::list_for_ref))
}

/// The repository, as far as the caller may go with its checks.
fn repo_id(sim: &Sim, caller: &Caller, owner: &str, name: &str, level: Level) -> Result<Id, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, Scope::Checks, level).map(|repo| repo.id))
}

/// The app the caller writes through; people have none.
fn app_of(caller: &Caller) -> Result<Id, ApiError> {
    caller.via_app().ok_or_else(|| ApiError::forbidden("You must authenticate via a GitHub App."))
}

/// The commit that a branch, a tag or a SHA names.
async fn commit_at(sim: &Sim, repo: Id, reference: &str) -> Result<String, ApiError> {
    let found = sim.git(repo).resolve(reference).await?;
    found.ok_or_else(|| ApiError::unprocessable(format!("No commit found for SHA: {reference}")))
}
