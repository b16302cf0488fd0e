//! Repositories: making, reading, changing, deleting them.

mod create;
mod settings;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use crate::Sim;
use crate::http::{self, ApiResult, Caller, Level, Path, Scope};
use crate::present;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/user/repos", post(create::for_user))
        .route("/orgs/{org}/repos", post(create::for_org))
        .route("/repos/{owner}/{repo}", get(get_repo))
}

async fn get_repo(State(sim): State<Sim>, caller: Caller, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        Ok(http::json(200, &present::full_repo(world, &caller, repo)))
    })
}
