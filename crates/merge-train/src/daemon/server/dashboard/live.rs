//! A page as it changes, for a browser that stays: rendered again whenever something may have happened, and sent when it differs.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;

use super::address::PageAddress;
use super::{DashboardVisitor, render};
use crate::daemon::server::App;

/// How often is looked for what nobody told of, and how often at most at all.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
const NOT_MORE_OFTEN: Duration = Duration::from_millis(400);

#[derive(Deserialize)]
pub struct LiveUpdateQuery {
    to: String,
}

pub async fn watch(
    State(app): State<Arc<App>>,
    Query(LiveUpdateQuery { to }): Query<LiveUpdateQuery>,
    headers: HeaderMap,
) -> Response {
    let (path, query) = to.split_once('?').unwrap_or((&to, ""));
    let Some(address) = PageAddress::read(path, query) else { return StatusCode::NOT_FOUND.into_response() };
    if DashboardVisitor::of(&app, &headers).is_none_or(|(_, is_new)| is_new) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let watching = LiveUpdates { app, headers, address, shown: None };
    let changes = stream::unfold(watching, |mut watching| async move {
        let event = watching.next().await?;
        Some((Ok::<_, Infallible>(event), watching))
    });
    Sse::new(changes).keep_alive(KeepAlive::default()).into_response()
}

struct LiveUpdates {
    app: Arc<App>,
    headers: HeaderMap,
    address: PageAddress,
    /// What was sent last; none before anything was.
    shown: Option<u64>,
}

impl LiveUpdates {
    /// The page once it is not what it was; none when the daemon stops or the session is over.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let stirred = self.app.orders.link.stirred();
            let rung = stirred.notified();
            let (visitor, _) = DashboardVisitor::of(&self.app, &self.headers).filter(|(_, is_new)| !is_new)?;
            if let Ok(page) = render(&self.app, &visitor, &self.address).await {
                let html = page.body.into_string();
                let mut hasher = DefaultHasher::new();
                html.hash(&mut hasher);
                let is_new = self.shown.replace(hasher.finish()) != Some(hasher.finish());
                if is_new {
                    return Event::default().event("page").json_data(html).ok();
                }
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
