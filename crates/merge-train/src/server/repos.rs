//! `/api/v1/repos…`: which repositories there are, and what is known of one.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{self, Position, Recorded, Snapshot};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use store::{Priority, Since};

use super::App;
use super::access::{presented, require};
use super::page;
use super::problem::Problem;
use super::requests::{self, Asked};
use crate::clock;
use crate::config::{Role, Tenants};
use crate::driver;

/// How many events are shown unless asked for otherwise, and at most.
const EVENTS: usize = 50;
const MOST_EVENTS: usize = 1000;

#[derive(Deserialize)]
pub struct Wish {
    events: Option<usize>,
}

/// The repositories that something was heard of and that the key may see, by name.
pub async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<page::Wish>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let key = presented(&app.api_keys, &headers)?;
    let wish = page::wish(query)?;
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
    let page = wish.page(repos, |text| Some(text.to_owned()), |(name, _)| name.clone())?;
    let shown = |(_, repo): &(String, RepoId)| json!({ "repo": repo, "url": format!("{}/{repo}", app.web_url) });
    let repos: Vec<Value> = page.items.iter().map(shown).collect();
    Ok(Json(json!({ "repos": repos, "next_cursor": page.next_cursor })))
}

/// What is durable is shown, not what a worker has in memory.
pub async fn state(
    State(app): State<Arc<App>>,
    Path((owner, name)): Path<(String, String)>,
    wish: Result<Query<Wish>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let repo = RepoId::new(&owner, &name).map_err(|error| Problem::bad_request(error.to_string()))?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let Query(wish) = wish.map_err(|error| Problem::bad_request(error.body_text()))?;
    let stream = StreamId::Repo(repo.clone());
    let loaded = app.store.load(&stream, Since::Newest).await?;
    if loaded.next_seq == 1 && loaded.snapshot.is_none() {
        return Err(Problem::not_found(format!("nothing was heard of {repo} yet")));
    }
    let (generation, next_seq) = (loaded.generation, loaded.next_seq);
    let snapshot_at = loaded.snapshot.as_ref().map(|snapshot| snapshot.taken_at);
    let state = driver::replay(&stream, loaded)?;
    let limit = wish.events.unwrap_or(EVENTS).min(MOST_EVENTS);
    let history = app.store.history(&stream, None, limit).await?;
    let recent: Result<Vec<Recorded>, _> = history.iter().map(driver::recorded).collect();
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

/// Asks for a full look at the repository. Taken in once for each `X-Request-ID` or `X-Idempotency-Key` of a client.
pub async fn sync(
    State(app): State<Arc<App>>,
    Path((owner, name)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let repo = RepoId::new(&owner, &name).map_err(|error| Problem::bad_request(error.to_string()))?;
    let client = require(&app.api_keys, &headers, Role::Operator, &repo.tenant())?;
    let held = app.budget.read(&headers, body).await?;
    requests::no_parameters(&held.bytes)?;
    let key = requests::key(&headers, &client.name)?;
    let stream = StreamId::Repo(repo.clone());
    let (request, priority) = (repo::Request::Sync, Priority::Normal);
    let besides = Map::new();
    let asked = Asked { client: &client.name, tenant: repo.tenant(), stream, request, priority, besides };
    let admission = requests::admit(&app, key, asked, &held.bytes).await?;
    app.driver.wake(&repo, driver::Urgency::Usual);
    Ok(admission)
}
