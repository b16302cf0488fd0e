//! What happened to a run, as a list and as it happens.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{FIXER, TRAIN};
use merge_train_core::workflow::Run;
use serde::Serialize;
use serde_json::{Map, Value};
use store::{Since, StoredEvent};
use utoipa::ToSchema;

use super::super::App;
use super::super::address::{PathParameters, RunPath};
use super::super::openapi::ReadingOne;
use super::super::page::{self, NumberedPageParameters, PageRequest};
use super::super::problem::Problem;
use super::known;
use crate::config::Role;

/// How often is looked for what another instance did, and how often at most at all: every change of any run rings.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const NOT_MORE_OFTEN: Duration = Duration::from_millis(50);
/// How much of a repository's log is read at once.
const PAGE: usize = 500;

/// A page of a run's events.
#[derive(Serialize, ToSchema)]
#[schema(as = Events)]
pub struct RunEventPage {
    events: Vec<RunEventDocument>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
}

/// An event of a run.
#[derive(Serialize, ToSchema)]
#[schema(as = RunEvent)]
struct RunEventDocument {
    /// Its place in the log.
    seq: u64,
    ts: Timestamp,
    /// What happened: its `type`, and what belongs to that.
    #[serde(flatten)]
    data: Map<String, Value>,
}

/// The events of a run, the oldest first
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}/events",
    operation_id = "list_events",
    tag = "runs",
    params(RunPath, NumberedPageParameters),
    responses((status = 200, description = "One page.", body = RunEventPage), ReadingOne)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    query: Result<Query<PageRequest>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<RunEventPage>, Problem> {
    let (run, _) = known(&app, &headers, &one.id, Role::Viewer).await?;
    let wish = page::page_request(query)?;
    let events = happened(&app, &run).await?;
    let page = wish.page(events, page::number, |event| event.seq)?;
    let events = page.items.iter().map(shown).collect();
    Ok(Json(RunEventPage { events, next_cursor: page.next_cursor }))
}

/// The events of a run, live, until it ends
///
/// Each event has its `seq` as id, its `type` as name and itself as data. After them comes the current run, as an event
/// named `run`.
#[utoipa::path(
    get,
    path = "/api/v1/runs/{id}/watch",
    operation_id = "watch_run",
    tag = "runs",
    params(
        RunPath,
        (
            "Last-Event-ID" = Option<String>, Header, nullable = false, example = "3",
            description = "The id of the last received event, to continue after it."
        ),
    ),
    responses(
        (status = 200, description = "Server-sent events.", body = String, content_type = "text/event-stream"),
        ReadingOne,
    )
)]
pub async fn watch(
    State(app): State<Arc<App>>,
    PathParameters(one): PathParameters<RunPath>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let (run, _) = known(&app, &headers, &one.id, Role::Viewer).await?;
    let heard = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(0);
    let watching = RunEventUpdates { app, run, heard, is_over: false };
    let batches = stream::unfold(watching, |mut watching| async move {
        let batch = watching.next().await?;
        Some((stream::iter(batch.into_iter().map(Ok)), watching))
    });
    Ok(Sse::new(batches.flatten()).keep_alive(KeepAlive::default()))
}

struct RunEventUpdates {
    app: Arc<App>,
    run: Run,
    heard: u64,
    is_over: bool,
}

impl RunEventUpdates {
    /// What is new, once there is something; none when the run has ended and all is told.
    async fn next(&mut self) -> Option<Vec<Event>> {
        while !self.is_over {
            let stirred = self.app.orders.link.stirred();
            let rung = stirred.notified();
            // Before its events: whatever ended it is among them.
            let run = self.app.store.run(Some(&self.run.tenant_id), &self.run.id).await.ok().flatten()?;
            let events = happened(&self.app, &run).await.ok()?;
            let new: Vec<StoredEvent> = events.into_iter().filter(|event| event.seq > self.heard).collect();
            self.is_over = run.status.is_terminal();
            if let Some(last) = new.last() {
                self.heard = last.seq;
            }
            let mut told: Vec<Event> = new.iter().filter_map(sent).collect();
            // Where it stands, for whoever wants nothing else.
            if run.updated_at != self.run.updated_at || !told.is_empty() || self.is_over {
                told.extend(Event::default().event("run").json_data(&run).ok());
            }
            self.run = run;
            if !told.is_empty() {
                return Some(told);
            }
            tokio::select! {
                () = self.app.health.stopped() => return None,
                () = rung => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
            tokio::time::sleep(NOT_MORE_OFTEN).await;
        }
        None
    }
}

fn sent(event: &StoredEvent) -> Option<Event> {
    let data = shown(event);
    let kind = data.data.get("type").and_then(Value::as_str).unwrap_or("event").to_owned();
    Event::default().id(event.seq.to_string()).event(kind).json_data(data).ok()
}

/// As the list has it.
pub fn json(event: &StoredEvent) -> Value {
    serde_json::to_value(shown(event)).unwrap_or_default()
}

fn shown(event: &StoredEvent) -> RunEventDocument {
    RunEventDocument { seq: event.seq, ts: event.ts, data: serde_json::from_str(&event.data).unwrap_or_default() }
}

/// All that its log has.
pub async fn happened(app: &App, run: &Run) -> Result<Vec<StoredEvent>, Problem> {
    match run.kind.as_str() {
        TRAIN => return happened_in_repo(app, run, is_about_train).await,
        FIXER => return happened_in_repo(app, run, is_about_fixer).await,
        _ => {}
    }
    Ok(app.store.load(&StreamId::Run(run.id.clone()), Since::Oldest).await?.events)
}

/// Of all that happened in a repository, what its log still has of this train or fixer.
async fn happened_in_repo(
    app: &App,
    run: &Run,
    is_about: fn(&Value, &Run, u64) -> bool,
) -> Result<Vec<StoredEvent>, Problem> {
    let Ok(repo) = run.repo_id.parse::<RepoId>() else { return Ok(Vec::new()) };
    let stream = StreamId::Repo(repo);
    let Ok(pr) = run.pr_id.parse::<u64>() else { return Ok(Vec::new()) };
    let is_meant =
        |event: &StoredEvent| serde_json::from_str(&event.data).is_ok_and(|data: Value| is_about(&data, run, pr));
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = app.store.history(&stream, before, PAGE).await?;
        let Some(first) = page.first() else { break };
        let (first_seq, is_old) = (first.seq, first.ts < run.created_at);
        let is_in_time =
            |event: &StoredEvent| event.ts >= run.created_at && run.completed_at.is_none_or(|end| event.ts <= end);
        found.extend(page.into_iter().rev().filter(is_in_time).filter(is_meant));
        if is_old {
            break;
        }
        before = Some(first_seq);
    }
    found.reverse();
    Ok(found)
}

fn is_about_train(data: &Value, _: &Run, root: u64) -> bool {
    let names = ["train_root", "root_pr", "old_root"];
    names.iter().any(|name| data[*name].as_u64() == Some(root)) || data["record"]["original_root_pr"] == root
}

/// Those of a fix name the pull request; the first and the last say which of its fixers it is.
fn is_about_fixer(data: &Value, run: &Run, pr: u64) -> bool {
    let is_of_a_fix = data["type"].as_str().is_some_and(|kind| kind.starts_with("fix_"));
    let sent_at = data["fix"]["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    is_of_a_fix && data["pr"] == pr && sent_at.is_none_or(|at| at == run.created_at)
}
