//! How long to wait before what failed is tried again. No other module computes such a wait.

use std::time::Duration;

/// A wait that grows with every failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExponentialBackoff {
    pub first: Duration,
    pub longest: Duration,
    factor: u32,
}

impl ExponentialBackoff {
    /// Each wait is twice the one before.
    pub const fn doubling(first: Duration, longest: Duration) -> Self {
        Self { first, longest, factor: 2 }
    }

    pub const fn by_factor(self, factor: u32) -> Self {
        Self { factor, ..self }
    }

    /// The wait after one more failure than these.
    pub fn delay(self, failures_before: u32) -> Duration {
        self.first.saturating_mul(self.factor.saturating_pow(failures_before)).min(self.longest)
    }

    /// Full jitter: a part of the delay, so that callers who failed together do not return together. `random` is from 0 to 1.
    pub fn jittered(self, failures_before: u32, random: f64) -> Duration {
        self.delay(failures_before).mul_f64(random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECONDS: ExponentialBackoff =
        ExponentialBackoff::doubling(Duration::from_secs(2), Duration::from_secs(20)).by_factor(3);

    #[test]
    fn a_delay_grows_by_its_factor_up_to_the_longest() {
        let delays = [0, 1, 2, 3, u32::MAX].map(|failures| SECONDS.delay(failures).as_secs());
        assert_eq!(delays, [2, 6, 18, 20, 20]);
        let doubling = ExponentialBackoff { factor: 2, ..SECONDS };
        assert_eq!([0, 1, 2, 3, 4].map(|failures| doubling.delay(failures).as_secs()), [2, 4, 8, 16, 20]);
        let none = ExponentialBackoff::doubling(Duration::ZERO, Duration::MAX);
        assert_eq!(none.delay(u32::MAX), Duration::ZERO);
    }

    #[test]
    fn jitter_only_shortens_a_delay() {
        let jittered = [0.0, 0.5, 1.0].map(|random| SECONDS.jittered(1, random).as_secs());
        assert_eq!(jittered, [0, 3, 6]);
    }
}
