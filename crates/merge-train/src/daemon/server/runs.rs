//! `/api/v1/runs…`: runs, and what people want of them.

pub mod events;
pub mod logs;
pub mod run_requests;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId, RunId, TenantId};
use merge_train_core::inbox::{RequestHash, Source};
use merge_train_core::workflow::{Checkpoint, Run, RunStep, Trigger, TriggerSource};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use store::{RunCursor, RunQuery, RunStatus};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::access::{presented, require};
use super::address::{LARGEST_NUMBER, PathParameters, RunPath};
use super::openapi::{Ordering, Reading, ReadingOne};
use super::problem::Problem;
use super::requests::{self, IdempotencyParameters};
use crate::config::{ApiKey, Role, Tenants};
use crate::daemon::driver::StoredRefusal;
use crate::daemon::failpoint;
use crate::daemon::run_orders::{self, AcceptedOrder, OrderError, OrderOrigin, RequestProgress};

const LENGTH: usize = 50;
const MOST: usize = 200;
/// How many digits of a cursor are a time; so many are always one.
const MOST_DIGITS: usize = 16;

/// A run to start.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WantedRun)]
pub struct StartRunBody {
    /// The name of a configured workflow.
    #[schema(example = "release")]
    workflow: String,
    /// The workflow's inputs.
    #[serde(default)]
    #[schema(example = json!({ "version": "1.2.0" }))]
    inputs: Map<String, Value>,
    /// The repository that it is about.
    repo: Option<RepoId>,
    /// The pull request that it is about.
    #[serde(default, deserialize_with = "number")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 9_007_199_254_740_991_u64, example = 7)]
    pr: Option<PrNumber>,
    /// The tenant, if neither the key nor the repository determines it.
    tenant: Option<TenantId>,
}

/// A number of JSON is whole if it has no fraction, also where it is written with a point.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PrNumber>, D::Error> {
    match Option::<f64>::deserialize(deserializer)? {
        None => Ok(None),
        Some(number) if number.fract() == 0.0 && (1.0..=LARGEST_NUMBER as f64).contains(&number) => {
            Ok(Some(PrNumber::new(number as u64)))
        }
        Some(number) => Err(serde::de::Error::custom(format!("{number} is not a pull request number"))),
    }
}

/// A run that starts soon.
#[derive(Serialize, ToSchema)]
#[schema(as = ComingRun)]
pub struct ComingRunDocument {
    id: RunId,
    status: RunStatus,
}

/// Starts a run of a workflow
///
/// The same `X-Idempotency-Key` starts the same run.
#[utoipa::path(
    post,
    path = "/api/v1/runs",
    operation_id = "create_run",
    tag = "runs",
    params(
        IdempotencyParameters,
        (
            "X-Merge-Train-Client" = Option<String>, Header, nullable = false, example = "cli",
            description = "`cli` or `ui` if a person sent it; anything else is a program."
        ),
    ),
    request_body = StartRunBody,
    responses(
        (
            status = 201,
            description = "Started.",
            body = Run,
            headers(
                ("Location" = String, description = "Where to follow the result."),
                ("Idempotent-Replayed" = String, description = "`true` if it was already started."),
            )
        ),
        (
            status = 202,
            description = "Accepted; it starts soon.",
            body = ComingRunDocument,
            headers(
                ("Location" = String, description = "Where to follow the result."),
                ("Idempotent-Replayed" = String, description = "`true` if it was already accepted."),
            )
        ),
        Ordering,
    )
)]
pub async fn create(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    let key_presented = presented(&app.api_keys, &headers)?;
    let held = app.budget.read(&headers, body).await?;
    let wanted: StartRunBody = requests::read(&held.bytes)?;
    let tenant = tenant_of(key_presented, &wanted)?;
    let client = require(&app.api_keys, &headers, Role::Operator, &tenant)?;
    let key = requests::key(&headers, &client.name)?;
    let user_id = Some(format!("api:{}", client.name));
    let trigger = Trigger { source: source_of(&headers), user_id, webhook_event_id: None };
    let StartRunBody { workflow, inputs, repo, pr, .. } = wanted;
    let wanted = run_orders::NewRun { workflow, inputs, tenant: tenant.clone(), repo, pr, trigger };
    let hash = RequestHash::of(&[b"create\n", &held.bytes[..]].concat());
    let placed = app.orders.create(wanted, OrderOrigin { source: Source::Api, key, hash }).await.map_err(told(&app))?;
    let progress = app.orders.outcome(&placed).await.map_err(told(&app))?;
    let run = &placed.run;
    let location = format!("/api/v1/runs/{run}");
    let status = if progress == RequestProgress::Done { StatusCode::CREATED } else { StatusCode::ACCEPTED };
    let document = app.store.run(Some(&tenant), run).await?;
    let coming = || Json(ComingRunDocument { id: run.clone(), status: RunStatus::Pending }).into_response();
    let body = document.map_or_else(coming, |run| Json(run).into_response());
    let response = marked((status, [(header::LOCATION, location)], body).into_response(), &placed);
    Ok(failpoint::answer("api", response))
}

/// Whoever sent it before is told so, however far it has come since.
fn marked(mut response: Response, placed: &AcceptedOrder) -> Response {
    if placed.is_repeated {
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
    }
    response
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
pub(super) fn told(app: &App) -> impl Fn(OrderError) -> Problem {
    move |failed| {
        let detail = failed.to_string();
        match failed {
            OrderError::UnknownWorkflow { .. } => Problem::new(StatusCode::NOT_FOUND, "UNKNOWN_WORKFLOW", detail),
            OrderError::NoSuchRun => Problem::new(StatusCode::NOT_FOUND, "NO_SUCH_RUN", detail),
            OrderError::Inputs { .. } => Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "INVALID_INPUTS", detail),
            OrderError::Conflict { .. } => Problem::new(StatusCode::CONFLICT, "IDEMPOTENCY_CONFLICT", detail),
            OrderError::Exhausted { .. } | OrderError::Order(_) => {
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "REQUEST_FAILED", detail)
            }
            OrderError::Refused(refused) => refusal(&refused),
            OrderError::TooSlow => Problem::unavailable(detail),
            OrderError::Store(error) => {
                if error.is_outage() {
                    app.health.store_failed(&error);
                }
                error.into()
            }
        }
    }
}

fn tenant_of(key: &ApiKey, wanted: &StartRunBody) -> Result<TenantId, Problem> {
    // Each part of it may be right: it is together that they do not say whose run it is.
    let unclear = |detail: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "TENANT_UNCLEAR", detail);
    match (&wanted.repo, &wanted.tenant, &key.tenant) {
        (Some(repo), Some(tenant), _) if repo.tenant() != *tenant => {
            Err(unclear(format!("the repository {repo} is not {tenant}'s")))
        }
        (Some(repo), _, _) => Ok(repo.tenant()),
        (None, Some(tenant), _) | (None, None, Tenants::One(tenant)) => Ok(tenant.clone()),
        (None, None, Tenants::All) => {
            Err(unclear("the API key is for all tenants: name a repo or a tenant".to_owned()))
        }
    }
}

fn refusal(refused: &StoredRefusal) -> Problem {
    let detail = refused.detail.clone();
    match refused.code.as_str() {
        "FORBIDDEN" => Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", detail),
        "RUN_TERMINAL_STATE" => Problem::new(StatusCode::CONFLICT, "RUN_TERMINAL_STATE", detail),
        "IDEMPOTENCY_EXPIRED" => Problem::new(StatusCode::CONFLICT, "IDEMPOTENCY_EXPIRED", detail),
        "RUN_INVALID_TRANSITION" => Problem::new(StatusCode::CONFLICT, "RUN_INVALID_TRANSITION", detail),
        _ => Problem::conflict(detail),
    }
}

/// Which runs are asked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunListQuery {
    /// Only this tenant's runs.
    #[param(nullable = false)]
    tenant: Option<TenantId>,
    /// Only runs in this state.
    #[param(nullable = false)]
    status: Option<RunStatus>,
    /// Only runs about this repository.
    #[param(nullable = false)]
    repo: Option<RepoId>,
    /// Only runs of this type: a workflow name, `train` or `fixer`.
    #[serde(rename = "type")]
    #[param(nullable = false, pattern = r"^[^\x00-\x1f\x7f]*$", example = "release")]
    kind: Option<String>,
    /// The `next_cursor` of the previous page.
    #[param(nullable = false, pattern = "^[0-9]{1,16}_[A-Za-z0-9._-]{1,64}$")]
    cursor: Option<String>,
    /// How many at most; the default is 50.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// A page of runs.
#[derive(Serialize, ToSchema)]
#[schema(as = Runs)]
pub struct RunPage {
    runs: Vec<Run>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
}

/// Runs, the newest first
#[utoipa::path(
    get,
    path = "/api/v1/runs",
    operation_id = "list_runs",
    tag = "runs",
    params(RunListQuery),
    responses((status = 200, description = "One page.", body = RunPage), Reading)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<RunListQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<RunPage>, Problem> {
    let client = presented(&app.api_keys, &headers)?;
    let Query(which) = query.map_err(|error| {
        let takes = format!("a list takes `tenant`, `status`, `repo`, `type`, `cursor`, and `limit` up to {MOST}");
        Problem::bad_request(format!("{}; {takes}", error.body_text()))
    })?;
    let limit = which.limit.unwrap_or(LENGTH);
    if limit == 0 || limit > MOST {
        return Err(Problem::bad_request(format!("limit is {limit}; it must be a whole number, 1–{MOST}")));
    }
    if which.kind.iter().any(|kind| kind.bytes().any(|byte| byte.is_ascii_control())) {
        return Err(Problem::bad_request("type contains control characters, which no workflow name has"));
    }
    let tenant = match (&client.tenant, which.tenant) {
        (Tenants::All, tenant) => tenant,
        (Tenants::One(own), None) => Some(own.clone()),
        (Tenants::One(own), Some(tenant)) if *own == tenant => Some(tenant),
        // Of others there is nothing to be seen.
        (Tenants::One(_), Some(_)) => return Ok(Json(RunPage { runs: Vec::new(), next_cursor: None })),
    };
    let after = which.cursor.as_deref().map(read_cursor).transpose()?;
    let (status, repo, kind) = (which.status, which.repo, which.kind);
    let query = RunQuery { tenant, status, repo, kind, except: None, after, limit: limit + 1 };
    let mut runs = app.store.runs(&query).await?;
    let has_more = runs.len() > limit;
    runs.truncate(limit);
    let next_cursor = runs.last().filter(|_| has_more).map(cursor);
    Ok(Json(RunPage { runs, next_cursor }))
}

pub(super) fn cursor(run: &Run) -> String {
    format!("{}_{}", run.created_at.as_microsecond(), run.id)
}

pub(super) fn read_cursor(text: &str) -> Result<RunCursor, Problem> {
    let read = || {
        let (at, id) = text.split_once('_')?;
        let is_time = at.len() <= MOST_DIGITS && at.bytes().all(|byte| byte.is_ascii_digit());
        let at = at.parse().ok().filter(|_| is_time)?;
        Some(RunCursor { created_at: Timestamp::from_microsecond(at).ok()?, id: RunId::parse(id).ok()? })
    };
    read().ok_or_else(|| Problem::bad_request("cursor is not valid; use next_cursor of the previous page"))
}

/// A run that the presented key may see, and the key. Another tenant's is not there.
pub(super) async fn known<'a>(
    app: &'a App,
    headers: &HeaderMap,
    id: &str,
    role: Role,
) -> Result<(Run, &'a ApiKey), Problem> {
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

/// A run
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}",
    operation_id = "show_run",
    tag = "runs",
    params(RunPath),
    responses((status = 200, description = "The run.", body = Run), ReadingOne)
)]
pub async fn show(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
) -> Result<Json<Run>, Problem> {
    Ok(Json(known(&app, &headers, &one.id, Role::Viewer).await?.0))
}

/// The steps of a run.
#[derive(Serialize, ToSchema)]
#[schema(as = Steps)]
pub struct RunStepsDocument {
    steps: Vec<RunStep>,
}

/// The steps of a run, in order
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}/steps",
    operation_id = "list_steps",
    tag = "runs",
    params(RunPath),
    responses((status = 200, description = "The whole list.", body = RunStepsDocument), ReadingOne)
)]
pub async fn steps(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
) -> Result<Json<RunStepsDocument>, Problem> {
    let (run, _) = known(&app, &headers, &one.id, Role::Viewer).await?;
    Ok(Json(RunStepsDocument { steps: app.store.steps(&run.tenant_id, &run.id).await? }))
}

/// The stored results of a run's steps.
#[derive(Serialize, ToSchema)]
#[schema(as = Checkpoints)]
pub struct RunCheckpointsDocument {
    checkpoints: Vec<Checkpoint>,
}

/// The stored results of a run's steps
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}/checkpoints",
    operation_id = "list_checkpoints",
    tag = "runs",
    params(RunPath),
    responses((status = 200, description = "The whole list.", body = RunCheckpointsDocument), ReadingOne)
)]
pub async fn checkpoints(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
) -> Result<Json<RunCheckpointsDocument>, Problem> {
    let (run, _) = known(&app, &headers, &one.id, Role::Viewer).await?;
    Ok(Json(RunCheckpointsDocument { checkpoints: app.store.checkpoints(&run.tenant_id, &run.id).await? }))
}
