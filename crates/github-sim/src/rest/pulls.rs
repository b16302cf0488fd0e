//! Pull requests: opening, reading, listing, editing.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path, Scope};
use crate::present;
use crate::pulls::{self, NewPull};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/pulls", axum::routing::post(create))
        .route("/repos/{owner}/{repo}/pulls/{pull_number}", get(show))
}

#[derive(Deserialize)]
struct Create {
    title: Option<String>,
    head: String,
    head_repo: Option<String>,
    base: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
    maintainer_can_modify: Option<bool>,
    issue: Option<u64>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(body): Body<Create>,
) -> ApiResult {
    let repo = sim.read(|world| {
        http::repo(world, &caller, &owner, &name, Scope::PullRequests, Level::Participate).map(|repo| repo.id)
    })?;
    if body.issue.is_none() && body.title.as_deref().is_none_or(|title| title.trim().is_empty()) {
        return Err(ApiError::validation("PullRequest", "title", "missing_field"));
    }
    let new = NewPull {
        title: body.title,
        body: body.body,
        head: body.head,
        head_repo: body.head_repo,
        base: body.base,
        draft: body.draft,
        maintainer_can_modify: body.maintainer_can_modify.unwrap_or(true),
        issue: body.issue,
    };
    let number = pulls::open(&sim, &caller, repo, new).await?;
    sim.read(|world| {
        let (pull, _) = pulls::find(world, repo, number)?;
        Ok(http::json(201, &present::pull(world, pull)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> ApiResult {
    let repo = sim.read(|world| {
        http::repo(world, &caller, &owner, &name, Scope::PullRequests, Level::Read).map(|repo| repo.id)
    })?;
    pulls::settle(&sim, repo, &[number]).await?;
    sim.read(|world| {
        let (pull, _) = pulls::find(world, repo, number)?;
        Ok(http::json(200, &present::pull(world, pull)))
    })
}
