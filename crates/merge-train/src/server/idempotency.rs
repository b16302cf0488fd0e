//! The door of the inbox, as callers over HTTP meet it.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use merge_train_core::ids::RunId;
use merge_train_core::inbox::{Key, Source};
use serde_json::{Map, Value, json};
use store::{Admission, Arrival};

use super::App;
use super::problem::Problem;
use crate::telemetry::metrics::IDEMPOTENCY_HITS;

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
        Err(_) => Err(Problem::unavailable("the database is too slow just now; please send it again")),
    }
}

/// What the caller is told, `besides` included, and the word for it in the metrics.
pub fn answer(
    source: Source,
    key: &Key,
    admission: Admission,
    besides: &Map<String, Value>,
) -> Result<(Response, &'static str), Problem> {
    let result = match &admission {
        Admission::Accepted | Admission::Claimed(_) => "accepted",
        Admission::InFlight { .. } => "in_flight",
        Admission::Replay { .. } => "replayed",
        Admission::Exhausted { .. } => "exhausted",
        Admission::Conflict => "conflict",
    };
    metrics::counter!(IDEMPOTENCY_HITS, "source" => source.as_str(), "result" => result).increment(1);
    let with_besides = |mut body: Value| {
        if let Some(members) = body.as_object_mut() {
            members.extend(besides.clone());
        }
        Json(body)
    };
    let waits =
        |status: &str| (StatusCode::ACCEPTED, with_besides(json!({ "status": status, "key": key }))).into_response();
    let response = match admission {
        Admission::Accepted | Admission::Claimed(_) => waits("accepted"),
        Admission::InFlight { run_id } => {
            hit(key, run_id.as_ref());
            waits("processing")
        }
        Admission::Replay { response, run_id } => {
            hit(key, run_id.as_ref());
            let body = with_besides(response.unwrap_or(json!({ "status": "processed", "key": key })));
            (StatusCode::ACCEPTED, [("idempotent-replayed", "true")], body).into_response()
        }
        Admission::Exhausted { error } => {
            let detail = format!("{key} failed before and is not tried again: {error}");
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "REQUEST_FAILED", detail));
        }
        Admission::Conflict => {
            let detail = format!("{key} came before with another payload; nothing was done with this one");
            return Err(Problem::new(StatusCode::CONFLICT, "IDEMPOTENCY_CONFLICT", detail));
        }
    };
    Ok((response, result))
}

fn hit(key: &Key, run_id: Option<&RunId>) {
    tracing::info!(
        event = "idempotency_hit",
        key = key.as_str(),
        cachedRunId = run_id.map(RunId::as_str),
        "it came before"
    );
}
