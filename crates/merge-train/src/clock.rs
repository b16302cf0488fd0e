//! What time it is.

use jiff::{Timestamp, TimestampRound, Unit};

/// Now, to the millisecond: what is written and read back must compare equal on every database.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(TimestampRound::new().smallest(Unit::Millisecond).mode(jiff::RoundMode::Trunc)).unwrap_or(now)
}
