//! `GET /api/v1/events`: what becomes of runs, as it happens, for everybody who looks on.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use merge_train_core::ids::{RunId, TenantId};
use merge_train_core::run::Run;
use store::RunQuery;

use super::App;
use super::access::presented;
use super::openapi::Reading;
use super::problem::Problem;
use crate::config::Tenants;

/// How often is looked for what another instance did, and how often at most at all.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
const NOT_MORE_OFTEN: Duration = Duration::from_millis(100);
/// The newest runs are watched.
const WATCHED: usize = 200;

/// What becomes of all runs, as it happens
///
/// Each run that is new or has changed, whole, as an event by the name of `run`; the first that are told are those that
/// there are.
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
    let looking = Looking { app, tenant, seen: HashMap::new() };
    let batches = stream::unfold(looking, |mut looking| async move {
        let batch = looking.next().await?;
        Some((stream::iter(batch.into_iter().map(Ok)), looking))
    });
    Ok(Sse::new(batches.flatten()).keep_alive(KeepAlive::default()))
}

struct Looking {
    app: Arc<App>,
    tenant: Option<TenantId>,
    seen: HashMap<RunId, Timestamp>,
}

impl Looking {
    async fn next(&mut self) -> Option<Vec<Event>> {
        loop {
            let stirred = self.app.orders.link.stirred();
            let rung = stirred.notified();
            let query = RunQuery { tenant: self.tenant.clone(), limit: WATCHED, ..RunQuery::default() };
            let runs = self.app.store.runs(&query).await.ok()?;
            let is_new = |seen: &HashMap<RunId, Timestamp>, run: &Run| seen.get(&run.id) != Some(&run.updated_at);
            let new: Vec<&Run> = runs.iter().rev().filter(|run| is_new(&self.seen, run)).collect();
            let told: Vec<Event> =
                new.into_iter().filter_map(|run| Event::default().event("run").json_data(run).ok()).collect();
            self.seen = runs.into_iter().map(|run| (run.id, run.updated_at)).collect();
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
}
