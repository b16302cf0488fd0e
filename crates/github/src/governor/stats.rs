//! What the governor shows of itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Verdict;
use super::admission::Snapshot;
use super::budget::Window;
use super::circuit::CircuitState;
use crate::error::{Class, Error};

/// One token's dealings with GitHub.
#[derive(Debug, Clone, PartialEq)]
pub struct GovernorStats {
    /// `app`, `token` or `installation 42`.
    pub name: String,
    pub core: Option<BudgetStats>,
    pub graphql: Option<BudgetStats>,
    pub in_flight: usize,
    pub waiting: usize,
    pub circuit: CircuitState,
    /// How long a secondary limit keeps everything back.
    pub blocked_for: Option<Duration>,
    pub retries: u64,
    /// Calls that were not let through: GitHub is down, or the budget is used up.
    pub refused: u64,
    pub calls: CallCounts,
}

/// What is left of a primary rate limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetStats {
    pub limit: u64,
    pub remaining: u64,
    pub resets_in: Duration,
}

/// Calls since the start, by what came of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallCounts {
    pub answered: u64,
    /// Answered from the cache, after GitHub said that nothing changed.
    pub not_modified: u64,
    pub rate_limited: u64,
    pub not_found: u64,
    pub forbidden: u64,
    pub conflict: u64,
    pub transient: u64,
    pub permanent: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub retries: AtomicU64,
    pub refused: AtomicU64,
    answered: AtomicU64,
    not_modified: AtomicU64,
    rate_limited: AtomicU64,
    not_found: AtomicU64,
    forbidden: AtomicU64,
    conflict: AtomicU64,
    transient: AtomicU64,
    permanent: AtomicU64,
}

impl Counters {
    pub(super) fn answered(&self, verdict: Verdict) {
        let counter = if verdict == Verdict::Free { &self.not_modified } else { &self.answered };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn failed(&self, error: &Error) {
        let counter = match error {
            Error::RateLimited { .. } => &self.rate_limited,
            other => match other.class() {
                Class::NotFound => &self.not_found,
                Class::Forbidden => &self.forbidden,
                Class::Conflict => &self.conflict,
                Class::Transient => &self.transient,
                Class::Permanent => &self.permanent,
            },
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self, name: &str, seen: &Snapshot) -> GovernorStats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        GovernorStats {
            name: name.to_owned(),
            core: seen.core.as_ref().map(budget),
            graphql: seen.graphql.as_ref().map(budget),
            in_flight: seen.in_flight,
            waiting: seen.waiting,
            circuit: seen.circuit,
            blocked_for: seen.blocked_for,
            retries: read(&self.retries),
            refused: read(&self.refused),
            calls: CallCounts {
                answered: read(&self.answered),
                not_modified: read(&self.not_modified),
                rate_limited: read(&self.rate_limited),
                not_found: read(&self.not_found),
                forbidden: read(&self.forbidden),
                conflict: read(&self.conflict),
                transient: read(&self.transient),
                permanent: read(&self.permanent),
            },
        }
    }
}

fn budget(window: &Window) -> BudgetStats {
    let resets_in = window.resets_at.saturating_duration_since(tokio::time::Instant::now());
    let remaining = if resets_in.is_zero() { window.limit } else { window.remaining };
    BudgetStats { limit: window.limit, remaining, resets_in }
}
