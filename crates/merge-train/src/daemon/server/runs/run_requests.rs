//! What people want of a run.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use merge_train_core::inbox::{RequestHash, Source};
use merge_train_core::repo::TRAIN;
use merge_train_core::workflow::{DEEPEST, Decision, Initiator, Request, Run, RunStatus, Signal, is_too_deep};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoResponses, ToSchema};

use super::{known, marked, told};
use crate::config::{ApiKey, Role};
use crate::daemon::failpoint;
use crate::daemon::run_orders::{OrderOrigin, RequestProgress};
use crate::daemon::server::App;
use crate::daemon::server::address::{PathParameters, RunPath};
use crate::daemon::server::openapi::Ordering;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::requests::{self, IdempotencyParameters};

/// An optional reason for a request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reason)]
pub struct ReasonBody {
    #[schema(example = "looks fine")]
    reason: Option<String>,
}

/// Why not.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Rejection)]
pub struct RejectionBody {
    /// For the people who wait for the run; it is recorded with the run.
    #[schema(example = "the tests of the new importer are missing", min_length = 1)]
    reason: String,
}

/// An external event.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = Signal)]
pub struct SignalBody {
    /// Its type, as the workflow names it.
    #[schema(example = "release.published")]
    event: String,
    /// Which one, if there are several.
    correlation: Option<String>,
    /// Its source; by default, the sender.
    source: Option<String>,
    /// Its id at the source.
    event_id: Option<String>,
    /// Data for the following steps.
    #[serde(default)]
    payload: Value,
}

/// What is told of an order that was taken.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it is described here and made by `ask`")]
pub enum RunRequestResponses {
    /// Done. The run as it is now.
    #[response(status = 200, headers(("Idempotent-Replayed" = String, description = "`true` if it was already \
         requested.")))]
    Done(Run),
    /// Accepted; not yet done. The run as it is now.
    #[response(status = 202, headers(("Idempotent-Replayed" = String, description = "`true` if it was already \
         requested.")))]
    UnderWay(Run),
}

/// Approves what a run waits for
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/approve",
    operation_id = "approve_run",
    tag = "runs",
    params(RunPath, IdempotencyParameters),
    request_body = Option<ReasonBody>,
    responses(RunRequestResponses, Ordering)
)]
pub async fn approve(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let ReasonBody { reason } = requests::read(&held.bytes)?;
    decide(&app, &headers, client, &run, Decision::Approved, reason).await
}

/// Rejects what a run waits for
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/reject",
    operation_id = "reject_run",
    tag = "runs",
    params(RunPath, IdempotencyParameters),
    request_body = RejectionBody,
    responses(RunRequestResponses, Ordering)
)]
pub async fn reject(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let RejectionBody { reason } = requests::read(&held.bytes)?;
    if reason.is_empty() {
        return Err(Problem::bad_request("reason is empty; say why, for the people who wait for the run"));
    }
    decide(&app, &headers, client, &run, Decision::Rejected, Some(reason)).await
}

async fn decide(
    app: &App,
    headers: &HeaderMap,
    client: &ApiKey,
    run: &Run,
    decision: Decision,
    reason: Option<String>,
) -> Result<Response, Problem> {
    let request = Request::Decide { by: format!("api:{}", client.name), decision, reason, step: None };
    ask(app, headers, client, run, request).await
}

/// Cancels a run
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/cancel",
    operation_id = "cancel_run",
    tag = "runs",
    params(RunPath, IdempotencyParameters),
    request_body = Option<ReasonBody>,
    responses(RunRequestResponses, Ordering)
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let ReasonBody { reason } = requests::read(&held.bytes)?;
    let by = Some(format!("api:{}", client.name));
    let request = Request::Cancel { initiator: Initiator::User, by, reason };
    ask(&app, &headers, client, &run, request).await
}

/// Sends an external event to a run
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/signal",
    operation_id = "signal_run",
    tag = "runs",
    params(RunPath, IdempotencyParameters),
    request_body = SignalBody,
    responses(RunRequestResponses, Ordering)
)]
pub async fn signal(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let SignalBody { event, correlation, source, event_id, payload } = requests::read(&held.bytes)?;
    if is_too_deep(&payload) {
        return Err(Problem::bad_request(format!("payload is nested more than {DEEPEST} levels deep")));
    }
    let source = source.or_else(|| Some(format!("api:{}", client.name)));
    let signal = Signal { event, correlation, source, event_id, payload };
    ask(&app, &headers, client, &run, Request::Signal(signal)).await
}

/// Lets a waiting run continue now
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/resume",
    operation_id = "resume_run",
    tag = "runs",
    params(RunPath, IdempotencyParameters),
    request_body = Option<ReasonBody>,
    responses(RunRequestResponses, Ordering)
)]
pub async fn resume(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let ReasonBody { reason } = requests::read(&held.bytes)?;
    ask(&app, &headers, client, &run, Request::Resume { by: format!("api:{}", client.name), reason }).await
}

async fn ask(
    app: &App,
    headers: &HeaderMap,
    client: &ApiKey,
    run: &Run,
    request: Request,
) -> Result<Response, Problem> {
    let body = serde_json::to_vec(&request).expect("a request is JSON");
    let key = requests::key(headers, &client.name)?;
    let hash = RequestHash::of(&[format!("{}\n", run.id).as_bytes(), &body].concat());
    let origin = OrderOrigin { source: Source::Api, key, hash };
    let placed = app.orders.ask(&run.tenant_id, &run.id, request, origin).await.map_err(told(app))?;
    let progress = app.orders.outcome(&placed).await.map_err(told(app))?;
    let now = app.store.run(Some(&run.tenant_id), &run.id).await?;
    let now = now.as_ref().unwrap_or(run);
    // A train that a person lets go on reads the rules and computes its plan first.
    let is_thinking = run.kind == TRAIN && now.status == RunStatus::AwaitingApproval;
    let is_done = progress == RequestProgress::Done && !is_thinking;
    let status = if is_done { StatusCode::OK } else { StatusCode::ACCEPTED };
    let response = marked((status, Json(now)).into_response(), &placed);
    Ok(failpoint::answer("api", response))
}
