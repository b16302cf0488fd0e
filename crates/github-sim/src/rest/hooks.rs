//! A repository's webhooks.

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::routing::{get, post};
use serde::Deserialize;

use super::deliveries::{self, Filter};
use crate::Sim;
use crate::git::RefChange;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::webhooks::emit::{self, PushFacts};
use crate::webhooks::{Config, EVENTS};
use crate::world::{Delivery, DeliveryTarget, Hook, Id, Repo, World};

/// GitHub's limit for one event in one repository.
const MOST_HOOKS_PER_EVENT: usize = 20;

pub fn routes() -> Router<Sim> {
    let hook = "/repos/{owner}/{repo}/hooks/{hook_id}";
    Router::new()
        .route("/repos/{owner}/{repo}/hooks", get(list).post(create))
        .route(hook, get(show).patch(update).delete(remove))
        .route(&format!("{hook}/config"), get(show_config).patch(update_config))
        .route(&format!("{hook}/pings"), post(ping))
        .route(&format!("{hook}/tests"), post(test))
        .route(&format!("{hook}/deliveries"), get(list_deliveries))
        .route(&format!("{hook}/deliveries/{{delivery_id}}"), get(show_delivery))
        .route(&format!("{hook}/deliveries/{{delivery_id}}/attempts"), post(attempt))
}

type HookPath = Path<(String, String, Id)>;
type DeliveryPath = Path<(String, String, Id, Id)>;

fn repo_of<'w>(world: &'w World, caller: &Caller, owner: &str, name: &str, level: Level) -> Result<&'w Repo, ApiError> {
    http::repo(world, caller, owner, name, Scope::Webhooks, level)
}

fn hook_of<'w>(
    world: &'w World,
    caller: &Caller,
    (owner, name, id): (&str, &str, Id),
    level: Level,
) -> Result<&'w Hook, ApiError> {
    let repo = repo_of(world, caller, owner, name, level)?;
    world.hooks.get(repo.id, id).ok_or_else(ApiError::not_found)
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = repo_of(world, &caller, &owner, &name, Level::Read)?;
        let hooks: Vec<&Hook> = world.hooks.within(repo.id).collect();
        Ok(page.of(&hooks, |hook| present::hook(world, hook)))
    })
}

#[derive(Deserialize)]
struct NewHook {
    name: Option<String>,
    config: Option<Config>,
    events: Option<Vec<String>>,
    active: Option<bool>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewHook>,
) -> ApiResult {
    let body = sim.write(|world| {
        let repo = repo_of(world, &caller, &owner, &name, Level::Admin)?.id;
        if new.name.as_deref().is_some_and(|name| name != "web") {
            return Err(ApiError::validation("Hook", "name", "invalid"));
        }
        let config = new.config.unwrap_or_default().checked()?;
        let url = config.url.ok_or_else(|| ApiError::validation_message("Hook", "url cannot be blank"))?;
        let events = new.events.unwrap_or_else(|| vec!["push".to_owned()]);
        check_events(world, repo, None, &events)?;
        if world.hooks.within(repo).any(|hook| hook.url == url && hook.events == events) {
            return Err(ApiError::validation_message("Hook", "Hook already exists on this repository"));
        }
        let (id, now) = (world.next_id(), world.now);
        let hook = Hook {
            repo,
            id,
            url,
            secret: config.secret,
            content_type: config.content_type.unwrap_or_else(|| "form".to_owned()),
            insecure_ssl: config.insecure_ssl.unwrap_or_else(|| "0".to_owned()),
            events,
            active: new.active.unwrap_or(true),
            created_at: now,
            updated_at: now,
        };
        world.hooks.insert(hook.clone());
        emit::ping(world, repo, id, caller.actor()?);
        Ok(present::hook(world, &hook))
    })?;
    Ok(http::json(201, &body))
}

fn check_events(world: &World, repo: Id, but: Option<Id>, events: &[String]) -> Result<(), ApiError> {
    if events.is_empty() {
        return Err(ApiError::validation_message("Hook", "events cannot be empty"));
    }
    for event in events {
        if event != "*" && !EVENTS.contains(&event.as_str()) {
            return Err(ApiError::validation_message("Hook", format!("\"{event}\" is not a valid event")));
        }
        let others = world.hooks.within(repo).filter(|hook| Some(hook.id) != but && hook.events.contains(event));
        if others.count() >= MOST_HOOKS_PER_EVENT {
            let message = format!("The \"{event}\" event cannot have more than {MOST_HOOKS_PER_EVENT} hooks");
            return Err(ApiError::validation_message("Hook", message));
        }
    }
    Ok(())
}

async fn show(State(sim): State<Sim>, caller: Caller, Path((owner, name, id)): HookPath) -> ApiResult {
    sim.read(|world| {
        let hook = hook_of(world, &caller, (&owner, &name, id), Level::Read)?;
        Ok(http::json(200, &present::hook(world, hook)))
    })
}

#[derive(Deserialize)]
struct HookUpdate {
    config: Option<Config>,
    events: Option<Vec<String>>,
    #[serde(default)]
    add_events: Vec<String>,
    #[serde(default)]
    remove_events: Vec<String>,
    active: Option<bool>,
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): HookPath,
    Body(update): Body<HookUpdate>,
) -> ApiResult {
    let body = sim.write(|world| {
        let hook = hook_of(world, &caller, (&owner, &name, id), Level::Admin)?;
        let mut events = update.events.unwrap_or_else(|| hook.events.clone());
        for event in update.add_events {
            if !events.contains(&event) {
                events.push(event);
            }
        }
        events.retain(|event| !update.remove_events.contains(event));
        let repo = hook.repo;
        check_events(world, repo, Some(id), &events)?;
        let config = update.config.map(Config::checked).transpose()?;
        let now = world.now;
        let hook = world.hooks.edit(repo, id).expect("found in this transaction");
        hook.events = events;
        hook.active = update.active.unwrap_or(hook.active);
        hook.updated_at = now;
        if let Some(config) = config {
            // As on GitHub: a new configuration without a secret takes the old secret away.
            hook.secret = None;
            configure(hook, config);
        }
        let hook = hook.clone();
        Ok(present::hook(world, &hook))
    })?;
    Ok(http::json(200, &body))
}

fn configure(hook: &mut Hook, config: Config) {
    hook.url = config.url.unwrap_or_else(|| hook.url.clone());
    hook.secret = config.secret.or(hook.secret.take());
    hook.content_type = config.content_type.unwrap_or_else(|| hook.content_type.clone());
    hook.insecure_ssl = config.insecure_ssl.unwrap_or_else(|| hook.insecure_ssl.clone());
}

async fn remove(State(sim): State<Sim>, caller: Caller, Path((owner, name, id)): HookPath) -> ApiResult {
    sim.write(|world| {
        let repo = hook_of(world, &caller, (&owner, &name, id), Level::Admin)?.repo;
        world.hooks.remove(repo, id);
        let target = DeliveryTarget::Hook { repo, hook: id };
        let sent = world.deliveries.within(0).filter(|delivery: &&Delivery| delivery.target == target);
        for delivery in sent.map(|delivery| delivery.id).collect::<Vec<_>>() {
            world.deliveries.remove(0, delivery);
        }
        Ok(())
    })?;
    Ok(http::no_content())
}

async fn show_config(State(sim): State<Sim>, caller: Caller, Path((owner, name, id)): HookPath) -> ApiResult {
    sim.read(|world| {
        let hook = hook_of(world, &caller, (&owner, &name, id), Level::Read)?;
        Ok(http::json(200, &present::hook(world, hook)["config"]))
    })
}

async fn update_config(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): HookPath,
    Body(config): Body<Config>,
) -> ApiResult {
    let body = sim.write(|world| {
        let repo = hook_of(world, &caller, (&owner, &name, id), Level::Admin)?.repo;
        let config = config.checked()?;
        let now = world.now;
        let hook = world.hooks.edit(repo, id).expect("found in this transaction");
        configure(hook, config);
        hook.updated_at = now;
        let hook = hook.clone();
        Ok(present::hook(world, &hook)["config"].clone())
    })?;
    Ok(http::json(200, &body))
}

async fn ping(State(sim): State<Sim>, caller: Caller, Path((owner, name, id)): HookPath) -> ApiResult {
    sim.write(|world| {
        let repo = hook_of(world, &caller, (&owner, &name, id), Level::Admin)?.repo;
        emit::ping(world, repo, id, caller.actor()?);
        Ok(())
    })?;
    Ok(http::no_content())
}

/// Sends the latest push to the default branch to this hook, if it is subscribed to pushes.
async fn test(State(sim): State<Sim>, caller: Caller, Path((owner, name, id)): HookPath) -> ApiResult {
    let (repo, branch, head) = sim.read(|world| {
        let hook = hook_of(world, &caller, (&owner, &name, id), Level::Admin)?;
        let repo = world.repo(hook.repo).ok_or_else(ApiError::not_found)?;
        let wanted = hook.events.iter().any(|event| event == "push" || event == "*");
        let head = world.branch(repo.id, &repo.default_branch).filter(|_| wanted).cloned();
        Ok::<_, ApiError>((repo.id, format!("refs/heads/{}", repo.default_branch), head))
    })?;
    let Some(head) = head else { return Ok(http::no_content()) };
    let commits = sim.git(repo).pushed_commits(&[&head], 1).await?;
    let parent = commits.first().and_then(|pushed| pushed.commit.parents.first().cloned());
    let change = RefChange { name: branch, old: parent, new: Some(head) };
    let facts = PushFacts { change, head: commits.first().cloned(), commits, forced: false };
    sim.write(|world| {
        emit::test_push(world, repo, id, caller.actor()?, &facts);
        Ok(())
    })?;
    Ok(http::no_content())
}

fn target_of(sim: &Sim, caller: &Caller, hook: (&str, &str, Id), level: Level) -> Result<DeliveryTarget, ApiError> {
    sim.read(|world| {
        let hook = hook_of(world, caller, hook, level)?;
        Ok(DeliveryTarget::Hook { repo: hook.repo, hook: hook.id })
    })
}

async fn list_deliveries(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): HookPath,
    uri: OriginalUri,
    Query(filter): Query<Filter>,
) -> ApiResult {
    deliveries::list(&sim, &uri, target_of(&sim, &caller, (&owner, &name, id), Level::Read)?, &filter)
}

async fn show_delivery(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id, delivery)): DeliveryPath,
) -> ApiResult {
    deliveries::get(&sim, target_of(&sim, &caller, (&owner, &name, id), Level::Read)?, delivery)
}

async fn attempt(State(sim): State<Sim>, caller: Caller, Path((owner, name, id, delivery)): DeliveryPath) -> ApiResult {
    deliveries::attempt(&sim, target_of(&sim, &caller, (&owner, &name, id), Level::Admin)?, delivery)
}
