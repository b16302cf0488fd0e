//! `/_sim/repos/{owner}/{repo}`: what GitHub lets only its own administrators set.

use axum::Router;
use axum::extract::State;
use axum::routing::patch;
use serde::Deserialize;
use serde_json::json;

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Path};

pub fn routes() -> Router<Sim> {
    Router::new().route("/repos/{owner}/{repo}", patch(update))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    has_pre_receive_hook: Option<bool>,
}

async fn update(
    State(sim): State<Sim>,
    Path((owner, name)): Path<(String, String)>,
    Body(change): Body<Change>,
) -> ApiResult {
    let body = sim.write(|world| {
        let id = world.repo_named(&owner, &name).ok_or_else(ApiError::not_found)?.id;
        let repo = world.repos.edit(0, id).expect("found in this transaction");
        repo.has_pre_receive_hook = change.has_pre_receive_hook.unwrap_or(repo.has_pre_receive_hook);
        Ok(json!({ "id": id, "has_pre_receive_hook": repo.has_pre_receive_hook }))
    })?;
    Ok(http::json(200, &body))
}
