//! Effects under way, beside the worker: it hears of everything else meanwhile.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{Effect, EffectKey, Failure, FailureKind, Input};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::super::workers::Shared;
use crate::failpoint;

#[derive(Default)]
pub(super) struct UnderWay {
    tasks: JoinSet<(EffectKey, Input)>,
    keys: HashSet<EffectKey>,
    /// One for each train that has effects under way; ends them when the train is stopped.
    trains: HashMap<PrNumber, CancellationToken>,
    closed: bool,
}

impl UnderWay {
    /// Begins an effect, unless its like is under way: then the result of that one asks again for what is still owed.
    pub fn begin(&mut self, shared: &Shared, repo: &RepoId, effect: Effect, train: Option<PrNumber>) {
        if self.closed || !self.keys.insert(effect.key()) {
            return;
        }
        let cancel = match train {
            Some(train) => self.trains.entry(train).or_insert_with(|| shared.abandon.child_token()).clone(),
            None => shared.abandon.child_token(),
        };
        let (outside, repo, key) = (shared.outside.clone(), repo.clone(), effect.key());
        let requested_at = shared.options.clock.now();
        self.tasks.spawn(async move {
            let name = effect.name();
            let performed =
                AssertUnwindSafe(outside.perform(&repo, effect.clone(), requested_at, cancel)).catch_unwind();
            failpoint::reach(format_args!("effect.{name}.start"));
            let performed = failpoint::during(name, performed).await;
            failpoint::reach(format_args!("effect.{name}.end"));
            let result = performed.unwrap_or_else(|_| {
                let reason = format!("{name} panicked; this is a bug");
                effect.failed(requested_at, Failure { reason, kind: FailureKind::Transient, retry_at: None })
            });
            (key, result)
        });
    }

    /// Ends what is under way for a train. What it begins later runs under a new token.
    pub fn cancel(&mut self, train: PrNumber) {
        if let Some(token) = self.trains.remove(&train) {
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

    /// The next result; waits for ever where nothing is under way.
    pub async fn next(&mut self) -> Input {
        match self.tasks.join_next().await {
            Some(done) => self.done(done),
            None => std::future::pending().await,
        }
    }

    /// A result that is there already.
    pub fn try_next(&mut self) -> Option<Input> {
        self.tasks.try_join_next().map(|done| self.done(done))
    }

    fn done(&mut self, done: Result<(EffectKey, Input), JoinError>) -> Input {
        let (key, input) = done.expect("panics are caught inside, and tasks are aborted only with their session");
        self.keys.remove(&key);
        input
    }
}
