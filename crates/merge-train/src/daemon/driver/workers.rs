//! The workers: one for each stream at most.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use merge_train_core::backoff::ExponentialBackoff;
use merge_train_core::ids::StreamId;
use parking_lot::Mutex;
use store::Store;
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::repos::Repository;
use super::runs::{StepRunner, WorkflowRun};
use super::session::{Session, SessionEndReason, Subject};
use super::{Options, OutsideWorld};

/// After failures of the store.
const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_millis(250), Duration::from_secs(5));
/// How many workers may load their state at once: after a restart all have work, and memory is finite.
const LOADING_AT_ONCE: usize = 32;

pub(super) struct Workers {
    shared: Arc<Shared>,
    tracker: TaskTracker,
    /// Ends effects that outlast the deadline of a stop.
    abandon: CancellationToken,
}

/// What every worker needs.
pub(super) struct Shared {
    pub store: Arc<dyn Store>,
    pub outside: Arc<dyn OutsideWorld>,
    pub agents: Arc<dyn StepRunner>,
    pub options: Options,
    pub stopping: CancellationToken,
    pub abandon: CancellationToken,
    loading: Semaphore,
    bells: Mutex<HashMap<StreamId, Arc<WorkerWakeup>>>,
}

/// How soon something must be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    Usual,
    /// A stop command.
    Alarm,
}

/// How a worker hears that something waits.
#[derive(Default)]
pub(super) struct WorkerWakeup {
    rung: AtomicBool,
    notify: Notify,
    /// Somebody wants a train to halt.
    alarm: Notify,
}

impl WorkerWakeup {
    fn ring(&self, urgency: Urgency) {
        self.rung.store(true, Ordering::SeqCst);
        self.notify.notify_one();
        if urgency == Urgency::Alarm {
            self.alarm.notify_one();
        }
    }

    /// Waits for somebody who wants a train to halt.
    pub async fn alarm(&self) {
        self.alarm.notified().await;
    }

    /// Waits for the next ring.
    pub async fn wait(&self) {
        self.notify.notified().await;
    }

    /// From here on, a ring means something new.
    pub fn reset(&self) {
        self.rung.store(false, Ordering::SeqCst);
    }
}

impl Workers {
    pub fn new(
        store: Arc<dyn Store>,
        outside: Arc<dyn OutsideWorld>,
        agents: Arc<dyn StepRunner>,
        options: Options,
        stopping: CancellationToken,
    ) -> Self {
        let shared = Shared::new(store, outside, agents, options, stopping);
        let abandon = shared.abandon.clone();
        Self { shared: Arc::new(shared), tracker: TaskTracker::new(), abandon }
    }

    pub fn wake(&self, stream: &StreamId, urgency: Urgency) {
        if self.shared.stopping.is_cancelled() {
            return;
        }
        let mut bells = self.shared.bells.lock();
        if let Some(bell) = bells.get(stream) {
            bell.ring(urgency);
            return;
        }
        let bell = Arc::new(WorkerWakeup::default());
        bell.ring(urgency);
        bells.insert(stream.clone(), bell.clone());
        drop(bells);
        let (shared, stream) = (self.shared.clone(), stream.clone());
        self.tracker.spawn(work(shared, stream, bell));
    }

    pub fn count(&self) -> usize {
        self.shared.bells.lock().len()
    }

    pub async fn stop(&self, deadline: Duration) {
        self.tracker.close();
        if tokio::time::timeout(deadline, self.tracker.wait()).await.is_err() {
            tracing::warn!(workers = self.count(), "the deadline is over; what is under way is cancelled");
            self.abandon.cancel();
            // Cancelled effects return at once; what does not is left to the end of the process.
            let _ = tokio::time::timeout(Duration::from_secs(2), self.tracker.wait()).await;
        }
    }
}

/// A worker's life: sessions, one after the other, until there is nothing to do or somebody else does it.
async fn work(shared: Arc<Shared>, stream: StreamId, bell: Arc<WorkerWakeup>) {
    let _gone = WorkerEntryGuard { shared: &shared, stream: &stream, bell: &bell };
    let mut failures = 0;
    while !shared.stopping.is_cancelled() {
        let ended = match &stream {
            StreamId::Repo(repo) => look_after::<Repository>(&shared, repo, &bell, &mut failures).await,
            StreamId::Run(run) => look_after::<WorkflowRun>(&shared, run, &bell, &mut failures).await,
        };
        match ended {
            Ok(SessionEndReason::Stopping) => return,
            Ok(SessionEndReason::Idle) => {
                if shared.retire(&stream, &bell) {
                    tracing::debug!(%stream, "the worker ends: nothing to do");
                    return;
                }
            }
            Err(store::Error::Held { owner, until, .. }) => {
                tracing::debug!(%stream, owner, %until, "another instance works on it");
                return;
            }
            Err(error) => {
                let wait = RETRY.delay(failures);
                failures += 1;
                tracing::error!(%stream, error = &error as &dyn std::error::Error, ?wait, "the worker begins anew");
                tokio::select! {
                    () = shared.stopping.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
    }
}

async fn look_after<S: Subject>(
    shared: &Shared,
    id: &S::Id,
    bell: &WorkerWakeup,
    failures: &mut u32,
) -> store::Result<SessionEndReason> {
    let session = {
        let Ok(_permit) = shared.loading.acquire().await else { return Ok(SessionEndReason::Stopping) };
        bell.reset();
        Session::<S>::open(shared, id).await?
    };
    *failures = 0;
    match session {
        Some(session) => session.run(bell).await,
        None => Ok(SessionEndReason::Idle),
    }
}

impl Shared {
    pub fn new(
        store: Arc<dyn Store>,
        outside: Arc<dyn OutsideWorld>,
        agents: Arc<dyn StepRunner>,
        options: Options,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            store,
            outside,
            agents,
            options,
            stopping,
            abandon: CancellationToken::new(),
            loading: Semaphore::new(LOADING_AT_ONCE),
            bells: Mutex::default(),
        }
    }

    /// Takes the worker off the list, unless the bell rang in the last moment.
    fn retire(&self, stream: &StreamId, bell: &WorkerWakeup) -> bool {
        let mut bells = self.bells.lock();
        if bell.rung.load(Ordering::SeqCst) {
            return false;
        }
        bells.remove(stream);
        true
    }
}

/// Takes the worker off the list however it ends, so that the next ring starts another.
struct WorkerEntryGuard<'a> {
    shared: &'a Shared,
    stream: &'a StreamId,
    bell: &'a Arc<WorkerWakeup>,
}

impl Drop for WorkerEntryGuard<'_> {
    fn drop(&mut self) {
        let mut bells = self.shared.bells.lock();
        // A retired worker may have a successor by now.
        if bells.get(self.stream).is_some_and(|bell| Arc::ptr_eq(bell, self.bell)) {
            bells.remove(self.stream);
        }
    }
}
