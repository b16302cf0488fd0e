//! How much may be asked of GitHub, by whom first, and when to leave it alone. One governor for each token: GitHub counts
//! by installation. All time here is the runtime's monotonic clock, so a test can drive it.

mod admission;
mod budget;
mod circuit;
mod pace;
mod run;
mod stats;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use admission::Admission;
pub(crate) use budget::Quota;
pub use circuit::CircuitState;
pub(crate) use run::Attempt;
use stats::Counters;
pub use stats::{BudgetStats, CallCounts, GovernorStats};

/// Who goes first, and who may spend the last of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// Somebody wants a train halted.
    Stop,
    /// A step of a train.
    Merge,
    Normal,
    /// A look that can as well be taken later.
    Poll,
}

impl Priority {
    /// The share of the budget, in thousandths, that is kept for those before it.
    fn reserve_per_mille(self) -> u64 {
        match self {
            Self::Stop => 0,
            Self::Merge => 10,
            Self::Normal => 50,
            Self::Poll => 200,
        }
    }

    /// How many calls may be under way when one of this priority sets out: the rest is kept free for those before it.
    fn slots(self, most: usize) -> usize {
        let kept = match self {
            Self::Stop => 0,
            Self::Merge => 1,
            Self::Normal => 2,
            Self::Poll => 4,
        };
        most.saturating_sub(kept).max(1)
    }
}

/// What a call does to GitHub, and so what may be done after it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// May be repeated.
    Read,
    /// Repeated only when it certainly was not executed.
    Write,
    /// A write that people are notified of: GitHub limits these by themselves.
    Content,
}

/// GitHub counts REST and GraphQL apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Resource {
    Core,
    Graphql,
}

/// The limits that the governor keeps to. The defaults suit GitHub.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Calls under way at once. GitHub asks for less than 100 over all.
    pub in_flight: usize,
    /// Calls that wait for their turn; more are turned away.
    pub waiting: usize,
    /// How often a failed call is repeated, where it may be.
    pub retries: u32,
    /// The longest first pause before a repetition; it doubles, and the pause is random below it.
    pub backoff: Duration,
    pub longest_backoff: Duration,
    /// How long a call may take with all its waiting and repetitions.
    pub patience: Duration,
    /// Failures in a row after which GitHub counts as down.
    pub circuit_failures: u32,
    /// How long it is left alone then; it doubles with each probe that fails.
    pub circuit_pause: Duration,
    pub longest_circuit_pause: Duration,
    /// The pause after a secondary limit that came without one; it doubles. GitHub asks for at least a minute.
    pub secondary_pause: Duration,
    pub longest_secondary_pause: Duration,
    /// Content-creating calls that may go at once, and how long each takes to be made up for. Together at most 80 in
    /// a minute, which is GitHub's limit.
    pub content_burst: u32,
    pub content_every: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 16,
            waiting: 10_000,
            retries: 3,
            backoff: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            circuit_failures: 5,
            circuit_pause: Duration::from_secs(1),
            longest_circuit_pause: Duration::from_secs(60),
            secondary_pause: Duration::from_secs(60),
            longest_secondary_pause: Duration::from_secs(15 * 60),
            content_burst: 20,
            content_every: Duration::from_secs(1),
        }
    }
}

/// What a call asks of the governor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub priority: Priority,
    pub effect: Effect,
    pub resource: Resource,
    pub deadline: Instant,
}

/// What an answer, or its absence, says about GitHub.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub verdict: Verdict,
    pub quota: Option<Quota>,
    pub retry_after: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Answered,
    /// Not modified: costs nothing.
    Free,
    /// Turned away by a primary or secondary limit; not executed.
    Limited,
    /// No answer, or one that says that GitHub is unwell.
    Failing,
    /// Given up by the caller: says nothing.
    Unknown,
}

/// The governor of one token.
pub(crate) struct Governor {
    name: String,
    limits: Limits,
    admission: Mutex<Admission>,
    counters: Counters,
}

impl Governor {
    pub(crate) fn new(name: String, limits: Limits) -> Arc<Self> {
        let admission = Mutex::new(Admission::new(&limits));
        Arc::new(Self { name, limits, admission, counters: Counters::default() })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn stats(&self) -> GovernorStats {
        self.counters.stats(&self.name, &self.admission.lock().snapshot(Instant::now()))
    }
}
