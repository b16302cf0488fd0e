//! Check suites.

use axum::extract::State;
use serde::Deserialize;
use serde_json::json;

use super::{app_of, commit_at, repo_id};
use crate::Sim;
use crate::checks::{self, NewSuite};
use crate::ci::{self, Which};
use crate::git::CommitObject;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::setup::ACTIONS_APP_ID;
use crate::webhooks::emit::{self, CheckSuiteAction};
use crate::world::{CheckSuite, Id};

#[derive(Deserialize)]
pub struct NewSuiteBody {
    head_sha: String,
}

/// Makes one, or answers with the one there is.
pub async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(body): Body<NewSuiteBody>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Write)?;
    let app = app_of(&caller)?;
    let sha = body.head_sha;
    let unknown = || ApiError::unprocessable(format!("No commit found for SHA: {sha}"));
    let commit = sim.git(repo).commit(&sha).await?.ok_or_else(unknown)?;
    let (status, answer) = sim.write(|world| {
        http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Write)?;
        let known = checks::suite_of(world, repo, app, &commit.sha);
        let id = match known {
            Some(id) => id,
            None => {
                let head_branch = checks::branch_of(world, repo, &commit.sha);
                let new = NewSuite { app, head_sha: commit.sha.clone(), head_branch, before: None };
                checks::create_suite(world, repo, new, caller.actor()?)
            }
        };
        let (repo, suite) = world.repo(repo).zip(world.check_suites.get(repo, id)).ok_or_else(ApiError::not_found)?;
        let answer = present::with_head_commit(present::check_suite(world, repo, suite), &commit);
        Ok((if known.is_some() { 200 } else { 201 }, answer))
    })?;
    Ok(http::json(status, &answer))
}

pub async fn get(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    let repo = repo_id(&sim, &caller, &owner, &name, Level::Read)?;
    let find = || sim.read(|world| world.check_suites.get(repo, id).cloned()).ok_or_else(ApiError::not_found);
    let commit = head_of(&sim, repo, &find()?.head_sha).await?;
    sim.read(|world| {
        let (repo, suite) = world.repo(repo).zip(world.check_suites.get(repo, id)).ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &present::with_head_commit(present::check_suite(world, repo, suite), &commit)))
    })
}

/// What is said about a commit keeps the commit in git, so it is there.
async fn head_of(sim: &Sim, repo: Id, sha: &str) -> Result<CommitObject, ApiError> {
    sim.git(repo).commit(sha).await?.ok_or_else(ApiError::not_found)
}

#[derive(Deserialize)]
pub struct Filters {
    app_id: Option<Id>,
    check_name: Option<String>,
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
    let commit = head_of(&sim, repo, &sha).await?;
    sim.read(|world| {
        let repo = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let has_run = |suite: &CheckSuite, name: &str| {
            world.check_runs.within(repo.id).any(|run| run.suite == suite.id && run.name == name)
        };
        let suites: Vec<&CheckSuite> = world
            .check_suites
            .within(repo.id)
            .filter(|suite| suite.head_sha == sha)
            .filter(|suite| filters.app_id.is_none_or(|app| suite.app == app))
            .filter(|suite| filters.check_name.as_ref().is_none_or(|name| has_run(suite, name)))
            .collect();
        let shown = suites[page.range(suites.len())]
            .iter()
            .map(|suite| present::with_head_commit(present::check_suite(world, repo, suite), &commit));
        let body = json!({ "total_count": suites.len(), "check_suites": shown.collect::<Vec<_>>() });
        Ok(page.respond(suites.len(), &body))
    })
}

/// Asks the app to check the commit again. A workflow run of GitHub Actions is run again here and now.
pub async fn rerequest(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Write)?.id;
        let suite = world.check_suites.get(repo, id).ok_or_else(ApiError::not_found)?.clone();
        let sender = caller.actor()?;
        let workflow_run = world.workflow_runs.within(repo).find(|run| run.suite == id).map(|run| run.id);
        match workflow_run.filter(|_| suite.app == ACTIONS_APP_ID) {
            Some(run) => ci::rerun(world, repo, run, Which::All, sender)?,
            None => checks::reopen(world, repo, id),
        }
        emit::check_suite(world, repo, id, sender, CheckSuiteAction::Rerequested);
        Ok(())
    })?;
    Ok(http::json(201, &json!({})))
}

#[derive(Deserialize)]
pub struct PreferencesBody {
    #[serde(default)]
    auto_trigger_checks: Vec<AutoTrigger>,
}

#[derive(Deserialize)]
struct AutoTrigger {
    app_id: Id,
    setting: bool,
}

/// Whether a push makes suites for these apps.
pub async fn set_preferences(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(body): Body<PreferencesBody>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Checks, Level::Admin)?.clone();
        let mut preferences = world.check_preferences.get(0, repo.id).cloned().unwrap_or_default();
        preferences.repo = repo.id;
        for AutoTrigger { app_id, setting } in body.auto_trigger_checks {
            preferences.auto_trigger.insert(app_id, setting);
        }
        let shown: Vec<_> = preferences
            .auto_trigger
            .iter()
            .map(|(app_id, setting)| json!({ "app_id": app_id, "setting": setting }))
            .collect();
        world.check_preferences.insert(preferences);
        let repository = present::minimal_repo(world, &repo);
        Ok(http::json(200, &json!({ "preferences": { "auto_trigger_checks": shown }, "repository": repository })))
    })
}
