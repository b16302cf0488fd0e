//! An app's own webhook and what was sent to it.

use axum::Router;
use axum::extract::{OriginalUri, State};
use axum::routing::{get, post};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path, Query};
use crate::present;
use crate::rest::deliveries::{self, Filter};
use crate::webhooks::Config;
use crate::world::{DeliveryTarget, Id};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/app/hook/config", get(show).patch(update))
        .route("/app/hook/deliveries", get(list_deliveries))
        .route("/app/hook/deliveries/{delivery_id}", get(show_delivery))
        .route("/app/hook/deliveries/{delivery_id}/attempts", post(attempt))
}

async fn show(State(sim): State<Sim>, caller: Caller) -> ApiResult {
    sim.read(|world| Ok(http::json(200, &present::webhook_config(&caller.app(world)?.webhook))))
}

async fn update(State(sim): State<Sim>, caller: Caller, Body(config): Body<Config>) -> ApiResult {
    let body = sim.write(|world| {
        let app = caller.app(world)?.id;
        let config = config.checked()?;
        let webhook = &mut world.apps.edit(0, app).expect("found in this transaction").webhook;
        config.write_to(webhook);
        Ok(present::webhook_config(webhook))
    })?;
    Ok(http::json(200, &body))
}

fn target(sim: &Sim, caller: &Caller) -> Result<DeliveryTarget, ApiError> {
    sim.read(|world| Ok(DeliveryTarget::App { app: caller.app(world)?.id }))
}

async fn list_deliveries(
    State(sim): State<Sim>,
    caller: Caller,
    uri: OriginalUri,
    Query(filter): Query<Filter>,
) -> ApiResult {
    deliveries::list(&sim, &uri, target(&sim, &caller)?, &filter)
}

async fn show_delivery(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>) -> ApiResult {
    deliveries::get(&sim, target(&sim, &caller)?, id)
}

async fn attempt(State(sim): State<Sim>, caller: Caller, Path(id): Path<Id>) -> ApiResult {
    deliveries::attempt(&sim, target(&sim, &caller)?, id)
}
