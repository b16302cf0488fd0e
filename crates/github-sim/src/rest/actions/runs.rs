//! Workflow runs.

use std::collections::HashMap;

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::repo_id;
use crate::Sim;
use crate::ci::{self, Which};
use crate::git::CommitObject;
use crate::http::{self, ApiError, ApiResult, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::world::{Id, WorkflowRun};

#[derive(Deserialize)]
pub struct Filters {
    actor: Option<String>,
    branch: Option<String>,
    event: Option<String>,
    /// A status or a conclusion.
    status: Option<String>,
    head_sha: Option<String>,
    check_suite_id: Option<Id>,
}

impl Filters {
    fn matches(&self, run: &WorkflowRun, actor: &str) -> bool {
        let said = |status: &String| {
            run.status.as_str() == status || run.conclusion.is_some_and(|conclusion| conclusion.as_str() == status)
        };
        self.actor.as_ref().is_none_or(|login| login.eq_ignore_ascii_case(actor))
            && self.branch.as_ref().is_none_or(|branch| run.head_branch.as_ref() == Some(branch))
            && self.event.as_ref().is_none_or(|event| run.event == *event)
            && self.status.as_ref().is_none_or(said)
            && self.head_sha.as_ref().is_none_or(|sha| run.head_sha == *sha)
            && self.check_suite_id.is_none_or(|suite| run.suite == suite)
    }
}

pub async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(filters): Query<Filters>,
    page: Page,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    list_page(&sim, repo, &filters, &page).await
}

/// The newest first.
pub(super) async fn list_page(sim: &Sim, repo: Id, filters: &Filters, page: &Page) -> Result<Response, ApiError> {
    let (total, runs) = sim.read(|world| {
        let runs = world.workflow_runs.within(repo).rev();
        let runs: Vec<&WorkflowRun> =
            runs.filter(|run| filters.matches(run, &world.account(run.actor).login)).collect();
        let shown: Vec<WorkflowRun> = runs[page.range(runs.len())].iter().map(|run| (*run).clone()).collect();
        (runs.len(), shown)
    });
    let shown = show(sim, repo, &runs).await?;
    Ok(page.respond(total, &json!({ "total_count": total, "workflow_runs": shown })))
}

async fn show(sim: &Sim, repo: Id, runs: &[WorkflowRun]) -> Result<Vec<Value>, ApiError> {
    let mut commits: HashMap<&str, CommitObject> = HashMap::new();
    for run in runs {
        if !commits.contains_key(run.head_sha.as_str())
            && let Some(commit) = sim.git(repo).commit(&run.head_sha).await?
        {
            commits.insert(&run.head_sha, commit);
        }
    }
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let shown = runs.iter().map(|run| {
            let value = present::workflow_run(world, repo, run);
            match commits.get(run.head_sha.as_str()) {
                Some(commit) => present::with_head_commit(value, commit),
                None => value,
            }
        });
        Ok(shown.collect())
    })
}

fn find(sim: &Sim, repo: Id, id: Id) -> Result<WorkflowRun, ApiError> {
    sim.read(|world| world.workflow_runs.get(repo, id).cloned()).ok_or_else(ApiError::not_found)
}

pub async fn get(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    let run = find(&sim, repo, id)?;
    Ok(http::json(200, &Value::from(show(&sim, repo, &[run]).await?.pop())))
}

/// An attempt before the last one shows how its jobs ended.
pub async fn get_attempt(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id, attempt)): Path<(String, String, Id, u64)>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    let mut run = find(&sim, repo, id)?;
    if attempt == 0 || attempt > run.run_attempt {
        return Err(ApiError::not_found());
    }
    if attempt < run.run_attempt {
        (run.status, run.conclusion) = sim.read(|world| crate::checks::attempt_outcome(world, repo, id, attempt));
        run.run_attempt = attempt;
    }
    Ok(http::json(200, &Value::from(show(&sim, repo, &[run]).await?.pop())))
}

pub async fn cancel(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Actions, Level::Write)?.id;
        ci::cancel(world, repo, id, caller.actor()?)
    })?;
    Ok(http::json(202, &json!({})))
}

pub async fn rerun(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    run_again(&sim, &caller, &owner, &name, id, Which::All)
}

pub async fn rerun_failed(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    run_again(&sim, &caller, &owner, &name, id, Which::Failed)
}

fn run_again(sim: &Sim, caller: &Caller, owner: &str, name: &str, id: Id, which: Which) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, caller, owner, name, Scope::Actions, Level::Write)?.id;
        ci::rerun(world, repo, id, which, caller.actor()?)
    })?;
    Ok(http::json(201, &json!({})))
}

/// A command leaves nothing behind but its log.
pub async fn artifacts(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    find(&sim, repo, id)?;
    Ok(http::json(200, &json!({ "total_count": 0, "artifacts": [] })))
}
