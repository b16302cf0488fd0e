//! `/api/v1/repos…`: which repositories there are, and what is known of one.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use jiff::Timestamp;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{self, Lifecycle, Position, RecordedEvent, Snapshot, SyncProgress};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::{Priority, Since};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::access::{presented, require};
use super::address::{PathParameters, RepositoryPath};
use super::idempotency::Accepted;
use super::openapi::{Ordering, Reading, ReadingOne};
use super::page;
use super::problem::Problem;
use super::requests::{self, ApiRequest, IdempotencyParameters, NoParameters};
use crate::clock;
use crate::config::{Role, Tenants};
use crate::daemon::driver;

/// How many events are shown unless asked for otherwise, and at most.
const EVENTS: usize = 50;
const MOST_EVENTS: usize = 1000;

/// How much of a repository's history is to be shown.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RepoStateQuery {
    /// How many events to show; the default is 50.
    #[param(nullable = false, minimum = 0, maximum = 1000)]
    events: Option<usize>,
}

/// A page of repositories.
#[derive(Serialize, ToSchema)]
#[schema(as = Repos)]
pub struct RepoPage {
    repos: Vec<Repo>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
}

/// A known repository.
#[derive(Serialize, ToSchema)]
struct Repo {
    repo: RepoId,
    /// Its page on GitHub.
    url: String,
}

/// The known repositories that the key may see, by name
#[utoipa::path(
    get,
    path = "/api/v1/repos",
    operation_id = "list_repos",
    tag = "repositories",
    params(
        ("cursor" = Option<RepoId>, Query, nullable = false, description = "The `next_cursor` of the previous page."),
        (
            "limit" = Option<usize>, Query, nullable = false, minimum = 1, maximum = 200,
            description = "How many at most; the default is 50."
        ),
    ),
    responses((status = 200, description = "One page.", body = RepoPage), Reading)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<page::PageRequest>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<RepoPage>, Problem> {
    let key = presented(&app.api_keys, &headers)?;
    let request = page::page_request(query)?;
    let tenant = match &key.tenant {
        Tenants::All => None,
        Tenants::One(tenant) => Some(tenant),
    };
    let streams = app.store.streams(tenant).await?;
    let mut repos: Vec<(String, RepoId)> = streams
        .into_iter()
        .filter_map(|info| match info.stream {
            StreamId::Repo(repo) => Some((repo.to_string().to_ascii_lowercase(), repo)),
            StreamId::Run(_) => None,
        })
        .collect();
    repos.sort_by(|left, right| left.0.cmp(&right.0));
    let read = |text: &str| Some(text.parse::<RepoId>().ok()?.to_string().to_ascii_lowercase());
    let page = request.page(repos, read, |(name, _)| name.clone())?;
    let shown = |(_, repo): (String, RepoId)| Repo { url: format!("{}/{repo}", app.web_url), repo };
    let repos = page.items.into_iter().map(shown).collect();
    Ok(Json(RepoPage { repos, next_cursor: page.next_cursor }))
}

/// The stored state of a repository, and its latest events. It has more fields than described here.
#[derive(ToSchema)]
#[schema(as = RepoState)]
#[expect(dead_code, reason = "it is described here and made of a snapshot")]
pub struct RepoStateDocument {
    schema_version: u32,
    /// When the last snapshot was stored.
    snapshot_at: Option<Timestamp>,
    lifecycle: Lifecycle,
    sync: SyncProgress,
    /// Missing until GitHub was asked.
    default_branch: Option<String>,
    /// The pull requests, by number.
    #[schema(value_type = Object)]
    prs: Value,
    /// The train records, by the number of the pull request where the train started.
    #[schema(value_type = Object)]
    active_trains: Value,
    /// The latest events, the oldest first.
    #[schema(value_type = Vec<Object>)]
    recent_events: Value,
}

/// The stored state of a repository
///
/// It does not include what a worker only has in memory.
#[utoipa::path(
    get,
    path = "/api/v1/repos/{owner}/{repo}/state",
    operation_id = "show_repo",
    tag = "repositories",
    params(RepositoryPath, RepoStateQuery),
    responses((status = 200, description = "The state.", body = RepoStateDocument), ReadingOne)
)]
pub async fn state(
    State(app): State<Arc<App>>,
    PathParameters(repository): PathParameters<RepositoryPath>,
    request: Result<Query<RepoStateQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let Query(request) = request.map_err(|error| Problem::bad_request(error.body_text()))?;
    let limit = request.events.unwrap_or(EVENTS);
    if limit > MOST_EVENTS {
        return Err(Problem::bad_request(format!("events is {limit}; it must be a whole number, 0–{MOST_EVENTS}")));
    }
    let stream = StreamId::Repo(repo.clone());
    let loaded = app.store.load(&stream, Since::Newest).await?;
    if loaded.next_seq == 1 && loaded.snapshot.is_none() {
        return Err(Problem::not_found(format!("{repo} is not known yet")));
    }
    let (generation, next_seq) = (loaded.generation, loaded.next_seq);
    let snapshot_at = loaded.snapshot.as_ref().map(|snapshot| snapshot.taken_at);
    let state = driver::replay(&stream, loaded)?;
    let history = app.store.history(&stream, None, limit).await?;
    let recent: Result<Vec<RecordedEvent>, _> = history.iter().map(driver::recorded).collect();
    let recent = recent.map_err(|error| store::Error::Corrupt { reason: error.to_string() })?;

    let progress = state.progress();
    let position = Position { generation, next_seq, taken_at: clock::now() };
    let mut shown = serde_json::to_value(Snapshot::of(&state, position)).expect("a snapshot is JSON");
    shown["snapshot_at"] = json!(snapshot_at);
    shown["lifecycle"] = json!(progress.lifecycle);
    shown["sync"] = json!(progress);
    shown["recent_events"] = json!(recent);
    Ok(Json(shown))
}

/// Requests a full sync of a repository
///
/// Accepted once for each `X-Request-ID` or `X-Idempotency-Key` of a client.
#[utoipa::path(
    post,
    path = "/api/v1/repos/{owner}/{repo}/sync",
    operation_id = "sync_repo",
    tag = "repositories",
    params(RepositoryPath, IdempotencyParameters),
    request_body = Option<NoParameters>,
    responses((status = 202, description = "Accepted; the sync follows.", body = Accepted), Ordering)
)]
pub async fn sync(
    State(app): State<Arc<App>>,
    PathParameters(repository): PathParameters<RepositoryPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let repo = repository.id()?;
    let client = require(&app.api_keys, &headers, Role::Operator, &repo.tenant())?;
    let held = app.budget.read(&headers, body).await?;
    requests::no_parameters(&held.bytes)?;
    let key = requests::key(&headers, &client.name)?;
    let stream = StreamId::Repo(repo.clone());
    let (request, priority) = (repo::Request::Sync, Priority::Normal);
    let besides = Map::new();
    let asked = ApiRequest { client: &client.name, tenant: repo.tenant(), stream, request, priority, besides };
    let admission = requests::admit(&app, key, asked, &held.bytes).await?;
    app.driver.wake(&repo, driver::Urgency::Usual);
    Ok(admission)
}
