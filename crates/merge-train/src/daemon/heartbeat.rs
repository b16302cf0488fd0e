//! The heartbeat of the ratchet: one look at every pull request under it, fifty in a request. Who shows something new is looked
//! at closely by its repository's worker; whoever shows nothing new costs no more than that.
//!
//! Webhooks tell of most things sooner. This is what is left when they do not come.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use github::{Depth, Glances};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::facts::HeartbeatFacts;
use merge_train_core::ids::{PrNumber, RepoId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::Request;
use parking_lot::Mutex;
use store::rows::Workspace;
use store::{Arrival, Priority, Route, Store};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::daemon::driver::{Driver, Urgency};
use crate::daemon::stored_request;
use crate::telemetry::metrics::{RATCHET_CANDIDATES, RATCHET_HEARTBEAT, RATCHET_NEWS};

/// So many pull requests of an owner are looked into thoroughly in one heartbeat, thread by thread: that costs some fifty of
/// GitHub's points, and each brief request two or three. The others have their turn in the next ones.
const THOROUGH: usize = 50;

pub struct Heartbeat {
    pub store: Arc<dyn Store>,
    pub driver: Driver,
    pub github: github::Client,
    pub every: Duration,
    pub checked: Arc<LastHeartbeats>,
}

/// When workspaces were last looked at: it changes with each heartbeat, and is worth no write.
#[derive(Default)]
pub struct LastHeartbeats(Mutex<BTreeMap<TenantId, Timestamp>>);

impl LastHeartbeats {
    pub fn at(&self, tenant: &TenantId) -> Option<Timestamp> {
        self.0.lock().get(tenant).copied()
    }
}

/// How much of an owner's workspaces was looked at.
#[derive(PartialEq, Eq)]
enum HeartbeatCoverage {
    Whole,
    InPart,
}

impl Heartbeat {
    pub async fn run(self, stopping: CancellationToken) {
        let mut beat = tokio::time::interval(self.every);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut round = 0;
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                _ = beat.tick() => {}
            }
            let began = std::time::Instant::now();
            tokio::select! {
                () = stopping.cancelled() => return,
                () = self.look(round) => {}
            }
            metrics::histogram!(RATCHET_HEARTBEAT).record(began.elapsed());
            round += 1;
        }
    }

    async fn look(&self, round: usize) {
        let workspaces = match self.store.workspaces(None).await {
            Ok(workspaces) => workspaces,
            Err(error) => return tracing::warn!(%error, "the heartbeat could not read which workspaces there are"),
        };
        let mut owners: BTreeMap<TenantId, Vec<Workspace>> = BTreeMap::new();
        for workspace in workspaces.into_iter().filter(is_candidate) {
            owners.entry(workspace.tenant_id.clone()).or_default().push(workspace);
        }
        metrics::gauge!(RATCHET_CANDIDATES).set(owners.values().map(Vec::len).sum::<usize>() as f64);
        for (tenant, workspaces) in owners {
            if self.look_at(&tenant, &workspaces, round).await == HeartbeatCoverage::Whole {
                self.checked.0.lock().insert(tenant, clock::now());
            }
        }
    }

    /// Looks at the workspaces of one owner, and tells what is new part by part: one that fails hides nothing of the others.
    async fn look_at(&self, tenant: &TenantId, workspaces: &[Workspace], round: usize) -> HeartbeatCoverage {
        let turns = workspaces.len().div_ceil(THOROUGH).max(1);
        let turn = round % turns;
        let mut beat = HeartbeatCoverage::Whole;
        for (part, workspaces) in workspaces.chunks(THOROUGH).enumerate() {
            let depth = if part == turn { Depth::Thorough } else { Depth::Brief };
            if let Err(error) = self.look_at_some(tenant, workspaces, depth).await {
                tracing::warn!(%tenant, part, error = format!("{error:#}"), "the heartbeat missed a part of its beat");
                beat = HeartbeatCoverage::InPart;
            }
        }
        beat
    }

    async fn look_at_some(&self, tenant: &TenantId, workspaces: &[Workspace], depth: Depth) -> anyhow::Result<()> {
        let glances = self.github.glance(&by_repo(workspaces), depth).await?;
        for (repo, prs) in news(workspaces, &glances) {
            metrics::counter!(RATCHET_NEWS).increment(prs.len() as u64);
            self.tell(tenant, &repo, prs).await?;
        }
        Ok(())
    }

    /// Has the worker of a repository look closely at these. Through the inbox, so that it reaches whoever the worker is.
    async fn tell(&self, tenant: &TenantId, repo: &RepoId, prs: Vec<PrNumber>) -> anyhow::Result<()> {
        let now = clock::now();
        tracing::debug!(%repo, ?prs, "the heartbeat saw something new");
        let label = stored_request::label(&Request::LookAt { prs });
        let arrival = Arrival {
            tenant: tenant.clone(),
            key: Key::scheduler(&format!("ratchet-{}", repo.name()), now, SignedDuration::from_millis(1))?,
            source: Source::Scheduler,
            hash: RequestHash::of(label.as_bytes()),
            received_at: now,
            route: Route::Stream {
                stream: StreamId::Repo(repo.clone()),
                priority: Priority::Normal,
                label,
                body: Vec::new(),
            },
        };
        self.store.admit(arrival).await?;
        self.driver.wake(repo, Urgency::Usual);
        Ok(())
    }
}

/// All that are open and on, wherever a board shows them. One that its worker has not read yet needs no heartbeat to be read.
fn is_candidate(workspace: &Workspace) -> bool {
    workspace.ratchet_enabled && workspace.archived_at.is_none() && workspace.glimpse.is_some()
}

/// Of whom there is something new, in which repository.
fn news(workspaces: &[Workspace], glances: &Glances) -> BTreeMap<RepoId, Vec<PrNumber>> {
    let mut news: BTreeMap<RepoId, Vec<PrNumber>> = BTreeMap::new();
    for workspace in workspaces {
        let Some(pr) = workspace.pr_number else { continue };
        let seen = glances.seen.iter().find(|glance| is_of(glance, workspace));
        let is_news = match (seen, &workspace.glimpse) {
            (Some(glance), Some(known)) => known.differs_from(glance),
            // GitHub has it no more, or nobody has looked at it yet; but who could not be read is as before.
            _ => !glances.unread.iter().any(|(repo, unread)| (repo, *unread) == (&workspace.repo_id, pr)),
        };
        if is_news {
            news.entry(workspace.repo_id.clone()).or_default().push(pr);
        }
    }
    news
}

fn is_of(glance: &HeartbeatFacts, workspace: &Workspace) -> bool {
    glance.repo == workspace.repo_id && Some(glance.merge.number) == workspace.pr_number
}

fn by_repo(workspaces: &[Workspace]) -> Vec<(RepoId, Vec<PrNumber>)> {
    let mut repos: BTreeMap<RepoId, Vec<PrNumber>> = BTreeMap::new();
    for workspace in workspaces {
        repos.entry(workspace.repo_id.clone()).or_default().extend(workspace.pr_number);
    }
    repos.into_iter().collect()
}

#[cfg(test)]
mod tests;
