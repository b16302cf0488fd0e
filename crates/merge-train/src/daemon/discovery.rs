//! A daemon that knows no repository looks at all that GitHub lets it see: whatever was under way when the database was lost goes
//! on from what GitHub remembers of it.
//!
//! A full look is asked for each repository through the inbox, as by an operator, so it is done however often the process is
//! killed meanwhile. That the list was gone through is remembered in the inbox, too.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use merge_train_core::backoff::ExponentialBackoff;
use merge_train_core::ids::{RepoId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, RequestStatus, Source};
use merge_train_core::repo::Request;
use serde_json::json;
use store::{Admission, Arrival, Claim, Outcome, Priority, Route, Store};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::daemon::driver::{Driver, Urgency};
use crate::daemon::stored_request;

const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(1), Duration::from_mins(5));

pub struct Discovery {
    pub store: Arc<dyn Store>,
    pub driver: Driver,
    pub github: github::Client,
}

impl Discovery {
    /// Ends when everything is asked for, or when the daemon stops.
    pub async fn run(self, stopping: CancellationToken) {
        let (mut failures, mut begun) = (0, None);
        loop {
            let tried = tokio::select! {
                () = stopping.cancelled() => return,
                tried = self.discover(&mut begun) => tried,
            };
            let Err(error) = tried else { return };
            let wait = RETRY.delay(failures);
            tracing::warn!(%error, ?wait, "the repositories that merge-train is installed on could not be listed");
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            failures += 1;
        }
    }

    async fn discover(&self, begun: &mut Option<DiscoveryOwner>) -> anyhow::Result<()> {
        if begun.is_none() {
            *begun = self.begin().await?;
        }
        let Some(begun) = begun else { return Ok(()) };
        let found = self.github.repositories().await?;
        let (busy, idle): (Vec<_>, Vec<_>) = found.into_iter().partition(|repo| repo.is_busy);
        tracing::info!(repositories = busy.len(), idle = idle.len(), "no repository is known: all are looked at");
        for repo in &busy {
            self.ask_for_a_look(&repo.id).await?;
        }
        if let DiscoveryOwner::Here(claim) = begun {
            let outcome = Outcome::Completed { response: json!({ "repositories": busy.len() }), run_id: None };
            self.store.finish(claim, outcome, clock::now()).await?;
        }
        Ok(())
    }

    /// None where repositories are known, and were not left behind in the middle of this.
    async fn begin(&self) -> anyhow::Result<Option<DiscoveryOwner>> {
        let key = key("repositories");
        let before = self.store.record(&TenantId::nobody(), &key).await?;
        let is_unfinished = before.is_some_and(|record| record.status != RequestStatus::Completed);
        if !is_unfinished && !self.store.streams(None).await?.is_empty() {
            return Ok(None);
        }
        let arrival = Arrival {
            tenant: TenantId::nobody(),
            hash: RequestHash::of(key.as_str().as_bytes()),
            key,
            source: Source::Scheduler,
            received_at: clock::now(),
            route: Route::Caller,
        };
        Ok(Some(match self.store.admit(arrival).await? {
            Admission::Claimed(claim) => DiscoveryOwner::Here(claim),
            // Whoever had it a moment ago is gone, or at it as well: to ask twice does no harm.
            _ => DiscoveryOwner::Elsewhere,
        }))
    }

    async fn ask_for_a_look(&self, repo: &RepoId) -> anyhow::Result<()> {
        let key = key(&repo.to_string().to_ascii_lowercase());
        let stream = StreamId::Repo(repo.clone());
        let label = stored_request::label(&Request::Sync);
        let route = Route::Stream { stream, priority: Priority::Normal, label, body: Vec::new() };
        let hash = RequestHash::of(key.as_str().as_bytes());
        let received_at = clock::now();
        let arrival = Arrival { tenant: repo.tenant(), key, source: Source::Scheduler, hash, received_at, route };
        self.store.admit(arrival).await?;
        self.driver.wake(repo, Urgency::Usual);
        Ok(())
    }
}

/// By whom it is finished.
enum DiscoveryOwner {
    Here(Claim),
    Elsewhere,
}

/// Always the same for one thing: what was asked for before a crash is not asked for again after it.
fn key(what: &str) -> Key {
    let never = SignedDuration::from_secs(1);
    Key::scheduler(&format!("discovery-{what}"), Timestamp::UNIX_EPOCH, never)
        .expect("names have neither spaces nor colons")
}
