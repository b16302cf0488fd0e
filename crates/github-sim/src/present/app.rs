//! Apps and their installations.

use serde_json::{Value, json};

use super::user::simple_user;
use crate::http::iso;
use crate::world::{AccountKind, App, Installation, NodeKind, Selection, World, node_id};

/// `integration`.
pub fn app(world: &World, app: &App) -> Value {
    json!({
        "id": app.id,
        "client_id": app.client_id,
        "slug": app.slug,
        "node_id": node_id(NodeKind::App, 0, app.id),
        "owner": simple_user(world, app.owner),
        "name": app.name,
        "description": app.description,
        "external_url": app.external_url,
        "html_url": world.urls.web(format!("/apps/{}", app.slug)),
        "created_at": iso(app.created_at),
        "updated_at": iso(app.created_at),
        "permissions": app.permissions,
        "events": app.events,
    })
}

/// `installation`.
pub fn installation(world: &World, installation: &Installation) -> Value {
    let Installation { id, app, account, .. } = installation;
    let app = world.apps.get(0, *app);
    let account = world.account(*account);
    let (target, settings) = match account.kind {
        AccountKind::Organization => {
            ("Organization", format!("/organizations/{}/settings/installations/{id}", account.login))
        }
        _ => ("User", format!("/settings/installations/{id}")),
    };
    let selection = match installation.selection {
        Selection::All => "all",
        Selection::Selected(_) => "selected",
    };
    // Only an app can suspend an installation here, which GitHub books on the app's owner.
    let suspended_by = installation.suspended_at.and(app).map(|app| simple_user(world, app.owner));
    json!({
        "id": id,
        "client_id": app.map(|app| &app.client_id),
        "account": simple_user(world, account.id),
        "repository_selection": selection,
        "access_tokens_url": world.urls.api(format!("/app/installations/{id}/access_tokens")),
        "repositories_url": world.urls.api("/installation/repositories"),
        "html_url": world.urls.web(settings),
        "app_id": installation.app,
        "app_slug": app.map(|app| &app.slug),
        "target_id": account.id,
        "target_type": target,
        "permissions": installation.permissions,
        "events": installation.events,
        "created_at": iso(installation.created_at),
        "updated_at": iso(installation.updated_at),
        "single_file_name": null,
        "has_multiple_single_files": false,
        "single_file_paths": [],
        "suspended_by": suspended_by,
        "suspended_at": installation.suspended_at.map(iso),
    })
}
