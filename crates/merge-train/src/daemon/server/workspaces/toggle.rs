//! Turning the ratchet on and off: for a pull request, or for all of a repository without a setting of their own.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{Attribution, Request};
use serde::{Deserialize, Serialize};
use utoipa::{IntoResponses, ToSchema};

use super::one;
use super::submission::{RequestSubmission, SubmissionResult};
use super::view::WorkspaceDocument;
use crate::config::Role;
use crate::daemon::server::App;
use crate::daemon::server::access::require;
use crate::daemon::server::address::{PathParameters, PullRequestNumberPath, PullRequestPath, RepositoryPath};
use crate::daemon::server::openapi::{Ordering, ReadingOne};
use crate::daemon::server::problem::Problem;
use crate::daemon::server::requests::{self, IdempotencyParameters};
use crate::daemon::server::trains::known;

/// Whether to turn the ratchet on.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RatchetSwitch {
    enabled: bool,
    /// Why; it is recorded in the log.
    #[schema(example = "I look after it myself")]
    note: Option<String>,
}

/// What is told of a switch that was turned.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it is described here and made by `turn`")]
pub enum SwitchResponses {
    /// Done. The pull request as the ratchet sees it now.
    #[response(status = 200, headers(("Idempotent-Replayed" = String, description = "`true` if it was already \
         requested.")))]
    Done(WorkspaceDocument),
    /// Accepted; not yet done. The pull request as it is now.
    #[response(status = 202, headers(("Idempotent-Replayed" = String, description = "`true` if it was already \
         requested.")))]
    UnderWay(WorkspaceDocument),
}

/// Turns the ratchet on or off for a pull request
///
/// Like `@merge-train ratchet on` and `off`. Turning it on resets the fix attempts.
#[utoipa::path(
    put,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/ratchet",
    operation_id = "set_ratchet",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, IdempotencyParameters),
    request_body = RatchetSwitch,
    responses(SwitchResponses, Ordering)
)]
pub async fn set(
    State(app): State<Arc<App>>,
    PathParameters(path): PathParameters<PullRequestPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    turn_one(&app, &path, &headers, body).await
}

/// Turns the ratchet on or off for a pull request, like `PUT`
#[utoipa::path(
    post,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/ratchet",
    operation_id = "turn_ratchet",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, IdempotencyParameters),
    request_body = RatchetSwitch,
    responses(SwitchResponses, Ordering)
)]
pub async fn turn(
    State(app): State<Arc<App>>,
    PathParameters(path): PathParameters<PullRequestPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    turn_one(&app, &path, &headers, body).await
}

async fn turn_one(
    app: &App,
    PullRequestPath { repository, number }: &PullRequestPath,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let repo = repository.id()?;
    let client = require(&app.api_keys, headers, Role::Operator, &repo.tenant())?;
    let pr = number.id()?;
    let submission = RequestSubmission::new(app, client, headers, &repo)?;
    let answer = switch(&submission, headers, body, Some(pr)).await?;
    Ok(answer.tell(StatusCode::OK, one(app, &repo, pr).await?))
}

/// Whether the ratchet is on for pull requests without a setting of their own.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RatchetDefault {
    repo: RepoId,
    enabled: bool,
    set_by: SetBy,
}

/// Who set it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SetBy {
    /// `ratchet.enabled` in the configuration.
    Config,
    /// The repository itself, in `.github/merge-train.toml`.
    File,
    /// Somebody, for this repository.
    Repository,
}

/// What is told of a repository's switch that was turned.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "it is described here and made by `set_default`")]
pub enum DefaultSwitchResponses {
    /// It was done.
    #[response(status = 200, headers(("Idempotent-Replayed" = String, description = "`true` if it was already \
         requested.")))]
    Done(RatchetDefault),
    /// Accepted; not yet done. The setting as it is now.
    #[response(status = 202, headers(("Idempotent-Replayed" = String, description = "`true` if it was already \
         requested.")))]
    UnderWay(RatchetDefault),
}

/// Whether the ratchet is on by default for the pull requests of a repository
#[utoipa::path(
    get,
    path = "/api/v1/repos/{owner}/{repo}/ratchet",
    operation_id = "show_repo_ratchet",
    tag = "workspaces",
    params(RepositoryPath),
    responses((status = 200, description = "The repository's default.", body = RatchetDefault), ReadingOne)
)]
pub async fn show_default(
    State(app): State<Arc<App>>,
    PathParameters(repository): PathParameters<RepositoryPath>,
    headers: HeaderMap,
) -> Result<Json<RatchetDefault>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    Ok(Json(default(&app, &repo).await?))
}

/// Sets the default of the ratchet for the pull requests of a repository
#[utoipa::path(
    put,
    path = "/api/v1/repos/{owner}/{repo}/ratchet",
    operation_id = "set_repo_ratchet",
    tag = "workspaces",
    params(RepositoryPath, IdempotencyParameters),
    request_body = RatchetSwitch,
    responses(DefaultSwitchResponses, Ordering)
)]
pub async fn set_default(
    State(app): State<Arc<App>>,
    PathParameters(repository): PathParameters<RepositoryPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let repo = repository.id()?;
    let client = require(&app.api_keys, &headers, Role::Operator, &repo.tenant())?;
    let submission = RequestSubmission::new(&app, client, &headers, &repo)?;
    let answer = switch(&submission, &headers, body, None).await?;
    Ok(answer.tell(StatusCode::OK, default(&app, &repo).await?))
}

async fn default(app: &App, repo: &RepoId) -> Result<RatchetDefault, Problem> {
    let state = known(app, repo).await?;
    let (enabled, set_by) = match (state.ratchet_default(), state.own_settings().ratchet.enabled) {
        (Some(enabled), _) => (enabled, SetBy::Repository),
        (None, Some(enabled)) => (enabled, SetBy::File),
        (None, None) => (app.settings.ratchet.enabled, SetBy::Config),
    };
    Ok(RatchetDefault { repo: repo.clone(), enabled, set_by })
}

async fn switch(
    submission: &RequestSubmission<'_>,
    headers: &HeaderMap,
    body: Body,
    pr: Option<PrNumber>,
) -> Result<SubmissionResult, Problem> {
    let held = submission.app.budget.read(headers, body).await?;
    let RatchetSwitch { enabled, note } = requests::read(&held.bytes)?;
    match pr {
        Some(pr) => submission.check_pull_request(pr).await?,
        None => drop(known(submission.app, submission.repo).await?),
    }
    let behest =
        Attribution { by: Some(format!("api:{}", submission.client.name)), reason: note, ..Attribution::default() };
    Ok(submission.submit(Request::Ratchet { pr, on: enabled, behest }, &held.bytes).await?)
}
