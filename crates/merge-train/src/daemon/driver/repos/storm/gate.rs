//! The door between the daemon and the world: what it wants done waits here until the storm lets it happen.

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::RepoId;
use merge_train_core::repo::{Answer, Effect, EffectFailure, EffectFailureKind, EffectKey};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::super::super::OutsideWorld;

/// Holds every effect, by its key: no two of one key are under way at once.
#[derive(Default)]
pub struct Gate {
    waiting: Mutex<BTreeMap<EffectKey, Waiting>>,
}

struct Waiting {
    effect: Effect,
    requested_at: Timestamp,
    cancel: CancellationToken,
    /// What came of it, once it was done.
    done: Option<Result<Answer, EffectFailure>>,
    answer: oneshot::Sender<Result<Answer, EffectFailure>>,
}

/// How far an effect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing of it was done.
    Asked,
    Done,
    /// Its train was stopped; nothing of it will be done any more.
    CalledOff,
}

impl Gate {
    /// All that is under way.
    pub fn under_way(&self) -> Vec<(EffectKey, Stage)> {
        self.waiting.lock().iter().map(|(key, waiting)| (*key, waiting.stage())).collect()
    }

    /// What is asked for under this key.
    pub fn asked(&self, key: EffectKey) -> (Effect, Timestamp) {
        let all = self.waiting.lock();
        let waiting = &all[&key];
        (waiting.effect.clone(), waiting.requested_at)
    }

    pub fn done(&self, key: EffectKey, result: Result<Answer, EffectFailure>) {
        self.waiting.lock().get_mut(&key).expect("it is under way").done = Some(result);
    }

    /// Lets the daemon know: what came of it, or, where it was called off, that.
    pub fn answer(&self, key: EffectKey) {
        let waiting = self.take(key);
        let answer = match (waiting.stage(), waiting.done) {
            (Stage::Done, Some(result)) => result,
            _ => Err(transient("it was cancelled")),
        };
        let _ = waiting.answer.send(answer);
    }

    /// Lets the daemon believe that it failed, whether it was done or not.
    pub fn fail(&self, key: EffectKey) {
        let waiting = self.take(key);
        let _ = waiting.answer.send(Err(transient("the answer was lost")));
    }

    fn take(&self, key: EffectKey) -> Waiting {
        self.waiting.lock().remove(&key).expect("it is under way")
    }
}

impl Waiting {
    fn stage(&self) -> Stage {
        match (self.cancel.is_cancelled(), &self.done) {
            (true, _) => Stage::CalledOff,
            (false, Some(_)) => Stage::Done,
            (false, None) => Stage::Asked,
        }
    }
}

#[async_trait]
impl OutsideWorld for Gate {
    async fn perform(
        &self,
        _: &RepoId,
        effect: Effect,
        requested_at: Timestamp,
        cancel: CancellationToken,
        _: &crate::daemon::driver::ProgressReports,
    ) -> Result<Answer, EffectFailure> {
        let (answer, answered) = oneshot::channel();
        let key = effect.key();
        self.waiting.lock().insert(key, Waiting { effect, requested_at, cancel, done: None, answer });
        match answered.await {
            Ok(result) => result,
            // The daemon is dead.
            Err(_) => std::future::pending().await,
        }
    }
}

fn transient(reason: &str) -> EffectFailure {
    EffectFailure { reason: reason.to_owned(), kind: EffectFailureKind::Transient, retry_at: None }
}
