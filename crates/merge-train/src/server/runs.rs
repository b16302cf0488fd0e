//! `/api/v1/runs…`: runs, and what people want of them.

mod events;

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId, RunId, TenantId};
use merge_train_core::inbox::{RequestHash, Source};
use merge_train_core::repo::TRAIN;
use merge_train_core::run::{Decision, Illegal, Initiator, Request, Run, Signal, Trigger, TriggerSource};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::{RunCursor, RunQuery, RunStatus};

use super::App;
use super::access::{presented, require};
use super::problem::Problem;
use super::requests::key;
use super::trains::{self, Order};
use crate::config::{ApiKey, Role, Tenants};
use crate::driver::Refused;
use crate::failpoint;
use crate::orders::{self, Failed, Origin, Placed, Progress};

pub use events::{list as events, watch};

const LENGTH: usize = 50;
const MOST: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    workflow: String,
    #[serde(default)]
    inputs: Map<String, Value>,
    repo: Option<RepoId>,
    pr: Option<PrNumber>,
    /// Whose run it is, where neither the key nor the repository says.
    tenant: Option<TenantId>,
}

/// Creates a run.
pub async fn create(State(app): State<Arc<App>>, headers: HeaderMap, body: Bytes) -> Result<Response, Problem> {
    let key_presented = presented(&app.api_keys, &headers)?;
    let wanted: Wanted = read(&body)?;
    let tenant = tenant_of(key_presented, &wanted)?;
    let client = require(&app.api_keys, &headers, Role::Operator, &tenant)?;
    let key = key(&headers, &client.name)?;
    let user_id = Some(format!("api:{}", client.name));
    let trigger = Trigger { source: source_of(&headers), user_id, webhook_event_id: None };
    let Wanted { workflow, inputs, repo, pr, .. } = wanted;
    let wanted = orders::Wanted { workflow, inputs, tenant: tenant.clone(), repo, pr, trigger };
    let hash = RequestHash::of(&[b"create\n", &body[..]].concat());
    let placed = app.orders.create(wanted, Origin { source: Source::Api, key, hash }).await.map_err(told(&app))?;
    let progress = app.orders.outcome(&placed).await.map_err(told(&app))?;
    let run = &placed.run;
    let location = format!("/api/v1/runs/{run}");
    let status = if progress == Progress::Done { StatusCode::CREATED } else { StatusCode::ACCEPTED };
    let document = app.store.run(Some(&tenant), run).await?;
    let body = document.map_or_else(|| json!({ "id": run, "status": "pending" }), |run| json!(run));
    let mut response = (status, [(header::LOCATION, location)], Json(body)).into_response();
    if placed.is_replayed {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    Ok(failpoint::answer("api", response))
}

/// Whether a person typed it, or a program asked.
fn source_of(headers: &HeaderMap) -> TriggerSource {
    match headers.get("x-merge-train-client").map(HeaderValue::as_bytes) {
        Some(b"cli") => TriggerSource::Cli,
        Some(b"ui") => TriggerSource::Ui,
        _ => TriggerSource::Api,
    }
}

/// What a caller is told of an order that failed.
fn told(app: &App) -> impl Fn(Failed) -> Problem {
    move |failed| {
        let detail = failed.to_string();
        match failed {
            Failed::UnknownWorkflow { .. } => Problem::new(StatusCode::NOT_FOUND, "UNKNOWN_WORKFLOW", detail),
            Failed::NoSuchRun => Problem::new(StatusCode::NOT_FOUND, "NO_SUCH_RUN", detail),
            Failed::Inputs { .. } => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_INPUTS", detail),
            Failed::Conflict { .. } => Problem::new(StatusCode::CONFLICT, "IDEMPOTENCY_CONFLICT", detail),
            Failed::Exhausted { .. } | Failed::Order(_) => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "REQUEST_FAILED", detail)
            }
            Failed::Refused(refused) => refusal(&refused),
            Failed::TooSlow => Problem::unavailable(detail),
            Failed::Store(error) => {
                if error.is_outage() {
                    app.health.store_failed(&error);
                }
                error.into()
            }
        }
    }
}

fn tenant_of(key: &ApiKey, wanted: &Wanted) -> Result<TenantId, Problem> {
    match (&wanted.repo, &wanted.tenant, &key.tenant) {
        (Some(repo), Some(tenant), _) if repo.tenant() != *tenant => {
            Err(Problem::bad_request(format!("the repository {repo} is not {tenant}'s")))
        }
        (Some(repo), _, _) => Ok(repo.tenant()),
        (None, Some(tenant), _) | (None, None, Tenants::One(tenant)) => Ok(tenant.clone()),
        (None, None, Tenants::All) => {
            Err(Problem::bad_request("whose run is it? The API key is for all: name a repo or a tenant"))
        }
    }
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Problem> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is not what this request takes: {error}")))
}

fn refusal(refused: &Refused) -> Problem {
    let detail = refused.detail.clone();
    match refused.code.as_str() {
        "FORBIDDEN" => Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", detail),
        "RUN_TERMINAL_STATE" => Problem::new(StatusCode::CONFLICT, "RUN_TERMINAL_STATE", detail),
        "RUN_INVALID_TRANSITION" => Problem::new(StatusCode::CONFLICT, "RUN_INVALID_TRANSITION", detail),
        _ => Problem::conflict(detail),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Which {
    tenant: Option<TenantId>,
    status: Option<RunStatus>,
    repo: Option<RepoId>,
    #[serde(rename = "type")]
    kind: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

/// Runs, newest first.
pub async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Which>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let client = presented(&app.api_keys, &headers)?;
    let Query(which) = query.map_err(|error| {
        let takes = format!("a list takes `tenant`, `status`, `repo`, `type`, `cursor`, and `limit` up to {MOST}");
        Problem::bad_request(format!("{}; {takes}", error.body_text()))
    })?;
    let limit = which.limit.unwrap_or(LENGTH);
    if limit == 0 || limit > MOST {
        return Err(Problem::bad_request(format!("limit is {limit}; it must be a whole number, 1–{MOST}")));
    }
    let tenant = match (&client.tenant, which.tenant) {
        (Tenants::All, tenant) => tenant,
        (Tenants::One(own), None) => Some(own.clone()),
        (Tenants::One(own), Some(tenant)) if *own == tenant => Some(tenant),
        // Of others there is nothing to be seen.
        (Tenants::One(_), Some(_)) => return Ok(Json(json!({ "runs": [], "next_cursor": null }))),
    };
    let after = which.cursor.as_deref().map(read_cursor).transpose()?;
    let (status, repo, kind) = (which.status, which.repo, which.kind);
    let query = RunQuery { tenant, status, repo, kind, except: None, after, limit: limit + 1 };
    let mut runs = app.store.runs(&query).await?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next_cursor = runs.last().filter(|_| has_more).map(cursor);
    Ok(Json(json!({ "runs": runs, "next_cursor": next_cursor })))
}

fn cursor(run: &Run) -> String {
    format!("{}_{}", run.created_at.as_microsecond(), run.id)
}

fn read_cursor(text: &str) -> Result<RunCursor, Problem> {
    let read = || {
        let (at, id) = text.split_once('_')?;
        Some(RunCursor { created_at: Timestamp::from_microsecond(at.parse().ok()?).ok()?, id: RunId::parse(id).ok()? })
    };
    read().ok_or_else(|| {
        Problem::bad_request("cursor is not one that was given out here; take next_cursor of the page before")
    })
}

/// A run that the presented key may see, and the key. Another tenant's is not there.
async fn known<'a>(app: &'a App, headers: &HeaderMap, id: &str, role: Role) -> Result<(Run, &'a ApiKey), Problem> {
    let client = presented(&app.api_keys, headers)?;
    let nowhere = || Problem::new(StatusCode::NOT_FOUND, "NO_SUCH_RUN", "there is no such run");
    let id = RunId::parse(id).map_err(|_| nowhere())?;
    let tenant = match &client.tenant {
        Tenants::All => None,
        Tenants::One(tenant) => Some(tenant),
    };
    let run = app.store.run(tenant, &id).await?.ok_or_else(nowhere)?;
    require(&app.api_keys, headers, role, &run.tenant_id)?;
    Ok((run, client))
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Run>, Problem> {
    Ok(Json(known(&app, &headers, &id, Role::Viewer).await?.0))
}

pub async fn steps(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let (run, _) = known(&app, &headers, &id, Role::Viewer).await?;
    Ok(Json(json!({ "steps": app.store.steps(&run.tenant_id, &run.id).await? })))
}

pub async fn checkpoints(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let (run, _) = known(&app, &headers, &id, Role::Viewer).await?;
    Ok(Json(json!({ "checkpoints": app.store.checkpoints(&run.tenant_id, &run.id).await? })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Why {
    reason: Option<String>,
}

pub async fn approve(
    app: State<Arc<App>>,
    id: Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    decide(app, id, headers, body, Decision::Approved).await
}

pub async fn reject(
    app: State<Arc<App>>,
    id: Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    decide(app, id, headers, body, Decision::Rejected).await
}

async fn decide(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
    decision: Decision,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &id, Role::Operator).await?;
    let Why { reason } = read(&body)?;
    let request = Request::Decide { by: format!("api:{}", client.name), decision, reason, step: None };
    ask(&app, &headers, client, &run, request).await
}

pub async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &id, Role::Operator).await?;
    let Why { reason } = read(&body)?;
    let by = Some(format!("api:{}", client.name));
    let request = Request::Cancel { initiator: Initiator::User, by, reason };
    ask(&app, &headers, client, &run, request).await
}

pub async fn signal(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &id, Role::Operator).await?;
    let signal: Signal = read(&body)?;
    let source = signal.source.or_else(|| Some(format!("api:{}", client.name)));
    ask(&app, &headers, client, &run, Request::Signal(Signal { source, ..signal })).await
}

/// Goes on with what waits, at once.
pub async fn resume(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let (run, client) = known(&app, &headers, &id, Role::Operator).await?;
    let Why { reason } = read(&body)?;
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
        let key = key(headers, &client.name)?;
        let hash = RequestHash::of(&[format!("{}\n", run.id).as_bytes(), &body].concat());
        let origin = Origin { source: Source::Api, key, hash };
        app.orders.ask(&run.tenant_id, &run.id, request, origin).await.map_err(told(app))?
    };
    let progress = app.orders.outcome(&placed).await.map_err(told(app))?;
    let status = if progress == Progress::Done { StatusCode::OK } else { StatusCode::ACCEPTED };
    let run = app.store.run(Some(&run.tenant_id), &run.id).await?;
    let response = (status, Json(json!(run))).into_response();
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
