//! `/_sim/app`, `/_sim/app-manifests`, `/_sim/installations`: what a person would click together.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::extract::State;
use axum::routing::{get, patch, post};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::{self, ApiError, ApiResult, Body, Path};
use crate::webhooks::{Config, emit};
use crate::world::{App, Id, Installation, Selection, World};
use crate::{Sim, apps, present, setup};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/app", get(show).patch(update))
        .route("/app-manifests", post(propose))
        .route("/installations", get(list).post(install))
        .route("/installations/{id}", patch(select).delete(remove))
}

async fn show(State(sim): State<Sim>) -> ApiResult {
    Ok(http::json(200, &sim.read(|world| shown(world, setup::main_app(world)))))
}

/// As GitHub shows it, and what only its owner sees.
fn shown(world: &World, app: &App) -> Value {
    let mut value = present::app(world, app);
    value["webhook_url"] = app.webhook.url.as_deref().into();
    value["webhook_secret"] = app.webhook.secret.as_deref().into();
    value
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AppChange {
    /// `""` for none.
    webhook_url: Option<String>,
    webhook_secret: Option<String>,
    events: Option<Vec<String>>,
    permissions: Option<BTreeMap<String, String>>,
}

/// Installations take over the new events and permissions, as if everyone had agreed at once.
async fn update(State(sim): State<Sim>, Body(change): Body<AppChange>) -> ApiResult {
    let body = sim.write(|world| {
        let id = setup::main_app(world).id;
        let app = world.apps.edit(0, id).expect("the main app is never deleted");
        let url = match change.webhook_url {
            Some(url) => Some(url).filter(|url| !url.is_empty()),
            None => app.webhook.url.clone(),
        };
        Config { url: url.clone(), ..Config::default() }.checked()?;
        let is_new_url = url.is_some() && url != app.webhook.url;
        app.webhook.url = url;
        app.webhook.secret = change.webhook_secret.or(app.webhook.secret.take());
        app.events = change.events.unwrap_or_else(|| app.events.clone());
        app.permissions = change.permissions.unwrap_or_else(|| app.permissions.clone());
        let app = app.clone();
        for installation in world.installations.within(0).map(|found| found.id).collect::<Vec<_>>() {
            let found = world.installations.edit(0, installation).expect("listed a moment ago");
            if found.app == id {
                found.events.clone_from(&app.events);
                found.permissions.clone_from(&app.permissions);
            }
        }
        if is_new_url {
            emit::ping_app(world, id);
        }
        Ok(shown(world, &app))
    })?;
    Ok(http::json(200, &body))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proposal {
    manifest: Value,
    /// A login; the first user when left out.
    owner: Option<String>,
}

async fn propose(State(sim): State<Sim>, Body(proposal): Body<Proposal>) -> ApiResult {
    let code = sim.write(|world| {
        let owner = match &proposal.owner {
            Some(login) => world.account_named(login).ok_or_else(ApiError::not_found)?.id,
            None => setup::main_app(world).owner,
        };
        apps::propose(world, owner, proposal.manifest)
    })?;
    Ok(http::json(201, &json!({ "code": code })))
}

async fn list(State(sim): State<Sim>) -> ApiResult {
    let all: Vec<Value> =
        sim.read(|world| world.installations.within(0).map(|found| present::installation(world, found)).collect());
    Ok(http::json(200, &all.into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewInstallation {
    /// A slug or an id.
    app: Value,
    account: String,
    /// Names; all of the account's when left out.
    repositories: Option<Vec<String>>,
}

async fn install(State(sim): State<Sim>, Body(new): Body<NewInstallation>) -> ApiResult {
    let body = sim.write(|world| {
        let app = world.apps.within(0).find(|app| new.app == json!(app.slug) || new.app == json!(app.id));
        let app = app.ok_or_else(ApiError::not_found)?.id;
        let account = world.account_named(&new.account).ok_or_else(ApiError::not_found)?.id;
        let selection = selection(world, account, new.repositories.as_deref())?;
        let id = apps::add(world, app, account, selection, sender(world, account))?;
        Ok(present::installation(world, found(world, id)?))
    })?;
    Ok(http::json(201, &body))
}

fn found(world: &World, id: Id) -> Result<&Installation, ApiError> {
    world.installations.get(0, id).ok_or_else(ApiError::not_found)
}

/// Who would have clicked: the person, or an owner of the organization.
fn sender(world: &World, account: Id) -> Id {
    world.account(account).members.keys().next().copied().unwrap_or(account)
}

fn selection(world: &World, account: Id, names: Option<&[String]>) -> Result<Selection, ApiError> {
    let Some(names) = names else { return Ok(Selection::All) };
    let login = &world.account(account).login;
    let ids = names.iter().map(|name| world.repo_named(login, name).map(|repo| repo.id));
    let ids: Option<BTreeSet<Id>> = ids.collect();
    ids.map(Selection::Selected).ok_or_else(|| ApiError::validation("Installation", "repositories", "missing"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    repositories: Option<Vec<String>>,
}

async fn select(State(sim): State<Sim>, Path(id): Path<Id>, Body(choice): Body<Choice>) -> ApiResult {
    let body = sim.write(|world| {
        let account = found(world, id)?.account;
        let selection = selection(world, account, choice.repositories.as_deref())?;
        apps::select(world, id, selection, sender(world, account))?;
        Ok(present::installation(world, found(world, id)?))
    })?;
    Ok(http::json(200, &body))
}

async fn remove(State(sim): State<Sim>, Path(id): Path<Id>) -> ApiResult {
    sim.write(|world| {
        let account = found(world, id)?.account;
        apps::remove(world, id, sender(world, account))
    })?;
    Ok(http::no_content())
}
