//! What people want of a run.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::inbox::{RequestHash, Source};
use merge_train_core::repo::TRAIN;
use merge_train_core::run::{Decision, Illegal, Initiator, Request, Run, RunStatus, Signal};
use serde::Deserialize;
use utoipa::{IntoResponses, ToSchema};

use super::{known, refusal, told};
use crate::config::{ApiKey, Role};
use crate::driver::Refused;
use crate::failpoint;
use crate::orders::{Origin, Placed, Progress};
use crate::server::App;
use crate::server::address::{Named, OneRun};
use crate::server::openapi::Ordering;
use crate::server::problem::Problem;
use crate::server::requests::{self, Identity};
use crate::server::trains::{self, Order};

/// What somebody says to an order.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reason)]
pub struct Why {
    #[schema(example = "looks fine")]
    reason: Option<String>,
}

/// What is told of an order that was taken.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it is described here and made by `ask`")]
pub enum Answered {
    /// It was done: the run as it is now.
    #[response(status = 200)]
    Done(Run),
    /// It was taken in, and will be done: the run as it is now.
    #[response(status = 202)]
    UnderWay(Run),
}

/// Approves what a run waits for
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/approve",
    operation_id = "approve_run",
    tag = "runs",
    params(OneRun, Identity),
    request_body = Option<Why>,
    responses(Answered, Ordering)
)]
pub async fn approve(
    app: State<Arc<App>>,
    one: Named<OneRun>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    decide(app, one, headers, body, Decision::Approved).await
}

/// Rejects what a run waits for
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/reject",
    operation_id = "reject_run",
    tag = "runs",
    params(OneRun, Identity),
    request_body = Option<Why>,
    responses(Answered, Ordering)
)]
pub async fn reject(
    app: State<Arc<App>>,
    one: Named<OneRun>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    decide(app, one, headers, body, Decision::Rejected).await
}

async fn decide(
    State(app): State<Arc<App>>,
    Named(one): Named<OneRun>,
    headers: HeaderMap,
    body: Body,
    decision: Decision,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let Why { reason } = requests::read(&held.bytes)?;
    let request = Request::Decide { by: format!("api:{}", client.name), decision, reason, step: None };
    ask(&app, &headers, client, &run, request).await
}

/// Cancels a run
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/cancel",
    operation_id = "cancel_run",
    tag = "runs",
    params(OneRun, Identity),
    request_body = Option<Why>,
    responses(Answered, Ordering)
)]
pub async fn cancel(
    State(app): State<Arc<App>>,
    Named(one): Named<OneRun>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let Why { reason } = requests::read(&held.bytes)?;
    let by = Some(format!("api:{}", client.name));
    let request = Request::Cancel { initiator: Initiator::User, by, reason };
    ask(&app, &headers, client, &run, request).await
}

/// Tells a run of something that happened outside
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/signal",
    operation_id = "signal_run",
    tag = "runs",
    params(OneRun, Identity),
    request_body = Signal,
    responses(Answered, Ordering)
)]
pub async fn signal(
    State(app): State<Arc<App>>,
    Named(one): Named<OneRun>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let signal: Signal = requests::read(&held.bytes)?;
    let source = signal.source.or_else(|| Some(format!("api:{}", client.name)));
    ask(&app, &headers, client, &run, Request::Signal(Signal { source, ..signal })).await
}

/// Goes on with what waits, at once
#[utoipa::path(
    post,
    path = "/api/v1/runs/{id}/resume",
    operation_id = "resume_run",
    tag = "runs",
    params(OneRun, Identity),
    request_body = Option<Why>,
    responses(Answered, Ordering)
)]
pub async fn resume(
    State(app): State<Arc<App>>,
    Named(one): Named<OneRun>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &one.id, Role::Operator).await?;
    let held = app.budget.read(&headers, body).await?;
    let Why { reason } = requests::read(&held.bytes)?;
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
    let placed = if run.kind == TRAIN {
        ask_train(app, headers, client, run, &request, &body).await?
    } else {
        let key = requests::key(headers, &client.name)?;
        let hash = RequestHash::of(&[format!("{}\n", run.id).as_bytes(), &body].concat());
        let origin = Origin { source: Source::Api, key, hash };
        app.orders.ask(&run.tenant_id, &run.id, request, origin).await.map_err(told(app))?
    };
    let progress = app.orders.outcome(&placed).await.map_err(told(app))?;
    let status = if progress == Progress::Done { StatusCode::OK } else { StatusCode::ACCEPTED };
    let now = app.store.run(Some(&run.tenant_id), &run.id).await?;
    let response = (status, Json(now.as_ref().unwrap_or(run))).into_response();
    Ok(failpoint::answer("api", response))
}

/// What is wanted of the run that a train is, is wanted of the train.
async fn ask_train(
    app: &App,
    headers: &HeaderMap,
    client: &ApiKey,
    run: &Run,
    request: &Request,
    body: &[u8],
) -> Result<Placed, Problem> {
    let illegal =
        |illegal: Illegal| refusal(&Refused { code: illegal.code().to_string(), detail: illegal.to_string() });
    let waits_for_a_person = run.status == RunStatus::AwaitingApproval;
    let (to, order) = match request {
        Request::Cancel { .. } => (RunStatus::Cancelled, Order::Stop),
        Request::Decide { decision: Decision::Approved, .. } => (RunStatus::Running, Order::Start),
        Request::Decide { decision: Decision::Rejected, .. } => (RunStatus::Cancelled, Order::Stop),
        Request::Resume { .. } if waits_for_a_person => (RunStatus::Running, Order::Start),
        Request::Resume { .. } => (RunStatus::Running, Order::Retry),
        Request::Signal(_) => {
            return Err(Problem::conflict("a train hears from GitHub itself; it takes no other signals"));
        }
    };
    let is_decision = matches!(request, Request::Decide { .. });
    if is_decision && !waits_for_a_person && !run.status.is_terminal() {
        return Err(illegal(Illegal::InvalidTransition { from: run.status, to }));
    }
    // To have a train look again that runs already is no transition.
    if run.status != to || to.is_terminal() {
        run.status.check(to).map_err(illegal)?;
    }
    let repo: RepoId = run.repo_id.parse().map_err(|_| Problem::not_found("the train's repository has no name"))?;
    let pr = run.pr_id.parse().map(PrNumber::new).map_err(|_| Problem::not_found("the train has no pull request"))?;
    let key = trains::for_run(app, headers, client, (&repo, pr), order, body).await?;
    Ok(Placed { run: run.id.clone(), tenant: repo.tenant(), key, is_repeated: false, is_replayed: false })
}
