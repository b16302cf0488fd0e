//! Is it alive, is it ready, how is it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use github::{CircuitState, GovernorStats};
use merge_train_core::ids::TenantId;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use store::{RunStatus, Store};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;

use super::App;
use super::openapi::Working;
use super::problem::Problem;
use crate::clock;
use crate::telemetry::metrics as names;

/// How often the store is asked whether it can be written to.
const CHECK: Duration = Duration::from_secs(5);
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// What keeps the daemon from doing its work.
pub struct Health {
    store: Mutex<Option<String>>,
    stopping: CancellationToken,
    /// The runs that metrics told of last.
    shown: Mutex<BTreeMap<(TenantId, RunStatus), u64>>,
}

impl Health {
    pub fn new(stopping: CancellationToken) -> Self {
        Self { store: Mutex::new(Some("not checked yet".to_owned())), stopping, shown: Mutex::default() }
    }

    /// Keeps asking the store, until the daemon stops.
    pub async fn watch(&self, store: &dyn Store) {
        loop {
            let checked = tokio::time::timeout(CHECK_TIMEOUT, store.check(clock::now())).await;
            self.note(match checked {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("it did not answer within {} seconds", CHECK_TIMEOUT.as_secs())),
            });
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(CHECK) => {}
            }
        }
    }

    /// Waits until the daemon is told to stop.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Something could not be stored. The next look at the store finds out whether that is over.
    pub fn store_failed(&self, error: &store::Error) {
        self.note(Some(error.to_string()));
    }

    fn note(&self, trouble: Option<String>) {
        metrics::gauge!(names::STORE_UP).set(if trouble.is_none() { 1.0 } else { 0.0 });
        let mut store = self.store.lock();
        match (&*store, &trouble) {
            (None, Some(reason)) => tracing::error!(reason, "the store is gone; nothing is taken in until it is back"),
            (Some(_), None) => tracing::info!("the store is there"),
            _ => {}
        }
        *store = trouble;
    }

    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if self.stopping.is_cancelled() {
            troubles.push("the daemon is shutting down".to_owned());
        }
        if let Some(reason) = &*self.store.lock() {
            troubles.push(format!("the store: {reason}"));
        }
        troubles
    }
}

/// The daemon is alive.
#[derive(Serialize, ToSchema)]
pub struct Alive {
    #[schema(pattern = "^alive$")]
    status: &'static str,
    /// The version of merge-train.
    version: &'static str,
}

/// Whether the daemon is alive
#[utoipa::path(
    get,
    path = "/healthz",
    operation_id = "live",
    tag = "daemon",
    responses((status = 200, description = "It is alive.", body = Alive))
)]
pub async fn live() -> Json<Alive> {
    Json(Alive { status: "alive", version: env!("CARGO_PKG_VERSION") })
}

/// The daemon is ready.
#[derive(Serialize, ToSchema)]
pub struct Ready {
    #[schema(pattern = "^ready$")]
    status: &'static str,
}

/// Whether the daemon can do its work
#[utoipa::path(
    get,
    path = "/readyz",
    operation_id = "ready",
    tag = "daemon",
    responses((status = 200, description = "It can.", body = Ready), Working)
)]
pub async fn ready(State(app): State<Arc<App>>) -> Response {
    let troubles = app.health.troubles();
    if troubles.is_empty() {
        return Json(Ready { status: "ready" }).into_response();
    }
    Problem::unavailable(troubles.join("; ")).with(json!({ "troubles": troubles })).into_response()
}

/// The daemon's metrics
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    tag = "daemon",
    responses((
        status = 200,
        description = "In the Prometheus text format.",
        body = String,
        content_type = "text/plain; version=0.0.4; charset=utf-8"
    ))
)]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    metrics::gauge!(names::WORKERS).set(app.driver.workers() as f64);
    metrics::gauge!(names::BODY_BYTES_IN_FLIGHT).set(app.budget.in_flight() as f64);
    if let Ok(streams) = app.store.streams(None).await {
        let unsettled: u64 = streams.iter().map(|stream| stream.unsettled).sum();
        metrics::gauge!(names::INBOX_UNSETTLED).set(unsettled as f64);
    }
    if let Ok(active) = app.store.active_runs().await {
        show_runs(&app, active);
    }
    show_github(&app.github.stats());
    let text = app.metrics.render();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// What is there no more is 0, and not as it was.
fn show_runs(app: &App, active: Vec<(TenantId, RunStatus, u64)>) {
    let mut shown = app.health.shown.lock();
    shown.values_mut().for_each(|count| *count = 0);
    shown.extend(active.into_iter().map(|(tenant, status, count)| ((tenant, status), count)));
    for ((tenant, status), count) in &*shown {
        let labels = [("status", status.to_string()), ("tenant_id", tenant.to_string())];
        metrics::gauge!(names::RUNS_ACTIVE, &labels).set(*count as f64);
    }
}

fn show_github(stats: &[GovernorStats]) {
    for governor in stats {
        let name = governor.name.clone();
        let gauge = |metric: &'static str, value: f64| metrics::gauge!(metric, "governor" => name.clone()).set(value);
        gauge(names::GITHUB_IN_FLIGHT, governor.in_flight as f64);
        gauge(names::GITHUB_WAITING, governor.waiting as f64);
        gauge(names::GITHUB_BLOCKED, governor.blocked_for.unwrap_or_default().as_secs_f64());
        gauge(names::GITHUB_CIRCUIT_OPEN, if governor.circuit == CircuitState::Closed { 0.0 } else { 1.0 });
        metrics::counter!(names::GITHUB_RETRIES, "governor" => name.clone()).absolute(governor.retries);
        metrics::counter!(names::GITHUB_REFUSED, "governor" => name.clone()).absolute(governor.refused);
        for (resource, budget) in [("core", &governor.core), ("graphql", &governor.graphql)] {
            let Some(budget) = budget else { continue };
            let gauge = |metric: &'static str, value: f64| {
                metrics::gauge!(metric, "governor" => name.clone(), "resource" => resource).set(value);
            };
            gauge(names::GITHUB_BUDGET_LIMIT, budget.limit as f64);
            gauge(names::GITHUB_BUDGET_REMAINING, budget.remaining as f64);
            gauge(names::GITHUB_BUDGET_RESETS_IN, budget.resets_in.as_secs_f64());
        }
        let calls = &governor.calls;
        for (result, count) in [
            ("answered", calls.answered),
            ("not_modified", calls.not_modified),
            ("rate_limited", calls.rate_limited),
            ("not_found", calls.not_found),
            ("forbidden", calls.forbidden),
            ("conflict", calls.conflict),
            ("transient", calls.transient),
            ("permanent", calls.permanent),
        ] {
            metrics::counter!(names::GITHUB_CALLS, "governor" => name.clone(), "result" => result).absolute(count);
        }
    }
}
