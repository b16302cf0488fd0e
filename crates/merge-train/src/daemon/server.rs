//! What the daemon listens to: webhooks, questions about its health, and its API.

mod access;
mod address;
mod body;
mod dashboard;
mod feed;
mod health;
mod idempotency;
mod openapi;
mod page;
mod problem;
mod repos;
mod requests;
mod runs;
pub mod settings;
mod slack;
mod trains;
mod webhook;
mod workspaces;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use github::webhook::Secrets;
use merge_train_core::repo::Settings;
use metrics_exporter_prometheus::PrometheusHandle;
use store::Store;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::ApiKey;
use crate::daemon::driver::Driver;
use crate::daemon::heartbeat::LastHeartbeats;
use crate::daemon::run_orders::RunOrders;
pub use body::BodyMemoryBudget;
pub use dashboard::page_of;
pub use health::Health;
use problem::Problem;
pub use slack::{SlackIntegration, escape as escape_for_slack};

/// What the handlers share.
pub struct App {
    pub store: Arc<dyn Store>,
    pub driver: Driver,
    pub secrets: Secrets,
    pub budget: BodyMemoryBudget,
    pub api_keys: Vec<ApiKey>,
    pub health: Arc<Health>,
    pub metrics: PrometheusHandle,
    pub github: github::Client,
    /// What the addresses of pages at GitHub begin with.
    pub web_url: String,
    /// How the world reaches this server.
    pub public_url: Option<String>,
    /// The key of visitors who have not signed in, where they are welcome.
    pub anonymous: Option<String>,
    pub orders: RunOrders,
    /// What the workers go by.
    pub settings: Settings,
    /// When the heartbeat of the ratchet last looked.
    pub checked: Arc<LastHeartbeats>,
    /// Where runs have their logs.
    pub run_folders: PathBuf,
    /// None where Slack may do nothing.
    pub slack: Option<Arc<SlackIntegration>>,
}

pub fn router(app: Arc<App>) -> Router {
    let (router, _) = routes().split_for_parts();
    router
        .merge(dashboard::router())
        .fallback(dashboard::nothing_there)
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
        // The budget bounds bodies, and says so in its own words.
        .layer(DefaultBodyLimit::disable())
        .with_state(app)
}

/// The API alone, as the dashboard asks it.
fn api(app: Arc<App>) -> Router {
    let (router, _) = routes().split_for_parts();
    router.with_state(app)
}

/// Every address of the API, with its description: none comes without.
fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::beginning())
        .routes(routes!(webhook::receive))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(openapi::show))
        .routes(routes!(repos::list))
        .routes(routes!(repos::state))
        .routes(routes!(repos::sync))
        .routes(routes!(settings::show))
        .routes(routes!(trains::list))
        .routes(routes!(trains::show))
        .routes(routes!(trains::actions::start))
        .routes(routes!(trains::actions::stop))
        .routes(routes!(runs::list, runs::create))
        .routes(routes!(runs::show))
        .routes(routes!(runs::steps))
        .routes(routes!(runs::checkpoints))
        .routes(routes!(runs::events::list))
        .routes(routes!(runs::events::watch))
        .routes(routes!(runs::logs::list))
        .routes(routes!(runs::logs::show))
        .routes(routes!(runs::run_requests::approve))
        .routes(routes!(runs::run_requests::reject))
        .routes(routes!(runs::run_requests::cancel))
        .routes(routes!(runs::run_requests::resume))
        .routes(routes!(runs::run_requests::signal))
        .routes(routes!(workspaces::list))
        .routes(routes!(workspaces::show))
        .routes(routes!(workspaces::transitions))
        .routes(routes!(workspaces::toggle::set, workspaces::toggle::turn))
        .routes(routes!(workspaces::toggle::show_default, workspaces::toggle::set_default))
        .routes(routes!(workspaces::sessions::list, workspaces::sessions::open))
        .routes(routes!(workspaces::sessions::delete))
        .routes(routes!(workspaces::sessions::heartbeat))
        .routes(routes!(workspaces::sessions::end))
        .routes(routes!(feed::watch))
        .routes(routes!(slack::commands))
        .routes(routes!(slack::interactions))
}
