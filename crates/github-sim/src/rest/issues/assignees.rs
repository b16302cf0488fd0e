//! Who is to take care of an issue or pull request.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;

use super::{issue_for, shown};
use crate::Sim;
use crate::conversation;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Scope};
use crate::present;
use crate::world::{Id, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/assignees", get(list))
        .route("/repos/{owner}/{repo}/assignees/{assignee}", get(check))
        .route("/repos/{owner}/{repo}/issues/{issue_number}/assignees", post(add).delete(remove))
        .route("/repos/{owner}/{repo}/issues/{issue_number}/assignees/{assignee}", get(check_for_issue))
}

#[derive(Deserialize)]
struct Assignees {
    #[serde(default)]
    assignees: Vec<String>,
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let people: Vec<Id> = world
            .accounts
            .all()
            .map(|account| account.id)
            .filter(|id| conversation::may_be_assigned(world, repo.id, None, *id))
            .collect();
        Ok(page.of(&people, |id| present::simple_user(world, *id)))
    })
}

async fn check(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, login)): Path<(String, String, String)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let known = world.account_named(&login).ok_or_else(ApiError::not_found)?;
        let may = conversation::may_be_assigned(world, repo.id, None, known.id);
        if may { Ok(http::no_content()) } else { Err(ApiError::not_found()) }
    })
}

async fn check_for_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, login)): Path<(String, String, u64, String)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Read)?.repo;
        let known = world.account_named(&login).ok_or_else(ApiError::not_found)?;
        let may = conversation::may_be_assigned(world, repo, Some(number), known.id);
        if may { Ok(http::no_content()) } else { Err(ApiError::not_found()) }
    })
}

/// Assigns more people. Whoever cannot be assigned is passed over, as GitHub does here.
async fn add(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(body): Body<Assignees>,
) -> ApiResult {
    sim.write(|world| {
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Triage)?;
        let (repo, mut wanted) = (issue.repo, issue.assignees.clone());
        let named = body.assignees.iter().filter_map(|login| world.account_named(login)).map(|account| account.id);
        for id in named {
            if !wanted.contains(&id) && conversation::may_be_assigned(world, repo, Some(number), id) {
                wanted.push(id);
            }
        }
        conversation::set_assignees(world, caller.actor()?, repo, number, &wanted)?;
        Ok(http::json(201, &shown(world, repo, number)))
    })
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(body): Body<Assignees>,
) -> ApiResult {
    sim.write(|world| {
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Triage)?;
        let repo = issue.repo;
        let gone: Vec<Id> =
            body.assignees.iter().filter_map(|login| world.account_named(login)).map(|account| account.id).collect();
        let wanted: Vec<Id> = issue.assignees.iter().copied().filter(|id| !gone.contains(id)).collect();
        conversation::set_assignees(world, caller.actor()?, repo, number, &wanted)?;
        Ok(http::json(200, &shown(world, repo, number)))
    })
}

/// The people of these logins, all of whom can be assigned.
pub(super) fn strictly(world: &World, repo: Id, number: u64, logins: &[String]) -> Result<Vec<Id>, ApiError> {
    let mut ids = Vec::new();
    for login in logins.iter().filter(|login| !login.is_empty()) {
        let id = world
            .account_named(login)
            .map(|account| account.id)
            .filter(|id| conversation::may_be_assigned(world, repo, Some(number), *id));
        let id = id.ok_or_else(|| {
            let mut error = ApiError::validation("Issue", "assignees", "invalid");
            error.errors[0]["value"] = login.as_str().into();
            error
        })?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}
