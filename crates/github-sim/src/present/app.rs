//! Apps and their installations.

use serde_json::{Value, json};

use super::user::simple_user;
use crate::http::iso;
use crate::world::{App, NodeKind, World, node_id};

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
