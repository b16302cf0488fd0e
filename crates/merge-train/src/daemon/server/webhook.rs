//! `POST /webhook`: verify, classify, store, and only then `202`.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use github::webhook;
use merge_train_core::ids::{DeliveryId, RepoId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::commands;
use serde_json::{Map, json};
use store::{Admission, Arrival, Priority, Route};

use super::App;
use super::body::BufferedBody;
use super::idempotency::{self, Accepted};
use super::openapi::Delivering;
use super::problem::Problem;
use crate::clock;
use crate::daemon::driver::Urgency;
use crate::daemon::failpoint;
use crate::telemetry::metrics::{ACK, WEBHOOKS};

/// Bodies beyond this are looked at beside the threads that serve everybody.
const LARGE: usize = 256 << 10;

/// Receives a webhook from GitHub
#[utoipa::path(
    post,
    path = "/webhook",
    operation_id = "receive_webhook",
    tag = "senders",
    params(
        (
            "X-GitHub-Event" = String, Header, pattern = "^[a-z_]{1,100}$", example = "pull_request",
            description = "What it is about."
        ),
        ("X-GitHub-Delivery" = String, Header, pattern = "^[A-Za-z0-9._-]{1,128}$", description = "The id of the delivery."),
        ("X-Hub-Signature-256" = String, Header, description = "Proof that GitHub sent it: `sha256=` and the HMAC of \
             the body."),
    ),
    request_body(content(
        (Object = "application/json"),
        (Object = "application/x-www-form-urlencoded"),
    )),
    responses((status = 202, description = "Stored.", body = Accepted), Delivering)
)]
pub async fn receive(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    let began = Instant::now();
    let event = headers.get("x-github-event").and_then(|value| value.to_str().ok()).unwrap_or("");
    let (response, result) = match take_in(&app, &headers, event, body).await {
        Ok((response, result)) => (response, result),
        Err(problem) => {
            let status = problem.status();
            tracing::warn!(event_name = event, status = status.as_u16(), ?problem, "a delivery was refused");
            (problem.into_response(), if status.is_server_error() { "unavailable" } else { "refused" })
        }
    };
    // What was not verified does not get to name a time series.
    let label = if result == "refused" { "unknown".to_owned() } else { event.to_owned() };
    metrics::counter!(WEBHOOKS, "event" => label, "result" => result).increment(1);
    metrics::histogram!(ACK).record(began.elapsed());
    failpoint::answer("webhook", response)
}

async fn take_in(app: &App, headers: &HeaderMap, event: &str, body: Body) -> Result<(Response, &'static str), Problem> {
    let held = app.budget.read(headers, body).await?;
    let arrival = if held.bytes.len() > LARGE {
        tokio::task::block_in_place(|| examine(app, headers, event, &held))?
    } else {
        examine(app, headers, event, &held)?
    };
    let (key, addressee) = (arrival.key.clone(), addressee(&arrival));
    let admission = idempotency::admit(app, arrival).await?;
    if let (Admission::Accepted, Some((repo, urgency))) = (&admission, &addressee) {
        app.driver.wake(repo, *urgency);
    }
    idempotency::answer(Source::GithubWebhook, &key, admission, &Map::new())
}

/// Whose worker is to be woken, and how.
fn addressee(arrival: &Arrival) -> Option<(RepoId, Urgency)> {
    match &arrival.route {
        Route::Stream { stream: StreamId::Repo(repo), priority, .. } => {
            let urgency = if *priority == Priority::Stop { Urgency::Alarm } else { Urgency::Usual };
            Some((repo.clone(), urgency))
        }
        _ => None,
    }
}

/// Is it GitHub, and for whom is it?
fn examine(app: &App, headers: &HeaderMap, event: &str, held: &BufferedBody) -> Result<Arrival, Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    webhook::verify(&app.secrets, &held.bytes, text("x-hub-signature-256"))
        .map_err(|error| Problem::unauthorized(error.to_string()))?;
    if event.is_empty() || event.len() > 100 || !event.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
        return Err(Problem::bad_request("the header X-GitHub-Event does not name an event"));
    }
    let delivery =
        text("x-github-delivery").ok_or_else(|| Problem::bad_request("the header X-GitHub-Delivery is missing"))?;
    let delivery = DeliveryId::parse(delivery)
        .map_err(|error| Problem::bad_request(format!("the header X-GitHub-Delivery is wrong: {error}")))?;
    let payload = webhook::body_of(text(header::CONTENT_TYPE.as_str()), &held.bytes)
        .map_err(|error| Problem::bad_request(error.to_string()))?;
    let glance = webhook::glance(event, &payload).map_err(|error| Problem::bad_request(error.to_string()))?;
    let is_stop = glance.comment.is_some_and(|comment| commands::says_stop(&comment.body));
    let hash = RequestHash::of(&payload);
    let (tenant, route) = match glance.repo {
        Some(repo) => {
            let priority = if is_stop { Priority::Stop } else { Priority::Normal };
            let (tenant, stream) = (repo.tenant(), StreamId::Repo(repo));
            (tenant, Route::Stream { stream, priority, label: event.to_owned(), body: payload.into_owned() })
        }
        None => {
            app_wide(app, event, glance.tenant.as_ref());
            let response = json!({ "status": "processed", "delivery": delivery });
            (glance.tenant.unwrap_or_else(TenantId::nobody), Route::Done { response })
        }
    };
    let key = Key::github(&delivery);
    Ok(Arrival { tenant, key, source: Source::GithubWebhook, hash, received_at: clock::now(), route })
}

/// What concerns the whole app belongs to no repository's stream.
fn app_wide(app: &App, event: &str, tenant: Option<&TenantId>) {
    if event.starts_with("installation")
        && let Some(tenant) = tenant
    {
        app.github.forget_installations_of(tenant.as_str());
    }
    tracing::info!(event_name = event, tenant = tenant.map(TenantId::as_str), "heard of the app itself");
}
