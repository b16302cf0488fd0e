//! Apps, as the API knows them.

mod installations;
mod webhook;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde_json::json;

use crate::http::{self, ApiError, ApiResult, Caller, Path};
use crate::{Sim, apps, present, setup};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/app", get(current))
        .route("/apps/{app_slug}", get(by_slug))
        .route("/app-manifests/{code}/conversions", post(convert))
        .merge(installations::routes())
        .merge(webhook::routes())
}

async fn current(State(sim): State<Sim>, caller: Caller) -> ApiResult {
    sim.read(|world| {
        let app = caller.app(world)?;
        let mut value = present::app(world, app);
        value["installations_count"] = world.installations.within(0).filter(|found| found.app == app.id).count().into();
        Ok(http::json(200, &value))
    })
}

async fn by_slug(State(sim): State<Sim>, Path(slug): Path<String>) -> ApiResult {
    sim.read(|world| {
        let app = world.apps.within(0).find(|app| app.slug == slug).ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &present::app(world, app)))
    })
}

/// Anyone who has the code may: it is the secret.
async fn convert(State(sim): State<Sim>, Path(code): Path<String>) -> ApiResult {
    let known = sim.read(|world| world.app_manifests.within(0).any(|found| found.code == code));
    if !known {
        return Err(ApiError::not_found());
    }
    let key = tokio::task::spawn_blocking(|| setup::new_key(None)).await;
    let key = key.ok().and_then(Result::ok);
    let key = key.ok_or_else(|| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "The app's key could not be made"))?;
    let body = sim.write(|world| {
        let app = apps::convert(world, &code, &key)?;
        let mut value = present::app(world, &app);
        let secrets = json!({
            "client_id": app.client_id,
            "client_secret": app.client_secret,
            "webhook_secret": app.webhook.secret,
            "pem": key.private_pem,
        });
        present::merge(&mut value, secrets);
        Ok(value)
    })?;
    Ok(http::json(201, &body))
}
