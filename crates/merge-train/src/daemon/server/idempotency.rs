//! The door of the inbox, as callers over HTTP meet it.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use merge_train_core::inbox::{Key, Source};
use serde::Serialize;
use serde_json::{Map, Value, json};
use store::{Admission, Arrival};
use utoipa::ToSchema;

use super::App;
use super::problem::Problem;
use crate::daemon::run_orders;

/// GitHub gives up after ten seconds and calls the delivery failed; it must hear from us before.
const STORE_TIMEOUT: Duration = Duration::from_secs(8);

/// Takes in an arrival, durably, or says in time that it cannot.
pub async fn admit(app: &App, arrival: Arrival) -> Result<Admission, Problem> {
    match tokio::time::timeout(STORE_TIMEOUT, app.store.admit(arrival)).await {
        Ok(Ok(admission)) => Ok(admission),
        Ok(Err(error)) => {
            if error.is_outage() {
                app.health.store_failed(&error);
            }
            Err(error.into())
        }
        Err(_) => Err(Problem::unavailable("the database is too slow right now; please retry")),
    }
}

/// A stored request. Sending it again returns its result.
#[derive(Serialize, ToSchema)]
pub struct Accepted {
    #[schema(pattern = "^(accepted|processing|processed)$")]
    status: &'static str,
    /// Its idempotency key; missing for a webhook that was already processed.
    #[schema(required = false)]
    key: Key,
}

/// What the caller is told, `besides` included, and the word for it in the metrics.
pub fn answer(
    source: Source,
    key: &Key,
    admission: Admission,
    besides: &Map<String, Value>,
) -> Result<(Response, &'static str), Problem> {
    let result = run_orders::count(source, key, &admission);
    let with_besides = |mut body: Value| {
        if let Some(members) = body.as_object_mut() {
            members.extend(besides.clone());
        }
        Json(body)
    };
    let told = |status: &'static str| json!(Accepted { status, key: key.clone() });
    let waits = |status: &'static str| (StatusCode::ACCEPTED, with_besides(told(status))).into_response();
    let response = match admission {
        Admission::Accepted | Admission::Claimed(_) => waits("accepted"),
        Admission::InFlight { .. } => waits("processing"),
        Admission::Replay { response, .. } => {
            let body = with_besides(response.unwrap_or_else(|| told("processed")));
            (StatusCode::ACCEPTED, [("idempotent-replayed", "true")], body).into_response()
        }
        Admission::Exhausted { error } => {
            let detail = format!("{key} failed before and is not retried: {error}");
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "REQUEST_FAILED", detail));
        }
        Admission::Conflict => {
            let detail = format!("{key}: key reused with a different body; this request was not accepted");
            return Err(Problem::new(StatusCode::CONFLICT, "IDEMPOTENCY_CONFLICT", detail));
        }
    };
    Ok((response, result))
}
