//! What the daemon listens to: webhooks, questions about its health, and its API.

mod access;
mod body;
mod feed;
mod health;
mod idempotency;
mod page;
mod problem;
mod repos;
mod requests;
mod runs;
mod slack;
mod trains;
mod webhook;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use github::webhook::Secrets;
use metrics_exporter_prometheus::PrometheusHandle;
use store::Store;

use crate::config::ApiKey;
use crate::driver::Driver;
use crate::orders::Orders;
pub use body::Budget;
pub use health::Health;
use problem::Problem;
pub use slack::Slack;

/// What the handlers share.
pub struct App {
    pub store: Arc<dyn Store>,
    pub driver: Driver,
    pub secrets: Secrets,
    pub budget: Budget,
    pub api_keys: Vec<ApiKey>,
    pub health: Arc<Health>,
    pub metrics: PrometheusHandle,
    pub github: github::Client,
    /// What the addresses of pages at GitHub begin with.
    pub web_url: String,
    pub orders: Orders,
    /// None where Slack may do nothing.
    pub slack: Option<Arc<Slack>>,
}

pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/webhook", post(webhook::receive))
        .route("/healthz", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/api/v1/repos", get(repos::list))
        .route("/api/v1/repos/{owner}/{repo}/trains", get(trains::list))
        .route("/api/v1/repos/{owner}/{repo}/trains/{pr}", get(trains::show))
        .route("/api/v1/repos/{owner}/{repo}/trains/{pr}/start", post(trains::start))
        .route("/api/v1/repos/{owner}/{repo}/trains/{pr}/stop", post(trains::stop))
        .route("/api/v1/repos/{owner}/{repo}/state", get(repos::state))
        .route("/api/v1/repos/{owner}/{repo}/sync", post(repos::sync))
        .route("/api/v1/runs", get(runs::list).post(runs::create))
        .route("/api/v1/runs/{id}", get(runs::show))
        .route("/api/v1/runs/{id}/steps", get(runs::steps))
        .route("/api/v1/runs/{id}/events", get(runs::events))
        .route("/api/v1/runs/{id}/watch", get(runs::watch))
        .route("/api/v1/events", get(feed::watch))
        .route("/api/v1/runs/{id}/checkpoints", get(runs::checkpoints))
        .route("/api/v1/runs/{id}/approve", post(runs::approve))
        .route("/api/v1/runs/{id}/reject", post(runs::reject))
        .route("/api/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/api/v1/runs/{id}/resume", post(runs::resume))
        .route("/api/v1/runs/{id}/signal", post(runs::signal))
        .route("/slack/commands", post(slack::commands))
        .route("/slack/interactions", post(slack::interactions))
        .fallback(|| async { Problem::not_found("there is nothing at this address") })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        // The budget bounds bodies, and says so in its own words.
        .layer(DefaultBodyLimit::disable())
        .with_state(app)
}
