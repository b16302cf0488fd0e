//! An app's installations, and what an installation can say about itself.

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::{delete, get, post, put};
use serde_json::{Value, json};

use crate::apps::{self, TokenRequest};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Page, Path, iso, role_of};
use crate::world::{AccountKind, Id, Installation, Repo, RepoRole, Selection, World};
use crate::{Sim, present};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/app/installations", get(list))
        .route("/app/installations/{installation_id}", get(show).delete(remove))
        .route("/app/installations/{installation_id}/suspended", put(suspend).delete(unsuspend))
        .route("/app/installations/{installation_id}/access_tokens", post(create_token))
        .route("/repos/{owner}/{repo}/installation", get(of_repo))
        .route("/users/{username}/installation", get(of_user))
        .route("/orgs/{org}/installation", get(of_org))
        .route("/installation/repositories", get(repositories))
        .route("/installation/token", delete(revoke_token))
        .route("/user/installations", get(of_caller))
        .route("/user/installations/{installation_id}/repositories", get(repositories_of_caller))
}

/// An installation of the calling app.
fn own<'w>(world: &'w World, caller: &Caller, id: Id) -> Result<&'w Installation, ApiError> {
    let app = caller.app(world)?.id;
    world.installations.get(0, id).filter(|found| found.app == app).ok_or_else(ApiError::not_found)
}

async fn list(State(sim): State<Sim>, caller: Caller, page: Page) -> ApiResult {
    sim.read(|world| {
        let app = caller.app(world)?.id;
        let found: Vec<&Installation> = world.installations.within(0).filter(|found| found.app == app).collect();
        Ok(page.of(&found, |installation| present::installation(world, installation)))
    })
}

async fn show(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>) -> ApiResult {
    sim.read(|world| Ok(http::json(200, &present::installation(world, own(world, &caller, id)?))))
}

/// What an app does to its installations counts as its owner's doing.
fn change(
    sim: &Sim,
    caller: &Caller,
    id: Id,
    change: impl FnOnce(&mut World, Id, Id) -> Result<(), ApiError>,
) -> ApiResult {
    sim.write(|world| {
        let owner = caller.app(world)?.owner;
        own(world, caller, id)?;
        change(world, id, owner)
    })?;
    Ok(http::no_content())
}

async fn remove(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>) -> ApiResult {
    change(&sim, &caller, id, apps::remove)
}

async fn suspend(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>) -> ApiResult {
    change(&sim, &caller, id, apps::suspend)
}

async fn unsuspend(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>) -> ApiResult {
    change(&sim, &caller, id, apps::unsuspend)
}

async fn create_token(
    State(sim): State<Sim>,
    caller: Caller,
    Path(id): Path<Id>,
    Body(request): Body<TokenRequest>,
) -> ApiResult {
    let body = sim.write(|world| {
        own(world, &caller, id)?;
        let token = apps::create_token(world, id, request)?;
        let installation = own(world, &caller, id)?;
        let is_selected = token.repositories.is_some() || installation.selection != Selection::All;
        let mut body = json!({
            "token": token.secret,
            "expires_at": iso(token.expires_at),
            "permissions": token.permissions,
            "repository_selection": if is_selected { "selected" } else { "all" },
        });
        if let Some(repositories) = &token.repositories {
            let shown = repositories.iter().filter_map(|id| world.repo(*id)).map(|repo| present::repo(world, repo));
            body["repositories"] = shown.collect();
        }
        Ok(body)
    })?;
    Ok(http::json(201, &body))
}

async fn of_repo(State(sim): State<Sim>, caller: Caller, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    sim.read(|world| {
        let app = caller.app(world)?.id;
        let repo = world.repo_named(&owner, &name).ok_or_else(ApiError::not_found)?;
        let installation = apps::on_repo(world, app, repo).ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &present::installation(world, installation)))
    })
}

async fn of_user(State(sim): State<Sim>, caller: Caller, Path(login): Path<String>) -> ApiResult {
    of_account(&sim, &caller, &login, AccountKind::User)
}

async fn of_org(State(sim): State<Sim>, caller: Caller, Path(login): Path<String>) -> ApiResult {
    of_account(&sim, &caller, &login, AccountKind::Organization)
}

fn of_account(sim: &Sim, caller: &Caller, login: &str, kind: AccountKind) -> ApiResult {
    sim.read(|world| {
        let app = caller.app(world)?.id;
        let account = world.account_named(login).filter(|account| account.kind == kind);
        let account = account.ok_or_else(ApiError::not_found)?.id;
        let installation = world.installations.within(0).find(|found| found.app == app && found.account == account);
        Ok(http::json(200, &present::installation(world, installation.ok_or_else(ApiError::not_found)?)))
    })
}

/// The repositories that an installation token reaches.
async fn repositories(State(sim): State<Sim>, caller: Caller, page: Page) -> ApiResult {
    let Caller::Installation { installation, repositories: narrowed, permissions, .. } = &caller else {
        caller.actor()?;
        return Err(ApiError::forbidden(
            "You must authenticate with an installation access token in order to list repositories for an installation.",
        ));
    };
    sim.read(|world| {
        let found = world.installations.get(0, *installation).ok_or_else(ApiError::not_found)?;
        let reached = |repo: &&Repo| narrowed.as_ref().is_none_or(|ids| ids.contains(&repo.id));
        let repos: Vec<&Repo> = apps::covered(world, found).filter(reached).collect();
        let may_push = permissions.get("contents").is_some_and(|level| level == "write");
        let role = if may_push { RepoRole::Write } else { RepoRole::Read };
        let shown: Vec<Value> = repos[page.range(repos.len())]
            .iter()
            .map(|repo| {
                let mut value = present::repo(world, repo);
                value["permissions"] = present::permissions(role);
                value
            })
            .collect();
        let is_selected = narrowed.is_some() || found.selection != Selection::All;
        let body = json!({
            "total_count": repos.len(),
            "repository_selection": if is_selected { "selected" } else { "all" },
            "repositories": shown,
        });
        Ok(page.respond(repos.len(), &body))
    })
}

async fn revoke_token(State(sim): State<Sim>, caller: Caller, headers: HeaderMap) -> ApiResult {
    if !matches!(caller, Caller::Installation { .. }) {
        caller.actor()?;
        return Err(ApiError::forbidden("You must authenticate with an installation access token."));
    }
    let secret = http::presented_token(&headers)?.unwrap_or_default();
    sim.write(|world| {
        let token = world.tokens.within(0).find(|token| token.secret == secret).map(|token| token.id);
        world.tokens.remove(0, token.ok_or_else(ApiError::bad_credentials)?);
        Ok(())
    })?;
    Ok(http::no_content())
}

/// The installations through which a person's repositories can be reached.
async fn of_caller(State(sim): State<Sim>, caller: Caller, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?.id;
        let found: Vec<&Installation> =
            world.installations.within(0).filter(|found| is_within_reach(world, found, user)).collect();
        let shown: Vec<Value> =
            found[page.range(found.len())].iter().map(|found| present::installation(world, found)).collect();
        Ok(page.respond(found.len(), &json!({ "total_count": found.len(), "installations": shown })))
    })
}

fn is_within_reach(world: &World, installation: &Installation, user: Id) -> bool {
    let account = world.account(installation.account);
    account.id == user || account.members.contains_key(&user) || shared(world, installation, user).next().is_some()
}

/// What an installation covers and a person works on.
fn shared<'w>(world: &'w World, installation: &'w Installation, user: Id) -> impl Iterator<Item = &'w Repo> {
    apps::covered(world, installation).filter(move |repo| {
        repo.collaborators.contains_key(&user)
            || repo.owner == user
            || repo.private && role_of(world, repo, user).is_some()
    })
}

async fn repositories_of_caller(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?.id;
        let found = world.installations.get(0, id).filter(|found| is_within_reach(world, found, user));
        let repos: Vec<&Repo> = shared(world, found.ok_or_else(ApiError::not_found)?, user).collect();
        let shown: Vec<Value> =
            repos[page.range(repos.len())].iter().map(|repo| present::listed_repo(world, &caller, repo)).collect();
        Ok(page.respond(repos.len(), &json!({ "total_count": repos.len(), "repositories": shown })))
    })
}
