//! The pace of calls that create content: a bucket that fills up again over time.

use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct Pace {
    burst: u32,
    every: Duration,
    /// When the bucket will be full; each call moves it on.
    full_at: Option<Instant>,
}

impl Pace {
    pub(super) fn new(burst: u32, every: Duration) -> Self {
        Self { burst: burst.max(1), every, full_at: None }
    }

    /// When the next call may go: none means now.
    pub(super) fn available_at(&self, now: Instant) -> Option<Instant> {
        let full_at = self.full_at?;
        let at = full_at.checked_sub(self.every * (self.burst - 1))?;
        (at > now).then_some(at)
    }

    pub(super) fn spend(&mut self, now: Instant) {
        self.full_at = Some(self.full_at.map_or(now, |full_at| full_at.max(now)) + self.every);
    }
}
