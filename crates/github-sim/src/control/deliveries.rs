//! `/_sim/deliveries`: every webhook, sent or still to be sent, whoever it is for.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Path, Query};
use crate::present;
use crate::webhooks::{self, redeliver};
use crate::world::{Delivery, DeliveryTarget, Id, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/deliveries", get(list))
        .route("/deliveries/{id}/redeliver", post(again))
        .route("/deliveries/take", post(take_all))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    /// `push`, or with its action `pull_request.opened`.
    event: Option<String>,
}

/// In the order they came about.
async fn list(State(sim): State<Sim>, Query(filter): Query<Filter>) -> ApiResult {
    let all: Vec<Value> = sim.read(|world| {
        let wanted = |delivery: &&Delivery| {
            filter.event.as_deref().is_none_or(|wanted| wanted == delivery.event || wanted == full_name(delivery))
        };
        world.deliveries.within(0).filter(wanted).map(|delivery| shown(world, delivery)).collect()
    });
    Ok(http::json(200, &all.into()))
}

fn full_name(delivery: &Delivery) -> String {
    match &delivery.action {
        Some(action) => format!("{}.{action}", delivery.event),
        None => delivery.event.clone(),
    }
}

fn shown(world: &World, delivery: &Delivery) -> Value {
    let receiver = match delivery.target {
        DeliveryTarget::Hook { hook, .. } => json!({ "hook": hook }),
        DeliveryTarget::App { app } => json!({ "app": world.apps.get(0, app).map(|app| &app.slug) }),
    };
    let mut value = json!({
        "id": delivery.id,
        "guid": delivery.guid,
        "event": delivery.event,
        "action": delivery.action,
        "repository": delivery.repo.and_then(|id| world.repo(id)).map(|repo| world.full_name(repo)),
        "receiver": receiver,
        "redelivery": delivery.redelivery,
        "fault": delivery.fault,
        "state": if delivery.outcome.is_some() { "done" } else { "pending" },
        "payload": delivery.payload,
    });
    if delivery.outcome.is_some() {
        let sent = present::delivery(delivery);
        for name in ["delivered_at", "duration", "status", "status_code", "url", "response"] {
            value[name] = sent[name].clone();
        }
        value["request_headers"] = sent["request"]["headers"].clone();
    }
    value
}

async fn again(State(sim): State<Sim>, Path(id): Path<Id>) -> ApiResult {
    let again = sim.write(|world| {
        let delivery = world.deliveries.get(0, id).ok_or_else(ApiError::not_found)?.clone();
        Ok(redeliver(world, &delivery))
    })?;
    Ok(http::json(202, &json!({ "id": again })))
}

/// What waits to be sent, in the order it came about; from now on it counts as delivered.
async fn take_all(State(sim): State<Sim>) -> ApiResult {
    if !sim.read(|world| world.settings().hold_webhooks) {
        let reason = "Webhooks are being sent; PATCH /_sim/settings {\"hold_webhooks\": true} first";
        return Err(ApiError::unprocessable(reason));
    }
    let taken = webhooks::take(&sim).await?;
    let all: Vec<Value> = sim.read(|world| taken.iter().map(|delivery| shown(world, delivery)).collect());
    Ok(http::json(200, &all.into()))
}
