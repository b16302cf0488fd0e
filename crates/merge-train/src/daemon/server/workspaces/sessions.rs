//! People at work in a workspace: the ratchet keeps out of their way for as long as they give signs of life.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::inbox::Key;
use merge_train_core::repo::Request;
use serde::{Deserialize, Deserializer, Serialize};
use store::rows::{self, SessionKind, SessionStatus};
use utoipa::{IntoParams, ToSchema};

use super::submission::{RequestSubmission, SubmissionError};
use super::{NewestFirst, row};
use crate::config::{ApiKey, Role};
use crate::daemon::server::App;
use crate::daemon::server::access::require;
use crate::daemon::server::address::{PathParameters, PullRequestNumberPath, PullRequestPath, RepositoryPath};
use crate::daemon::server::openapi::{Ordering, ReadingOne};
use crate::daemon::server::page::{self, PageRequest};
use crate::daemon::server::problem::Problem;
use crate::daemon::server::requests::{self, IdempotencyParameters};
use crate::daemon::server::trains::{known, no_such_pull};

/// The longest name of a session.
const LONGEST_NAME: usize = 128;
/// How many digits of a cursor are a time; so many are always one.
const MOST_DIGITS: usize = 16;

/// Which session of its workspace it is.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SessionPath {
    /// The id of the session.
    #[param(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", example = "session-3f9c1e7a5b2d4c6e8f0a1b2c")]
    session: String,
}

impl SessionPath {
    fn id(&self) -> Result<&str, Problem> {
        checked(&self.session)
    }
}

fn checked(name: &str) -> Result<&str, Problem> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('.') {
        return Ok(name);
    }
    Err(Problem::bad_request(format!(
        "the id of a session has 1 to {LONGEST_NAME} letters, digits, dashes, dots or underscores, and no dot first"
    )))
}

/// A session of a pull request.
#[derive(Deserialize)]
pub struct WorkspaceSessionPath {
    #[serde(flatten)]
    pull: PullRequestPath,
    #[serde(flatten)]
    name: SessionPath,
}

/// A session to open.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// The session's id; without it, one is generated. If this session is already open, the request is a heartbeat.
    #[schema(pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$", example = "alice-laptop")]
    id: Option<String>,
    /// Whether it starts as idle.
    #[serde(default)]
    idle: bool,
}

/// A session that was opened.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenedSession {
    id: String,
    /// Its workspace.
    workspace_id: String,
    /// How often it must send a heartbeat; after three times as long without one, it ends.
    #[schema(minimum = 1)]
    heartbeat_secs: u64,
}

/// A sign of life.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SignOfLife)]
pub struct SessionHeartbeat {
    #[serde(default)]
    state: SessionActivity,
}

/// Whether somebody is working. The ratchet waits for a working session, not for an idle one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SessionState)]
enum SessionActivity {
    #[default]
    Working,
    Idle,
}

/// A session after its heartbeat.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LiveSession {
    id: String,
    state: SessionActivity,
    #[schema(minimum = 1)]
    heartbeat_secs: u64,
}

/// The end of a session.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionEnd {
    /// The exit code of the session's program.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<i32>)]
    exit_code: Option<i32>,
}

/// A number of JSON is whole if it has no fraction, also where it is written with a point.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    let Some(number) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    let is_one = number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    #[expect(clippy::cast_possible_truncation, reason = "it was looked at just before")]
    let whole = number as i32;
    is_one.then_some(Some(whole)).ok_or_else(|| serde::de::Error::custom("exitCode must be a whole number"))
}

/// A session that has ended.
#[derive(Serialize, ToSchema)]
pub struct EndedSession {
    id: String,
}

/// Opens a session in the workspace of a pull request
///
/// While it sends heartbeats and is not idle, no fixer starts there. The ratchet handles what happens in the meantime
/// afterwards.
#[utoipa::path(
    post,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/sessions",
    operation_id = "open_session",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, IdempotencyParameters),
    request_body = Option<NewSession>,
    responses(
        (
            status = 201,
            description = "The session is open.",
            body = OpenedSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        (
            status = 202,
            description = "Accepted; the session opens soon.",
            body = OpenedSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        Ordering,
    )
)]
pub async fn open(
    State(app): State<Arc<App>>,
    PathParameters(PullRequestPath { repository, number }): PathParameters<PullRequestPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let repo = repository.id()?;
    let client = require(&app.api_keys, &headers, Role::Operator, &repo.tenant())?;
    let pr = number.id()?;
    let submission = RequestSubmission::new(&app, client, &headers, &repo)?;
    let held = app.budget.read(&headers, body).await?;
    let NewSession { id, idle } = requests::read(&held.bytes)?;
    let session = match id {
        Some(id) => checked(&id)?.to_owned(),
        None => made_up(&repo, &submission.key),
    };
    submission.check_pull_request(pr).await?;
    let by = Some(format!("api:{}", client.name));
    let request = Request::Session { pr, session: session.clone(), idle, by, again: false };
    let answer = submission.submit(request, &held.bytes).await?;
    let opened =
        OpenedSession { id: session, workspace_id: format!("{repo}#{pr}"), heartbeat_secs: heartbeat_secs(&app) };
    Ok(answer.tell(StatusCode::CREATED, opened))
}

/// The same request opens the same session.
fn made_up(repo: &RepoId, key: &Key) -> String {
    let digest = digest(&SHA256, format!("{}\n{key}", repo.tenant()).as_bytes());
    format!("session-{}", hex::encode(&digest.as_ref()[..12]))
}

/// Of three in a row one has to arrive.
fn heartbeat_secs(app: &App) -> u64 {
    u64::try_from(app.settings.ratchet.session_timeout.as_secs() / 3).unwrap_or_default().max(1)
}

/// A session heartbeat, and whether somebody is working in it
///
/// If the session is no longer known, the answer is 404: open a new one.
#[utoipa::path(
    post,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/sessions/{session}/heartbeat",
    operation_id = "session_heartbeat",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, SessionPath, IdempotencyParameters),
    request_body = Option<SessionHeartbeat>,
    responses(
        (
            status = 200,
            description = "Recorded.",
            body = LiveSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        (
            status = 202,
            description = "Accepted.",
            body = LiveSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        Ordering,
    )
)]
pub async fn heartbeat(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<WorkspaceSessionPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (repo, pr, client) = meant(&app, &one, &headers)?;
    let session = one.name.id()?.to_owned();
    let submission = RequestSubmission::new(&app, client, &headers, &repo)?;
    let held = app.budget.read(&headers, body).await?;
    let SessionHeartbeat { state } = requests::read(&held.bytes)?;
    submission.check_pull_request(pr).await?;
    let idle = state == SessionActivity::Idle;
    let request = Request::Session { pr, session: session.clone(), idle, by: None, again: true };
    let answer = submission.submit(request, &held.bytes).await.map_err(not_there)?;
    let heard = LiveSession { id: session, state, heartbeat_secs: heartbeat_secs(&app) };
    Ok(answer.tell(StatusCode::OK, heard))
}

/// Ends a session
#[utoipa::path(
    post,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/sessions/{session}/end",
    operation_id = "end_session",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, SessionPath, IdempotencyParameters),
    request_body = Option<SessionEnd>,
    responses(
        (
            status = 200,
            description = "The session has ended.",
            body = EndedSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        (
            status = 202,
            description = "Accepted; the session ends soon.",
            body = EndedSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        Ordering,
    )
)]
pub async fn end(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<WorkspaceSessionPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (repo, pr, client) = meant(&app, &one, &headers)?;
    let submission = RequestSubmission::new(&app, client, &headers, &repo)?;
    let held = app.budget.read(&headers, body).await?;
    let SessionEnd { exit_code } = requests::read(&held.bytes)?;
    end_one(&submission, pr, one.name.id()?, exit_code, &held.bytes).await
}

/// Ends a session, like `end`
#[utoipa::path(
    delete,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/sessions/{session}",
    operation_id = "delete_session",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, SessionPath, IdempotencyParameters),
    responses(
        (
            status = 200,
            description = "The session has ended.",
            body = EndedSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        (
            status = 202,
            description = "Accepted; the session ends soon.",
            body = EndedSession,
            headers(("Idempotent-Replayed" = String, description = "`true` if it was already requested."))
        ),
        Ordering,
    )
)]
pub async fn delete(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<WorkspaceSessionPath>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (repo, pr, client) = meant(&app, &one, &headers)?;
    let submission = RequestSubmission::new(&app, client, &headers, &repo)?;
    end_one(&submission, pr, one.name.id()?, None, &[]).await
}

async fn end_one(
    submission: &RequestSubmission<'_>,
    pr: PrNumber,
    session: &str,
    exit_code: Option<i32>,
    body: &[u8],
) -> Result<Response, Problem> {
    submission.check_pull_request(pr).await?;
    let request = Request::EndSession { pr, session: session.to_owned(), exit_code };
    let answer = submission.submit(request, body).await.map_err(not_there)?;
    Ok(answer.tell(StatusCode::OK, EndedSession { id: session.to_owned() }))
}

fn meant<'a>(
    app: &'a App,
    one: &WorkspaceSessionPath,
    headers: &HeaderMap,
) -> Result<(RepoId, PrNumber, &'a ApiKey), Problem> {
    let repo = one.pull.repository.id()?;
    let client = require(&app.api_keys, headers, Role::Operator, &repo.tenant())?;
    Ok((repo, one.pull.number.id()?, client))
}

/// The one thing that is refused of a session that is said to be there.
fn not_there(error: SubmissionError) -> Problem {
    match error {
        SubmissionError::Refused(detail) => Problem::new(StatusCode::NOT_FOUND, "NO_SUCH_SESSION", detail),
        SubmissionError::Problem(problem) => problem,
    }
}

/// A page of sessions.
#[derive(Serialize, ToSchema)]
#[schema(as = Sessions)]
pub struct SessionPage {
    sessions: Vec<SessionDocument>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
}

/// A person or a fixer working in a workspace.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
struct SessionDocument {
    /// Its id; a fixer's session has the id of its run.
    id: String,
    /// `user` for a person's, `ratchet` for a fixer's.
    #[schema(value_type = String, pattern = "^(user|ratchet)$")]
    kind: SessionKind,
    #[schema(value_type = String, pattern = "^(RUNNING|COMPLETED|FAILED)$")]
    status: SessionStatus,
    /// Running, and neither idle nor waiting for a person.
    working: bool,
    exit_code: Option<i32>,
    error: Option<String>,
    started_at: Timestamp,
    ended_at: Option<Timestamp>,
}

/// Where the sessions of a workspace go on.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it is described here and read as a `PageRequest`")]
pub struct SessionPageParameters {
    /// The `next_cursor` of the previous page.
    #[param(nullable = false, pattern = "^[0-9]{1,16}_[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")]
    cursor: Option<String>,
    /// How many at most; the default is 50.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

/// The sessions in the workspace of a pull request, of people and of fixers, the newest first
#[utoipa::path(
    get,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/sessions",
    operation_id = "list_sessions",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, SessionPageParameters),
    responses((status = 200, description = "One page.", body = SessionPage), ReadingOne)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(PullRequestPath { repository, number }): PathParameters<PullRequestPath>,
    query: Result<Query<PageRequest>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<SessionPage>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let (pr, request) = (number.id()?, page::page_request(query)?);
    let Some(row) = row(&app, &repo, pr).await? else {
        known(&app, &repo).await?.pr(pr).ok_or_else(|| no_such_pull(&repo, pr))?;
        return Ok(Json(SessionPage { sessions: Vec::new(), next_cursor: None }));
    };
    let all = app.store.sessions(&row.tenant_id, &row.id).await?;
    let mut all: Vec<SessionDocument> = all.into_iter().map(|session| shown(session, &row.id)).collect();
    all.sort_by_cached_key(place);
    let page = request.page(all, read_place, place)?;
    Ok(Json(SessionPage { sessions: page.items, next_cursor: page.next_cursor }))
}

/// The stored id of a person's session has that of its workspace before it.
fn shown(session: rows::Session, workspace: &str) -> SessionDocument {
    let own = session.id.strip_prefix(workspace).and_then(|rest| rest.strip_prefix(':'));
    SessionDocument {
        id: own.unwrap_or(&session.id).to_owned(),
        kind: session.kind,
        status: session.status,
        working: session.working,
        exit_code: session.exit_code,
        error: session.error,
        started_at: session.started_at,
        ended_at: session.ended_at,
    }
}

/// When a session began, and its id.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SessionCursor(i64, String);

impl std::fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.0, self.1)
    }
}

fn place(session: &SessionDocument) -> NewestFirst<SessionCursor> {
    NewestFirst(SessionCursor(session.started_at.as_microsecond(), session.id.clone()))
}

fn read_place(text: &str) -> Option<NewestFirst<SessionCursor>> {
    let (at, id) = text.split_once('_')?;
    let is_time = at.len() <= MOST_DIGITS && at.bytes().all(|byte| byte.is_ascii_digit());
    Some(NewestFirst(SessionCursor(at.parse().ok().filter(|_| is_time && checked(id).is_ok())?, id.to_owned())))
}
