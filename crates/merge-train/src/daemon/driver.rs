//! The driver: it appends what was decided, then acts, then feeds back what came of it.
//!
//! One worker for each repository, started when something waits for it and gone when nothing has for a while.

mod ledger;
mod link;
mod outside;
mod repos;
mod runs;
mod session;
#[cfg(test)]
mod tests;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{FIXER, Settings, TRAIN};
use merge_train_core::workflow::Run;
use store::{Owner, Store};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::daemon::run_orders::Workflows;
use workers::Workers;

pub use link::Link;
pub use outside::{GithubOutside, OutsideWorld, ProgressReports};
pub use repos::workspaces;
pub use repos::{recorded, replay};
pub use runs::{RunOptions, StepRunner, StepTask, StoredRefusal, StoredRunRequest, replay as replay_run};
pub use workers::Urgency;

/// How often the inbox is looked over for what no wake-up told of: another instance's work, or that of a crash.
const LOOK_OVER: Duration = Duration::from_secs(2);
/// How many streams are woken at once by that.
const LOOK_OVER_LIMIT: usize = 256;
/// How often what has expired is removed.
const SWEEP: Duration = Duration::from_secs(60);

pub struct Options {
    pub owner: Owner,
    pub settings: Settings,
    /// A worker with nothing to do for so long ends.
    pub idle: Duration,
    /// A snapshot is taken after so many events, or when it would cost less than they do.
    pub compact_after_events: u64,
    /// A snapshot is taken after so long, if anything happened.
    pub compact_interval: SignedDuration,
    pub retention: store::Retention,
    pub runs: RunOptions,
    pub link: Link,
    /// Those that GitHub's events can start.
    pub workflows: Arc<Workflows>,
    /// What the addresses of pages at GitHub begin with.
    pub web_url: String,
    pub clock: Clock,
}

/// A handle on the running driver.
#[derive(Clone)]
pub struct Driver {
    store: Arc<dyn Store>,
    workers: Arc<Workers>,
    retention: store::Retention,
    clock: Clock,
    link: Link,
    orphaned_after: Duration,
    stopping: CancellationToken,
}

impl Driver {
    pub fn new(
        store: Arc<dyn Store>,
        outside: Arc<dyn OutsideWorld>,
        agents: Arc<dyn StepRunner>,
        options: Options,
    ) -> Self {
        let stopping = CancellationToken::new();
        let (retention, clock, link) = (options.retention, options.clock.clone(), options.link.clone());
        let orphaned_after = options.runs.orphaned_after;
        let workers = Arc::new(Workers::new(store.clone(), outside, agents, options, stopping.clone()));
        Self { store, workers, retention, clock, link, orphaned_after, stopping }
    }

    /// Something waits for this repository's worker.
    pub fn wake(&self, repo: &RepoId, urgency: Urgency) {
        self.workers.wake(&StreamId::Repo(repo.clone()), urgency);
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.workers.count()
    }

    /// Looks after the workers until the driver is told to stop.
    pub async fn run(&self) {
        self.begin().await;
        let mut look_over = every(LOOK_OVER);
        let mut sweep = every(SWEEP);
        let mut wakes = self.store.wakes();
        let Some(mut woken) = self.link.woken() else { return };
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                _ = look_over.tick() => self.look_over().await,
                _ = sweep.tick() => self.sweep().await,
                Ok(stream) = wakes.recv() => self.wake_stream(&stream),
                Some((stream, urgency)) = woken.recv() => self.workers.wake(&stream, urgency),
            }
        }
    }

    /// Wakes every worker once: nobody knows what was missed while no process was there to hear of it.
    async fn begin(&self) {
        match self.store.streams(None).await {
            Ok(streams) => {
                let repos = streams.iter().filter(|it| matches!(it.stream, StreamId::Repo(_)));
                repos.for_each(|it| self.wake_stream(&it.stream));
            }
            Err(error) => {
                tracing::warn!(%error, "what is known could not be listed; each repository waits for its next event");
            }
        }
    }

    /// Takes nothing more; finishes what is under way, or cancels it when `deadline` is over.
    pub async fn stop(&self, deadline: Duration) {
        self.stopping.cancel();
        self.workers.stop(deadline).await;
    }

    async fn look_over(&self) {
        match self.store.waiting(self.clock.now(), LOOK_OVER_LIMIT).await {
            Ok(streams) => streams.iter().for_each(|stream| self.wake_stream(stream)),
            Err(error) => tracing::warn!(%error, "the inbox could not be looked over"),
        }
        self.look_for_orphans().await;
    }

    /// Runs that are said to be worked on, and of which nobody has heard for too long.
    async fn look_for_orphans(&self) {
        let now = self.clock.now();
        let before = SignedDuration::try_from(self.orphaned_after).ok().and_then(|after| now.checked_sub(after).ok());
        let Some(before) = before else { return };
        match self.store.stale_runs(before, LOOK_OVER_LIMIT).await {
            Ok(runs) => {
                // Of others their workers tell, once they have them.
                runs.iter().filter(|run| [TRAIN, FIXER].contains(&run.kind.as_str())).for_each(ledger::orphan);
                runs.iter().filter_map(stream_of).for_each(|stream| self.wake_stream(&stream));
            }
            Err(error) => tracing::warn!(%error, "orphaned runs could not be looked for"),
        }
    }

    async fn sweep(&self) {
        match self.store.sweep(self.clock.now(), &self.retention).await {
            Ok(swept) if swept == store::Swept::default() => {}
            Ok(swept) => tracing::info!(?swept, "removed what had expired"),
            Err(error) => tracing::warn!(%error, "what has expired could not be removed"),
        }
    }

    fn wake_stream(&self, stream: &StreamId) {
        self.workers.wake(stream, Urgency::Usual);
    }
}

/// Who works on a run: for a train or a fixer, whoever works on its repository.
fn stream_of(run: &Run) -> Option<StreamId> {
    match run.kind.as_str() {
        TRAIN | FIXER => run.repo_id.parse().ok().map(StreamId::Repo),
        _ => Some(StreamId::Run(run.id.clone())),
    }
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
