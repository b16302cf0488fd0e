//! Installations of apps, and pings.

use serde_json::{Value, json};

use super::without;
use crate::world::{App, Hook, Id, Installation, NodeKind, Repo, World, node_id};
use crate::{apps, present, zen};

pub fn installation(world: &World, found: &Installation, sender: Id, action: &str) -> Value {
    let mut payload = json!({ "action": action, "installation": old_form(world, found) });
    payload["repositories"] = apps::covered(world, found).map(|repo| short_repository(world, repo)).collect();
    if action == "deleted" || action == "suspend" || action == "unsuspend" {
        payload["requester"] = Value::Null;
    }
    payload["sender"] = present::simple_user(world, sender);
    payload
}

pub fn installation_repositories(
    world: &World,
    found: &Installation,
    sender: Id,
    added: &[Id],
    removed: &[Id],
) -> Value {
    let list = |ids: &[Id]| -> Value {
        ids.iter().filter_map(|id| world.repo(*id)).map(|repo| short_repository(world, repo)).collect()
    };
    let installation = old_form(world, found);
    json!({
        "action": if added.is_empty() { "removed" } else { "added" },
        "repository_selection": installation["repository_selection"],
        "installation": installation,
        "repositories_added": list(added),
        "repositories_removed": list(removed),
        "requester": null,
        "sender": present::simple_user(world, sender),
    })
}

/// To a repository's hook.
pub fn ping(world: &World, hook: &Hook) -> Value {
    let mut shown = present::hook(world, hook);
    shown["last_response"] = json!({ "code": null, "status": "unused", "message": null });
    json!({ "zen": zen::line(hook.id), "hook_id": hook.id, "hook": shown })
}

/// To an app.
pub fn app_ping(world: &World, app: &App) -> Value {
    let url = world.urls.api("/app/hook/config");
    json!({
        "zen": zen::line(app.id),
        "hook_id": app.id,
        "hook": {
            "type": "App",
            "id": app.id,
            "name": "web",
            "active": true,
            "events": app.events,
            "config": present::webhook_config(&app.webhook),
            "updated_at": crate::http::iso(world.now),
            "created_at": crate::http::iso(app.created_at),
            "url": url,
            "ping_url": world.urls.api("/app/hook/pings"),
            "app_id": app.id,
            "deliveries_url": world.urls.api("/app/hook/deliveries"),
        },
    })
}

fn old_form(world: &World, installation: &Installation) -> Value {
    without(present::installation(world, installation), &["client_id"])
}

fn short_repository(world: &World, repo: &Repo) -> Value {
    json!({
        "id": repo.id,
        "node_id": node_id(NodeKind::Repository, 0, repo.id),
        "name": repo.name,
        "full_name": world.full_name(repo),
        "private": repo.private,
    })
}
