//! `GET /api/v1/events`: what becomes of runs, as it happens, for everybody who looks on.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{RunId, TenantId};
use merge_train_core::workflow::Run;
use store::RunQuery;

use super::App;
use super::access::presented;
use super::openapi::Reading;
use super::problem::Problem;
use crate::clock;
use crate::config::Tenants;

/// How often is looked for what another instance did, and how often at most at all.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
const NOT_MORE_OFTEN: Duration = Duration::from_millis(100);
/// So many of the newest runs are told of at first.
const AT_FIRST: usize = 200;
/// How many changes of each kind are asked for at once.
const AT_ONCE: usize = 200;
/// What another instance wrote may be seen later than what was written after it, and clocks differ.
const OVERLAP: SignedDuration = SignedDuration::from_secs(10);

/// All runs, live
///
/// Each new or changed run arrives in full as an event named `run`; the stream begins with the newest 200 runs.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "watch_runs",
    tag = "runs",
    responses(
        (status = 200, description = "Server-sent events.", body = String, content_type = "text/event-stream"),
        Reading,
    )
)]
pub async fn watch(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let tenant = match &presented(&app.api_keys, &headers)?.tenant {
        Tenants::All => None,
        Tenants::One(tenant) => Some(tenant.clone()),
    };
    let looking = RunFeed { app, tenant, since: None, seen: HashMap::new() };
    let batches = stream::unfold(looking, |mut looking| async move {
        let batch = looking.next().await?;
        Some((stream::iter(batch.into_iter().map(Ok)), looking))
    });
    Ok(Sse::new(batches.flatten()).keep_alive(KeepAlive::default()))
}

struct RunFeed {
    app: Arc<App>,
    tenant: Option<TenantId>,
    /// When the last change happened that was told of; none before the first look.
    since: Option<Timestamp>,
    /// What was told of lately, as it was.
    seen: HashMap<RunId, Timestamp>,
}

impl RunFeed {
    async fn next(&mut self) -> Option<Vec<Event>> {
        loop {
            let stirred = self.app.orders.link.stirred();
            let rung = stirred.notified();
            let changed = self.look().await.ok()?;
            let told: Vec<Event> =
                changed.iter().filter_map(|run| Event::default().event("run").json_data(run).ok()).collect();
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
    }

    /// What changed since the last look, in the order in which it did.
    async fn look(&mut self) -> store::Result<Vec<Run>> {
        let store = self.app.store.clone();
        let Some(since) = self.since else {
            let query = RunQuery { tenant: self.tenant.clone(), limit: AT_FIRST, ..RunQuery::default() };
            // What changes from here on is later than this, also where it is told of at once.
            self.since = Some(clock::now());
            let mut runs = store.runs(&query).await?;
            runs.reverse();
            self.remember(&runs);
            return Ok(runs);
        };
        let begin = since - OVERLAP;
        let mut from = begin;
        let mut changed = Vec::new();
        loop {
            let page = store.runs_since(self.tenant.as_ref(), from, AT_ONCE).await?;
            let last = page.iter().filter_map(|run| run.last_heartbeat_at).max();
            // One that changed before has only given a sign of life.
            let is_new = |run: &Run| run.updated_at >= begin && self.seen.get(&run.id) != Some(&run.updated_at);
            let new: Vec<Run> = page.into_iter().filter(is_new).collect();
            self.remember(&new);
            changed.extend(new);
            match last.filter(|last| *last > from) {
                Some(last) => from = last,
                None => break,
            }
        }
        self.since = Some(from.max(since));
        let forgotten = from.max(since) - OVERLAP;
        self.seen.retain(|_, at| *at >= forgotten);
        Ok(changed)
    }

    fn remember(&mut self, runs: &[Run]) {
        self.seen.extend(runs.iter().map(|run| (run.id.clone(), run.updated_at)));
    }
}
