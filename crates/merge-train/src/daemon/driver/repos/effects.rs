//! Effects under way, beside the worker: it hears of everything else meanwhile.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use merge_train_core::ids::RepoId;
use merge_train_core::repo::{Effect, EffectFailure, EffectFailureKind, EffectKey, EffectOwner, Input};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::super::outside::ProgressReports;
use super::super::workers::Shared;
use crate::daemon::failpoint;

pub(super) struct RunningEffects {
    tasks: JoinSet<(EffectKey, Input)>,
    keys: HashSet<EffectKey>,
    /// One for each train or fixer that has effects under way; ends them when it is stopped.
    served: HashMap<EffectOwner, CancellationToken>,
    reports: (ProgressReports, UnboundedReceiver<Input>),
    closed: bool,
}

impl Default for RunningEffects {
    fn default() -> Self {
        let (tasks, keys, served) = (JoinSet::new(), HashSet::new(), HashMap::new());
        Self { tasks, keys, served, reports: unbounded_channel(), closed: false }
    }
}

impl RunningEffects {
    /// Begins an effect, unless its like is under way: then the result of that one asks again for what is still owed.
    pub fn begin(&mut self, shared: &Shared, repo: &RepoId, effect: Effect, served: Option<EffectOwner>) {
        if self.closed || !self.keys.insert(effect.key()) {
            return;
        }
        let cancel = match served {
            Some(served) => self.served.entry(served).or_insert_with(|| shared.abandon.child_token()).clone(),
            None => shared.abandon.child_token(),
        };
        let (outside, repo, key) = (shared.outside.clone(), repo.clone(), effect.key());
        let (requested_at, reports) = (shared.options.clock.now(), self.reports.0.clone());
        self.tasks.spawn(async move {
            let name = effect.name();
            let performed =
                AssertUnwindSafe(outside.perform(&repo, effect.clone(), requested_at, cancel, &reports)).catch_unwind();
            failpoint::reach(format_args!("effect.{name}.start"));
            let performed = failpoint::during(name, performed).await;
            failpoint::reach(format_args!("effect.{name}.end"));
            let result = performed.unwrap_or_else(|_| {
                let reason = format!("{name} panicked; this is a bug");
                Err(EffectFailure { reason, kind: EffectFailureKind::Transient, retry_at: None })
            });
            (key, Input::Completed { effect, requested_at, result })
        });
    }

    /// Ends what is under way for a train or a fixer. What it begins later runs under a new token.
    pub fn cancel(&mut self, served: EffectOwner) {
        if let Some(token) = self.served.remove(&served) {
            token.cancel();
        }
    }

    /// Begins nothing more.
    pub fn close(&mut self) {
        self.closed = true;
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The next result, or how far something is; waits for ever where nothing is under way. Reports come before the result
    /// of what made them. Nothing is lost if the waiting is called off.
    pub async fn next(&mut self) -> Input {
        let Self { tasks, reports: (_, reports), .. } = self;
        let done = tokio::select! {
            biased;
            Some(report) = reports.recv() => return report,
            Some(done) = tasks.join_next() => done,
            else => std::future::pending().await,
        };
        self.done(done)
    }

    fn done(&mut self, done: Result<(EffectKey, Input), JoinError>) -> Input {
        let (key, input) = done.expect("panics are caught inside, and tasks are aborted only with their session");
        self.keys.remove(&key);
        input
    }
}
