//! Check runs.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::input::{RunBody, missing, parse_status};
use super::{app_of, commit_at, repo_id};
use crate::Sim;
use crate::checks::{self, NewRun, NewSuite};
use crate::ci::{self, Which};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::setup::ACTIONS_APP_ID;
use crate::webhooks::emit::{self, CheckRunAction};
use crate::world::{CheckRun, Id, Repo, World};

pub async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(mut body): Body<RunBody>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Write)?;
    let app = app_of(&caller)?;
    let run_name = body.name.take().filter(|name| !name.is_empty()).ok_or_else(|| missing("name"))?;
    let sha = body.head_sha.take().ok_or_else(|| missing("head_sha"))?;
    let change = body.into_change()?;
    if !sim.git(repo).has_commit(&sha).await? {
        return Err(ApiError::unprocessable(format!("No commit found for SHA: {sha}")));
    }
    let answer = sim.write(|world| {
        http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Write)?;
        let sender = caller.actor()?;
        let suite = checks::suite_of(world, repo, app, &sha).unwrap_or_else(|| {
            let head_branch = checks::branch_of(world, repo, &sha);
            checks::create_suite(world, repo, NewSuite { app, head_sha: sha, head_branch, before: None }, sender)
        });
        let new = NewRun { name: run_name, change, ..NewRun::default() };
        let id = checks::create_run(world, repo, suite, new, sender);
        show(world, repo, id)
    })?;
    Ok(http::json(201, &answer))
}

pub async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
    Body(body): Body<RunBody>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Write)?;
    let app = app_of(&caller)?;
    let change = body.into_change()?;
    let answer = sim.write(|world| {
        http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Write)?;
        let run = world.check_runs.get(repo, id).ok_or_else(ApiError::not_found)?;
        if run.app != app {
            return Err(ApiError::forbidden(format!(
                "Invalid app_id `{app}` - check run can only be modified by the GitHub App that created it."
            )));
        }
        checks::update_run(world, repo, id, change, caller.actor()?);
        show(world, repo, id)
    })?;
    Ok(http::json(200, &answer))
}

fn show(world: &World, repo: Id, id: Id) -> Result<serde_json::Value, ApiError> {
    let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
    let run = world.check_runs.get(repo.id, id).ok_or_else(ApiError::not_found)?;
    Ok(present::check_run(world, repo, run))
}

pub async fn get(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    Ok(http::json(200, &sim.read(|world| show(world, repo, id))?))
}

pub async fn annotations(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Read)?;
        let run = world.check_runs.get(repo.id, id).ok_or_else(ApiError::not_found)?;
        Ok(page.of(&run.output.annotations, |one| present::annotation(world, repo, run, one)))
    })
}

/// Asks the app to run it again. A job of GitHub Actions is run again here and now.
pub async fn rerequest(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Write)?.id;
        let run = world.check_runs.get(repo, id).ok_or_else(ApiError::not_found)?.clone();
        let sender = caller.actor()?;
        // The app is told of the run as it ended, not as it begins again.
        emit::check_run(world, repo, id, sender, CheckRunAction::Rerequested);
        match run.workflow_run.filter(|_| run.app == ACTIONS_APP_ID) {
            Some(workflow_run) => ci::rerun(world, repo, workflow_run, Which::One(id), sender)?,
            None => checks::reopen(world, repo, run.suite),
        }
        Ok(())
    })?;
    Ok(http::json(201, &json!({})))
}

#[derive(Deserialize)]
pub struct Filters {
    check_name: Option<String>,
    status: Option<String>,
    filter: Option<String>,
    app_id: Option<Id>,
}

pub async fn list_for_ref(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, reference)): Path<(String, String, String)>,
    Query(filters): Query<Filters>,
    page: Page,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    let sha = commit_at(&sim, repo, &reference).await?;
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let runs = world.check_runs.within(repo.id).filter(|run| run.head_sha == sha).collect();
        list(world, repo, runs, &filters, &page)
    })
}

pub async fn list_for_suite(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
    Query(filters): Query<Filters>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Read)?;
        let suite = world.check_suites.get(repo.id, id).ok_or_else(ApiError::not_found)?;
        let runs = world.check_runs.within(repo.id).filter(|run| run.suite == suite.id).collect();
        list(world, repo, runs, &filters, &page)
    })
}

/// The newest first; of each app and name the newest only, unless all are asked for.
fn list(
    world: &World,
    repo: &Repo,
    mut runs: Vec<&CheckRun>,
    filters: &Filters,
    page: &Page,
) -> Result<Response, ApiError> {
    match filters.filter.as_deref() {
        None | Some("latest") => {
            let newest: std::collections::BTreeMap<(Id, &str), &CheckRun> =
                runs.iter().map(|run| ((run.app, run.name.as_str()), *run)).collect();
            runs.retain(|run| newest[&(run.app, run.name.as_str())].id == run.id);
        }
        Some("all") => {}
        Some(other) => {
            return Err(ApiError::unprocessable(format!(
                "Invalid request.\n\n{other} is not a member of [\"latest\", \"all\"]."
            )));
        }
    }
    let status = filters.status.as_deref().map(parse_status).transpose()?;
    runs.retain(|run| {
        filters.check_name.as_ref().is_none_or(|name| run.name == *name)
            && filters.app_id.is_none_or(|app| run.app == app)
            && status.is_none_or(|status| run.status == status)
    });
    runs.reverse();
    let shown = runs[page.range(runs.len())].iter().map(|run| present::check_run(world, repo, run));
    Ok(page.respond(runs.len(), &json!({ "total_count": runs.len(), "check_runs": shown.collect::<Vec<_>>() })))
}
