//! `/api/v1/repos/…`: what is known of a repository.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{self, Position, Recorded, Snapshot};
use serde::Deserialize;
use serde_json::{Value, json};
use store::Since;

use super::App;
use super::access::require;
use super::problem::Problem;
use super::requests::{self, Asked};
use crate::clock;
use crate::config::Role;
use crate::driver;

/// How many events are shown unless asked for otherwise, and at most.
const EVENTS: usize = 50;
const MOST_EVENTS: usize = 1000;

#[derive(Deserialize)]
pub struct Wish {
    events: Option<usize>,
}

/// What is durable is shown, not what a worker has in memory.
pub async fn state(
    State(app): State<Arc<App>>,
    Path((owner, name)): Path<(String, String)>,
    wish: Result<Query<Wish>, axum::extract::rejection::QueryRejection>,
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

    let lifecycle = format!("{:?}", state.lifecycle()).to_lowercase();
    let position = Position { generation, next_seq, taken_at: clock::now() };
    let mut shown = serde_json::to_value(Snapshot::of(&state, position)).expect("a snapshot is JSON");
    shown["snapshot_at"] = json!(snapshot_at);
    shown["lifecycle"] = json!(lifecycle);
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
    if !held.bytes.is_empty() {
        serde_json::from_slice::<NoParameters>(&held.bytes)
            .map_err(|error| Problem::bad_request(format!("the body is not what this request takes: {error}")))?;
    }
    let stream = StreamId::Repo(repo.clone());
    let asked = Asked { client: &client.name, tenant: repo.tenant(), stream, request: repo::Request::Sync };
    let admission = requests::admit(&app, &headers, asked, &held.bytes).await?;
    app.driver.wake(&repo, driver::Urgency::Usual);
    Ok(admission)
}

/// `{}`, or a note to oneself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {
    #[serde(rename = "note")]
    _note: Option<String>,
}
