//! Exponential backoff with full jitter.

use std::time::Duration;

/// Full jitter: anything up to `first` doubled `times` times, so that callers who failed together do not return together.
pub(super) fn pause(first: Duration, times: u32, longest: Duration) -> Duration {
    doubled(first, times, longest).mul_f64(fastrand::f64())
}

/// `first` doubled `times` times, but not more than `longest`.
pub(super) fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    first.saturating_mul(1u32.checked_shl(times.min(31)).unwrap_or(u32::MAX)).min(longest)
}
