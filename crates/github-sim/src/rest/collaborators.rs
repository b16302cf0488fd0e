//! Who works on a repository, and with what rights.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope, role_of};
use crate::present;
use crate::world::{Account, AccountKind, Id, Repo, RepoRole, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/collaborators", get(list))
        .route("/repos/{owner}/{repo}/collaborators/{username}", get(check).put(add).delete(remove))
        .route("/repos/{owner}/{repo}/collaborators/{username}/permission", get(permission))
}

#[derive(Deserialize)]
struct Wanted {
    affiliation: Option<String>,
    permission: Option<String>,
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = insider(world, &caller, &owner, &name, "Must have push access to view repository collaborators.")?;
        let least = match wanted.permission.as_deref() {
            None => RepoRole::Read,
            Some(text) => {
                RepoRole::parse(text).ok_or_else(|| ApiError::validation("Collaborator", "permission", "invalid"))?
            }
        };
        let direct = matches!(wanted.affiliation.as_deref(), Some("direct" | "outside"));
        let mut people: Vec<Id> = repo.collaborators.keys().copied().collect();
        let account = world.account(repo.owner);
        if account.kind == AccountKind::User {
            people.push(account.id);
        } else if !direct {
            people.extend(account.members.keys());
        }
        people.sort_unstable();
        people.dedup();
        people.retain(|user| role_of(world, repo, *user) >= Some(least));
        Ok(page.of(&people, |user| person(world, repo, *user)))
    })
}

/// `collaborator`.
fn person(world: &World, repo: &Repo, user: Id) -> Value {
    let mut value = present::simple_user(world, user);
    let role = role_of(world, repo, user);
    value["permissions"] = match role {
        Some(role) => present::permissions(role),
        None => json!({ "admin": false, "maintain": false, "push": false, "triage": false, "pull": false }),
    };
    value["role_name"] = role.map_or("none", RepoRole::as_str).into();
    value
}

/// The repository, for someone who may push to it.
fn insider<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    refusal: &str,
) -> Result<&'w Repo, ApiError> {
    let repo = http::repo(world, caller, owner, name, Scope::Metadata, Level::Read)?;
    match caller {
        Caller::User { user } if role_of(world, repo, *user) < Some(RepoRole::Write) => {
            Err(ApiError::forbidden(refusal))
        }
        Caller::Anonymous => Err(ApiError::requires_authentication()),
        _ => Ok(repo),
    }
}

fn user_named<'w>(world: &'w World, login: &str) -> Result<&'w Account, ApiError> {
    let account = world.account_named(login).filter(|account| account.kind == AccountKind::User);
    account.ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, format!("{login} is not a user")))
}

async fn check(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, username)): Path<(String, String, String)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = insider(world, &caller, &owner, &name, "Must have push access to view repository collaborators.")?;
        let user = user_named(world, &username)?.id;
        let member = world.account(repo.owner).members.contains_key(&user);
        if repo.owner == user || member || repo.collaborators.contains_key(&user) {
            Ok(http::no_content())
        } else {
            Err(ApiError::new(StatusCode::NOT_FOUND, format!("{username} is not a collaborator")))
        }
    })
}

#[derive(Deserialize)]
struct Right {
    permission: Option<String>,
}

/// Nobody has to accept an invitation here: they are a collaborator at once, as an organization's member is on GitHub.
async fn add(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, username)): Path<(String, String, String)>,
    Body(right): Body<Right>,
) -> ApiResult {
    let invalid = || ApiError::validation("Repository", "permission", "invalid");
    let role = RepoRole::parse(right.permission.as_deref().unwrap_or("push")).ok_or_else(invalid)?;
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Administration, Level::Admin)?;
        let (id, owner) = (repo.id, repo.owner);
        let user = user_named(world, &username)?.id;
        if user == owner {
            return Err(ApiError::validation_message("Repository", "Repository owner cannot be a collaborator"));
        }
        world.repos.edit(0, id).expect("found in this transaction").collaborators.insert(user, role);
        Ok(http::no_content())
    })
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, username)): Path<(String, String, String)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        let id = repo.id;
        let user = user_named(world, &username)?.id;
        // Anyone may leave.
        if !matches!(caller, Caller::User { user: own } if own == user) {
            http::may(world, &caller, repo, Scope::Administration, Level::Admin)?;
        }
        world.repos.edit(0, id).expect("found in this transaction").collaborators.remove(&user);
        Ok(http::no_content())
    })
}

/// `permission` knows four words; `role_name` tells the finer roles apart.
async fn permission(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, username)): Path<(String, String, String)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = insider(world, &caller, &owner, &name, "Must have push access to view collaborator permission.")?;
        let user = user_named(world, &username)?.id;
        let permission = match role_of(world, repo, user) {
            None => "none",
            Some(RepoRole::Read | RepoRole::Triage) => "read",
            Some(RepoRole::Write | RepoRole::Maintain) => "write",
            Some(RepoRole::Admin) => "admin",
        };
        let user = person(world, repo, user);
        Ok(http::json(200, &json!({ "permission": permission, "role_name": user["role_name"], "user": user })))
    })
}
