//! Commit statuses.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;

use crate::Sim;
use crate::checks::{NewStatus, set_status};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Scope};
use crate::present;
use crate::world::{CommitStatus, StatusState};

pub fn routes() -> Router<Sim> {
    Router::new()
        // Reading there is an old name of `commits/{ref}/statuses`, which clients still use.
        .route("/repos/{owner}/{repo}/statuses/{sha}", post(create).get(list))
        .route("/repos/{owner}/{repo}/commits/{ref}/status", get(combined))
        .route("/repos/{owner}/{repo}/commits/{ref}/statuses", get(list))
}

/// GitHub's limit for one context of one commit.
const MOST_STATUSES: usize = 1000;
const DESCRIPTION_LIMIT: usize = 140;
const DEFAULT_CONTEXT: &str = "default";

#[derive(Deserialize)]
struct NewStatusBody {
    state: String,
    target_url: Option<String>,
    description: Option<String>,
    context: Option<String>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, sha)): Path<(String, String, String)>,
    Body(body): Body<NewStatusBody>,
) -> ApiResult {
    let repo =
        sim.read(|world| http::repo(world, &caller, &owner, &name, Scope::Statuses, Level::Write).map(|repo| repo.id))?;
    let state = check(&body)?;
    if !sim.git(repo).has_commit(&sha).await? {
        return Err(ApiError::unprocessable(format!("No commit found for SHA: {sha}")));
    }
    let context = body.context.filter(|context| !context.is_empty()).unwrap_or_else(|| DEFAULT_CONTEXT.to_owned());
    let answer = sim.write(|world| {
        http::repo(world, &caller, &owner, &name, Scope::Statuses, Level::Write)?;
        let same = |status: &&CommitStatus| status.sha == sha && status.context == context;
        if world.statuses.within(repo).filter(same).count() >= MOST_STATUSES {
            return Err(ApiError::validation_message(
                "Status",
                "This SHA and context has reached the maximum number of statuses.",
            ));
        }
        let new = NewStatus {
            sha: sha.to_lowercase(),
            context,
            state,
            description: body.description,
            target_url: body.target_url.filter(|url| !url.is_empty()),
            creator: caller.actor()?,
        };
        let id = set_status(world, repo, new);
        let (repo, status) = (world.repo(repo), world.statuses.get(repo, id));
        let (repo, status) = repo.zip(status).expect("both are there in this transaction");
        Ok(present::status(world, repo, status))
    })?;
    Ok(http::json(201, &answer))
}

fn check(body: &NewStatusBody) -> Result<StatusState, ApiError> {
    let invalid = |field: &str, message: &str| {
        let mut error = ApiError::validation_message("Status", message);
        error.errors[0]["field"] = field.into();
        error
    };
    let state = match body.state.as_str() {
        "error" => StatusState::Error,
        "failure" => StatusState::Failure,
        "pending" => StatusState::Pending,
        "success" => StatusState::Success,
        _ => return Err(invalid("state", "state is not included in the list")),
    };
    if body.description.as_ref().is_some_and(|text| text.chars().count() > DESCRIPTION_LIMIT) {
        return Err(invalid("description", "description is too long (maximum is 140 characters)"));
    }
    let is_web = |url: &str| url.starts_with("http://") || url.starts_with("https://");
    if body.target_url.as_ref().is_some_and(|url| !url.is_empty() && !is_web(url)) {
        return Err(invalid("target_url", "target_url must use http(s) scheme"));
    }
    Ok(state)
}

async fn combined(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, reference)): Path<(String, String, String)>,
    page: Page,
) -> ApiResult {
    let sha = commit_at(&sim, &caller, &owner, &name, &reference).await?;
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Statuses, Level::Read)?;
        let latest = present::latest_statuses(world, repo.id, &sha);
        let shown = &latest[page.range(latest.len())];
        Ok(page.respond(latest.len(), &present::combined_commit_status(world, repo, &sha, &latest, shown)))
    })
}

/// All of them, the newest first.
async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, reference)): Path<(String, String, String)>,
    page: Page,
) -> ApiResult {
    let sha = commit_at(&sim, &caller, &owner, &name, &reference).await?;
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Statuses, Level::Read)?;
        let all: Vec<&CommitStatus> = world.statuses.within(repo.id).rev().filter(|status| status.sha == sha).collect();
        Ok(page.of(&all, |status| present::status(world, repo, status)))
    })
}

async fn commit_at(sim: &Sim, caller: &Caller, owner: &str, name: &str, reference: &str) -> Result<String, ApiError> {
    let repo =
        sim.read(|world| http::repo(world, caller, owner, name, Scope::Statuses, Level::Read).map(|repo| repo.id))?;
    sim.git(repo).resolve(reference).await?.ok_or_else(ApiError::not_found)
}
