//! `/api/v1/workspaces…`: pull requests under ratchet, what it does about them, and who is at work in them.

pub mod sessions;
mod submission;
pub mod toggle;
pub(super) mod view;

use std::fmt;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::ratchet::{BoardColumn, OutcomeKind, WorkspaceStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::rows::{self, TransitionAction};
use utoipa::openapi::{Object, ObjectBuilder, Type};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::access::{presented, require};
use super::address::{PathParameters, PullRequestNumberPath, PullRequestPath, RepositoryPath};
use super::openapi::{Reading, ReadingOne};
use super::page::{self, NumberedPageParameters, PageRequest};
use super::problem::Problem;
use super::trains::{known, no_such_pull};
use crate::config::{Role, Tenants};
use view::WorkspaceDocument;

/// So many of the newest transitions of a workspace can be paged through.
const MOST_TRANSITIONS: usize = 5000;

/// Which workspaces are asked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WorkspaceQuery {
    /// Only workspaces of this repository.
    #[param(nullable = false)]
    repo: Option<RepoId>,
    /// Only runs in this state.
    #[param(nullable = false, schema_with = states)]
    state: Option<WorkspaceStatus>,
    /// Only those in this column of the board.
    #[param(nullable = false, schema_with = view::columns)]
    column: Option<BoardColumn>,
    /// `true`: only workspaces that need a person; `false`: only the others.
    #[param(nullable = false)]
    attention: Option<bool>,
    /// The `next_cursor` of the previous page.
    #[param(nullable = false, pattern = r"^[a-z0-9._\[\]-]+/[a-z0-9._-]+/[0-9]{1,16}$")]
    cursor: Option<String>,
    /// How many at most; the default is 50.
    #[param(nullable = false, minimum = 1, maximum = 200)]
    limit: Option<usize>,
}

fn states() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(WorkspaceStatus::ALL.map(WorkspaceStatus::as_str)))
        .build()
}

/// A page of workspaces.
#[derive(Serialize, ToSchema)]
#[schema(as = Workspaces)]
pub struct WorkspacePage {
    workspaces: Vec<WorkspaceDocument>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
}

/// The place of a workspace in the list.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WorkspaceCursor {
    repo: String,
    pr: u64,
}

impl WorkspaceCursor {
    fn of(workspace: &rows::Workspace) -> Self {
        let pr = workspace.pr_number.map_or(0, PrNumber::get);
        Self { repo: workspace.repo_id.to_string().to_ascii_lowercase(), pr }
    }

    fn read(text: &str) -> Option<Self> {
        let (repo, pr) = text.rsplit_once('/')?;
        let (owner, name) = repo.split_once('/')?;
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.[]".contains(&byte);
        let is_name = |part: &str| !part.is_empty() && part.bytes().all(is_plain);
        (is_name(owner) && is_name(name)).then_some(())?;
        Some(Self { repo: repo.to_owned(), pr: page::number(pr)? })
    }
}

impl fmt::Display for WorkspaceCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.repo, self.pr)
    }
}

/// The workspaces that the key may see, by repository and number
///
/// A pull request has one once the ratchet is first on for it, or somebody first works in it.
#[utoipa::path(
    get,
    path = "/api/v1/workspaces",
    operation_id = "list_workspaces",
    tag = "workspaces",
    params(WorkspaceQuery),
    responses((status = 200, description = "One page.", body = WorkspacePage), Reading)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<WorkspaceQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<WorkspacePage>, Problem> {
    let key = presented(&app.api_keys, &headers)?;
    let Query(WorkspaceQuery { repo, state, column, attention, cursor, limit }) = query.map_err(|error| {
        let takes = "a list takes `repo`, `state`, `column`, `attention`, `cursor`, and `limit`";
        Problem::bad_request(format!("{}; {takes}", error.body_text()))
    })?;
    let request = page::checked_page_request(cursor, limit)?;
    let tenant = match &key.tenant {
        Tenants::All => None,
        Tenants::One(tenant) => Some(tenant),
    };
    let mut rows = app.store.workspaces(tenant).await?;
    rows.retain(|row| {
        let outcome = view::status(row).outcome_kind();
        repo.as_ref().is_none_or(|repo| row.repo_id == *repo)
            && state.is_none_or(|state| row.ratchet_state == state.as_str())
            && column.is_none_or(|column| row.kanban_column == column)
            && attention.is_none_or(|wanted| (outcome == Some(OutcomeKind::Attention)) == wanted)
    });
    rows.sort_by_cached_key(WorkspaceCursor::of);
    let page = request.page(rows, WorkspaceCursor::read, WorkspaceCursor::of)?;
    let workspaces = page.items.iter().map(|row| view::shown(&app, row)).collect();
    Ok(Json(WorkspacePage { workspaces, next_cursor: page.next_cursor }))
}

/// The ratchet's state for a pull request
///
/// One that the ratchet never handled is shown as off, or as not checked yet.
#[utoipa::path(
    get,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}",
    operation_id = "currentRatchetStatus",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath),
    responses((status = 200, description = "The workspace.", body = WorkspaceDocument), ReadingOne)
)]
pub async fn show(
    State(app): State<Arc<App>>,
    PathParameters(PullRequestPath { repository, number }): PathParameters<PullRequestPath>,
    headers: HeaderMap,
) -> Result<Json<WorkspaceDocument>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    Ok(Json(one(&app, &repo, number.id()?).await?))
}

/// A page of the ratchet's decisions.
#[derive(Serialize, ToSchema)]
#[schema(as = Transitions)]
pub struct TransitionPage {
    transitions: Vec<TransitionDocument>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
}

/// A decision of the ratchet.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Transition)]
struct TransitionDocument {
    id: String,
    #[schema(example = "octocat/hello#7")]
    workspace_id: String,
    #[schema(value_type = String, pattern = "^(WAIT|FIX_CI|FIX_REVIEW|PAUSE|NOOP)$")]
    action: TransitionAction,
    /// The resulting state.
    #[schema(pattern = "^[A-Z_]+$", example = "FIXING_CI")]
    state: Option<String>,
    /// Whether that is good, or needs a person; none where it is neither.
    #[schema(schema_with = view::outcomes)]
    outcome_kind: Option<OutcomeKind>,
    /// A code, the resulting state, and a sentence for people.
    reason: String,
    /// A short message.
    ui_message: Option<String>,
    /// What GitHub reported then, as far as it mattered.
    #[schema(value_type = Option<Object>)]
    snapshot: Option<Value>,
    created_at: Timestamp,
}

/// The ratchet's decisions about a pull request, the newest first
///
/// Kept for `housekeeping.history_retention_days`.
#[utoipa::path(
    get,
    path = "/api/v1/workspaces/{owner}/{repo}/{pr}/transitions",
    operation_id = "ratchetTransitions",
    tag = "workspaces",
    params(RepositoryPath, PullRequestNumberPath, NumberedPageParameters),
    responses((status = 200, description = "One page.", body = TransitionPage), ReadingOne)
)]
pub async fn transitions(
    State(app): State<Arc<App>>,
    PathParameters(PullRequestPath { repository, number }): PathParameters<PullRequestPath>,
    query: Result<Query<PageRequest>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<TransitionPage>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let (pr, request) = (number.id()?, page::page_request(query)?);
    let Some(row) = row(&app, &repo, pr).await? else {
        known(&app, &repo).await?.pr(pr).ok_or_else(|| no_such_pull(&repo, pr))?;
        return Ok(Json(TransitionPage { transitions: Vec::new(), next_cursor: None }));
    };
    let mut all = app.store.transitions(&row.tenant_id, &row.id, MOST_TRANSITIONS).await?;
    // Several of one moment have the order of their numbers.
    all.sort_by_key(|it| std::cmp::Reverse(place(it)));
    let read = |text: &str| page::number(text).map(NewestFirst);
    let page = request.page(all, read, |it| NewestFirst(place(it)))?;
    let shown = |it: rows::Transition| TransitionDocument {
        id: it.id,
        workspace_id: it.workspace_id,
        action: it.action,
        outcome_kind: it.state.as_deref().and_then(view::named).and_then(WorkspaceStatus::outcome_kind),
        state: it.state,
        reason: it.reason,
        ui_message: it.ui_message,
        snapshot: it.snapshot,
        created_at: it.created_at,
    };
    let transitions = page.items.into_iter().map(shown).collect();
    Ok(Json(TransitionPage { transitions, next_cursor: page.next_cursor }))
}

/// The number of the event that a transition is: the last part of its id.
fn place(transition: &rows::Transition) -> u64 {
    transition.id.rsplit(':').next().and_then(|seq| seq.parse().ok()).unwrap_or_default()
}

/// A cursor of a list whose newest come first.
#[derive(PartialEq, Eq)]
struct NewestFirst<T>(T);

impl<T: Ord> Ord for NewestFirst<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.cmp(&self.0)
    }
}

impl<T: Ord> PartialOrd for NewestFirst<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: fmt::Display> fmt::Display for NewestFirst<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A pull request as the ratchet sees it.
async fn one(app: &App, repo: &RepoId, pr: PrNumber) -> Result<WorkspaceDocument, Problem> {
    if let Some(row) = row(app, repo, pr).await? {
        return Ok(view::shown(app, &row));
    }
    let state = known(app, repo).await?;
    let pull = state.pr(pr).ok_or_else(|| no_such_pull(repo, pr))?;
    Ok(view::untouched(app, repo, pr, pull, &state))
}

pub(super) async fn row(app: &App, repo: &RepoId, pr: PrNumber) -> Result<Option<rows::Workspace>, Problem> {
    let tenant = repo.tenant();
    let found = app.store.workspace(&tenant, &format!("{repo}#{pr}")).await?;
    if found.is_some() {
        return Ok(found);
    }
    // Whoever asks may spell the repository in another way than GitHub does.
    let all = app.store.workspaces(Some(&tenant)).await?;
    Ok(all.into_iter().find(|row| row.repo_id == *repo && row.pr_number == Some(pr)))
}
