//! The simulator's own API, under `/_sim`: what GitHub has no endpoint for. Nobody has to prove who they are here, so
//! the simulator listens on the loopback interface unless told otherwise.

mod apps;
mod calls;
mod ci;
mod deliveries;
mod faults;
mod logs;
mod repos;
mod settings;
mod users;

pub use calls::Calls;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::middleware::from_fn;
use axum::routing::{any, get};
use serde_json::{Value, json};

use crate::http::{self, ApiError, ApiResult};
use crate::{Sim, setup};

/// What there is, for whoever asks `/_sim`.
const INDEX: &[(&str, &str)] = &[
    ("GET /_sim/info", "addresses, users with their tokens, the app: what sim.json says"),
    ("GET /_sim/users", "every user and organization"),
    ("POST /_sim/users", "make a user {login, name?, email?, site_admin?}; the answer has a token"),
    ("POST /_sim/orgs", "make an organization {login, admins?, members?}"),
    ("GET, PATCH /_sim/settings", "limits, lags and the like; what is left out stays"),
    ("GET, POST /_sim/clock", "the simulator's clock; {advance_seconds} moves it on"),
    ("GET, POST, DELETE /_sim/faults", "what goes wrong: one fault or a list of them"),
    ("DELETE /_sim/faults/{id}", "take one fault back"),
    ("GET, DELETE /_sim/calls", "how often each endpoint was called; ?repository=owner/name"),
    ("POST /_sim/rate_limit/reset", "give everyone their whole rate limit again"),
    ("GET /_sim/deliveries", "every webhook with its payload; ?event=push or ?event=pull_request.opened"),
    ("POST /_sim/deliveries/{id}/redeliver", "send a webhook again"),
    ("POST /_sim/deliveries/take", "the webhooks that wait where settings say hold_webhooks; they count as delivered"),
    ("PATCH /_sim/repos/{owner}/{repo}", "{has_pre_receive_hook}"),
    ("GET, PUT, DELETE /_sim/repos/{owner}/{repo}/ci", "the checks that run for every pushed commit"),
    ("POST /_sim/repos/{owner}/{repo}/checks", "set a check by hand"),
    ("GET /_sim/logs/{job_id}", "what a job printed"),
    ("GET, PATCH /_sim/app", "the app: {webhook_url, webhook_secret, events, permissions}"),
    ("POST /_sim/app-manifests", "agree to an app {manifest, owner?}; the answer has the code to convert"),
    ("GET, POST /_sim/installations", "install an app {app, account, repositories?}"),
    ("PATCH, DELETE /_sim/installations/{id}", "change which {repositories} it covers, or take it off"),
];

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/", get(index))
        .route("/info", get(info))
        .merge(apps::routes())
        .merge(calls::routes())
        .merge(ci::routes())
        .merge(deliveries::routes())
        .merge(faults::routes())
        .merge(logs::routes())
        .merge(repos::routes())
        .merge(settings::routes())
        .merge(users::routes())
        // A route, not a fallback: the pages would take `/_sim/x` for a repository.
        .route("/{*rest}", any(nothing_there))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(http::catch_panics))
}

async fn index() -> ApiResult {
    let list: Value = INDEX.iter().map(|(call, what)| ((*call).to_owned(), json!(what))).collect();
    Ok(http::json(200, &list))
}

async fn info(State(sim): State<Sim>) -> ApiResult {
    Ok(http::json(200, &setup::description(&sim)))
}

async fn nothing_there() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "There is nothing here; GET /_sim lists what there is")
}

async fn wrong_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "Not with this method; GET /_sim lists what there is")
}
