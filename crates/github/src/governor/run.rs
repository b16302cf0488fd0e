//! A call with all its waiting and its repetitions.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use merge_train_core::backoff::ExponentialBackoff;
use tokio::time::Instant;

use super::admission::Refusal;
use super::{Ask, Effect, Governor, Report};
use crate::error::{CallName, Error, Executed};

/// What came of trying once.
pub(crate) struct Attempt<T> {
    pub result: Result<T, Error>,
    pub report: Report,
}

impl Governor {
    /// Makes a call when it may be made, and repeats it where that is safe. `attempt` is given the time it has left.
    pub(crate) async fn run<T, F, Fut>(self: &Arc<Self>, ask: Ask, call: &CallName, mut attempt: F) -> Result<T, Error>
    where
        F: FnMut(Duration) -> Fut,
        Fut: Future<Output = Attempt<T>>,
    {
        let mut repeated = 0;
        loop {
            let permit = self.admit(ask).await.map_err(|refusal| self.refused(call, refusal))?;
            let left = ask.deadline.saturating_duration_since(Instant::now());
            let Attempt { result, report } = attempt(left).await;
            let verdict = report.verdict;
            permit.back(report);
            let error = match result {
                Ok(answer) => {
                    self.counters.answered(verdict);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            self.counters.failed(&error);
            let Some(pause) = self.pause_before_repeating(&error, ask, repeated) else { return Err(error) };
            repeated += 1;
            self.counters.retries.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(%call, %error, repeated, "repeating a call to GitHub");
            tokio::time::sleep(pause).await;
        }
    }

    /// None when the call must not, or need not, be repeated.
    fn pause_before_repeating(&self, error: &Error, ask: Ask, repeated: u32) -> Option<Duration> {
        if repeated >= self.limits.retries {
            return None;
        }
        let pause = match error {
            // Nothing was done, and the next admission waits for as long as it must.
            Error::RateLimited { .. } => Duration::ZERO,
            Error::Transient { executed, retry_after, .. } => {
                if ask.effect != Effect::Read && *executed != Executed::No {
                    return None;
                }
                let backoff = ExponentialBackoff::doubling(self.limits.backoff, self.limits.longest_backoff);
                let jittered = backoff.jittered(repeated, fastrand::f64());
                retry_after.map_or(jittered, |asked| asked + jittered)
            }
            _ => return None,
        };
        (Instant::now() + pause < ask.deadline).then_some(pause)
    }

    fn refused(&self, call: &CallName, refusal: Refusal) -> Error {
        let wait = |until: Instant| until.saturating_duration_since(Instant::now());
        let error = match refusal {
            Refusal::LimitedUntil(until) => Error::rate_limited(call, wait(until)),
            Refusal::Down { until } => Error::Transient {
                call: call.clone(),
                reason: "GitHub failed several times in a row and is left alone for a moment".to_owned(),
                executed: Executed::No,
                retry_after: Some(wait(until)),
            },
            Refusal::Queue => Error::transient(call, "its turn did not come in time", Executed::No),
            Refusal::Full => Error::transient(call, "too many calls to GitHub wait already", Executed::No),
        };
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
        error
    }
}
