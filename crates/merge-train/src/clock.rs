//! What time it is.

use std::sync::Arc;

use jiff::{Timestamp, TimestampRound, Unit};

/// Now, to the millisecond: what is written and read back must compare equal on every database.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(TimestampRound::new().smallest(Unit::Millisecond).mode(jiff::RoundMode::Trunc)).unwrap_or(now)
}

/// Where the driver gets the time from: the machine, unless it is made of something else that knows.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::from(now)
    }
}

impl<F: Fn() -> Timestamp + Send + Sync + 'static> From<F> for Clock {
    fn from(tell: F) -> Self {
        Self(Arc::new(tell))
    }
}
