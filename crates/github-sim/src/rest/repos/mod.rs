//! Repositories: making, reading, changing, forking, deleting them.

mod create;
mod facts;
mod forks;
mod lists;
mod settings;
mod update;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use crate::Sim;
use crate::http::{self, ApiResult, Caller, Level, Path, Scope};
use crate::present;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/user/repos", post(create::for_user).get(lists::of_caller))
        .route("/users/{username}/repos", get(lists::of_user))
        .route("/orgs/{org}/repos", post(create::for_org).get(lists::of_org))
        .route("/repos/{owner}/{repo}", get(get_repo).patch(update::update).delete(update::delete))
        .route("/repos/{owner}/{repo}/forks", get(forks::list).post(forks::create))
        .route("/repos/{owner}/{repo}/tags", get(facts::tags))
        .route("/repos/{owner}/{repo}/topics", get(facts::topics).put(facts::set_topics))
        .route("/repos/{owner}/{repo}/languages", get(facts::languages))
        .route("/repos/{owner}/{repo}/contributors", get(facts::contributors))
}

async fn get_repo(State(sim): State<Sim>, caller: Caller, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        Ok(http::json(200, &present::full_repo(world, &caller, repo)))
    })
}
