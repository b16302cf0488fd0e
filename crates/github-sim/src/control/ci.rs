//! `/_sim/repos/{owner}/{repo}/ci`: the checks that run; `…/checks`: checks set by hand.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;

use crate::Sim;
use crate::checks::branch_of;
use crate::ci::{self, HandSet, Verdict};
use crate::http::{self, ApiError, ApiResult, Body, Path, Query};
use crate::world::{Annotation, CheckReport, CiDefinition, Output, Repo, RunConclusion, RunStatus, StatusState, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/ci", get(show).put(define).delete(remove))
        .route("/repos/{owner}/{repo}/checks", post(set))
}

fn repo_named<'w>(world: &'w World, owner: &str, name: &str) -> Result<&'w Repo, ApiError> {
    world.repo_named(owner, name).ok_or_else(ApiError::not_found)
}

async fn show(State(sim): State<Sim>, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    sim.read(|world| {
        let ci = repo_named(world, &owner, &name)?.ci.as_ref().ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &json!(ci)))
    })
}

#[derive(Deserialize)]
struct DefineQuery {
    run: Option<String>,
}

/// For what is pushed from now on; `?run=heads` also for what the default branch and open pull requests are at.
async fn define(
    State(sim): State<Sim>,
    Path((owner, name)): Path<(String, String)>,
    Query(query): Query<DefineQuery>,
    Body(definition): Body<CiDefinition>,
) -> ApiResult {
    ci::check_definition(&definition)?;
    let run_heads = match query.run.as_deref() {
        None => false,
        Some("heads") => true,
        Some(other) => {
            return Err(ApiError::unprocessable(format!("`run` may be `heads`, not {other:?}.")));
        }
    };
    let answer = json!(definition);
    sim.write(|world| {
        let repo = repo_named(world, &owner, &name)?.id;
        world.repos.edit(0, repo).expect("found above").ci = Some(definition);
        if run_heads {
            ci::enqueue_for_heads(world, repo);
        }
        Ok(())
    })?;
    Ok(http::json(200, &answer))
}

/// What is queued or runs is carried out.
async fn remove(State(sim): State<Sim>, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    sim.write(|world| {
        let repo = repo_named(world, &owner, &name)?.id;
        world.repos.edit(0, repo).expect("found above").ci = None;
        Ok(())
    })?;
    Ok(http::no_content())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetBody {
    /// One of these three says which commit.
    sha: Option<String>,
    branch: Option<String>,
    pull: Option<u64>,
    name: String,
    /// One of these three says what; a status is one that has not ended.
    conclusion: Option<RunConclusion>,
    status: Option<RunStatus>,
    state: Option<StatusState>,
    report: Option<CheckReport>,
    title: Option<String>,
    summary: Option<String>,
    log: Option<String>,
    #[serde(default)]
    annotations: Vec<SetAnnotation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetAnnotation {
    path: String,
    #[serde(alias = "line")]
    start_line: u64,
    end_line: Option<u64>,
    #[serde(default = "failure")]
    annotation_level: String,
    title: Option<String>,
    message: String,
}

fn failure() -> String {
    "failure".into()
}

async fn set(
    State(sim): State<Sim>,
    Path((owner, name)): Path<(String, String)>,
    Body(body): Body<SetBody>,
) -> ApiResult {
    let verdict = verdict(&body)?;
    if body.name.trim().is_empty() {
        return Err(ApiError::validation("Check", "name", "missing_field"));
    }
    let (repo, actor, sha) = sim.read(|world| {
        let repo = repo_named(world, &owner, &name)?;
        Ok::<_, ApiError>((repo.id, repo.owner, named_commit(world, repo, &body)?))
    })?;
    let unknown = || ApiError::unprocessable(format!("No commit found for SHA: {sha}"));
    let sha = sim.git(repo).commit(&sha).await?.ok_or_else(unknown)?.sha;
    let output = Output {
        title: body.title,
        summary: body.summary,
        text: None,
        annotations: body.annotations.into_iter().map(annotation).collect(),
    };
    let set = sim.write(|world| {
        let default = repo_named(world, &owner, &name)?.default_branch.clone();
        let on_pull = body.pull.and_then(|number| world.pulls.get(repo, number)).map(|pull| pull.head_ref.clone());
        let branch = body.branch.or(on_pull).or_else(|| branch_of(world, repo, &sha)).unwrap_or(default);
        let set = HandSet { repo, sha, branch, name: body.name, verdict, report: body.report, output, actor };
        Ok(ci::set_by_hand(world, set))
    })?;
    let path = sim.log_path(set.log);
    // Every job has a log, and what it printed before it was set by hand stays.
    if body.log.is_some() || !tokio::fs::try_exists(&path).await? {
        tokio::fs::write(&path, body.log.unwrap_or_default()).await?;
    }
    Ok(http::json(201, &json!({ "check_run_id": set.check_run, "status_id": set.status, "log_id": set.log })))
}

fn named_commit(world: &World, repo: &Repo, body: &SetBody) -> Result<String, ApiError> {
    match (&body.sha, &body.branch, body.pull) {
        (Some(sha), None, None) => Ok(sha.clone()),
        (None, Some(branch), None) => world
            .branch(repo.id, branch)
            .cloned()
            .ok_or_else(|| ApiError::unprocessable(format!("There is no branch {branch:?}."))),
        (None, None, Some(number)) => world
            .pulls
            .get(repo.id, number)
            .map(|pull| pull.head_sha.clone())
            .ok_or_else(|| ApiError::unprocessable(format!("There is no pull request {number}."))),
        _ => Err(ApiError::unprocessable("Give exactly one of `sha`, `branch` and `pull`.")),
    }
}

fn verdict(body: &SetBody) -> Result<Verdict, ApiError> {
    let ended = |conclusion, state| Verdict { status: RunStatus::Completed, conclusion: Some(conclusion), state };
    let open = |status| Verdict { status, conclusion: None, state: StatusState::Pending };
    match (body.conclusion, body.status, body.state) {
        // Only GitHub itself says these, of suites.
        (Some(RunConclusion::Stale | RunConclusion::StartupFailure), ..) => {
            Err(ApiError::validation("Check", "conclusion", "invalid"))
        }
        (Some(conclusion), None | Some(RunStatus::Completed), None) => Ok(ended(conclusion, ci::state_of(conclusion))),
        (None, Some(RunStatus::Completed), None) => Err(ApiError::unprocessable("A completed check has a conclusion.")),
        (None, Some(status), None) => Ok(open(status)),
        (None, None, Some(state)) => Ok(match state {
            StatusState::Success => ended(RunConclusion::Success, state),
            StatusState::Failure | StatusState::Error => ended(RunConclusion::Failure, state),
            StatusState::Pending => open(RunStatus::InProgress),
        }),
        _ => Err(ApiError::unprocessable("Give exactly one of `conclusion`, `status` and `state`.")),
    }
}

fn annotation(body: SetAnnotation) -> Annotation {
    Annotation {
        path: body.path,
        start_line: body.start_line,
        end_line: body.end_line.unwrap_or(body.start_line),
        start_column: None,
        end_column: None,
        annotation_level: body.annotation_level,
        title: body.title,
        message: body.message,
        raw_details: None,
    }
}
