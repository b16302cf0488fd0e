//! Leaves GitHub alone while it is down, and finds out with one call whether it is back.

use merge_train_core::backoff::ExponentialBackoff;
use tokio::time::Instant;

use super::{Limits, Verdict};

/// Whether calls are let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CircuitState {
    Closed,
    /// GitHub counts as down: calls fail at once.
    Open,
    /// One call is under way to find out.
    HalfOpen,
}

#[derive(Debug)]
pub(super) struct Circuit {
    state: State,
    failures_to_open: u32,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed {
        failures: u32,
    },
    /// `times` it was opened in a row.
    Open {
        until: Instant,
        times: u32,
    },
    Probing {
        times: u32,
    },
}

/// What the circuit says to a call.
pub(super) enum Passage {
    /// It may go; as the probe, if the pause is over.
    Free,
    /// The probe is under way.
    Wait,
    ClosedUntil(Instant),
}

impl Circuit {
    pub(super) fn new(limits: &Limits) -> Self {
        Self { state: State::Closed { failures: 0 }, failures_to_open: limits.circuit_failures.max(1) }
    }

    pub(super) fn passage(&self, now: Instant) -> Passage {
        match self.state {
            State::Open { until, .. } if until > now => Passage::ClosedUntil(until),
            State::Closed { .. } | State::Open { .. } => Passage::Free,
            State::Probing { .. } => Passage::Wait,
        }
    }

    /// A call sets out: the first one after the pause is the probe.
    pub(super) fn pass(&mut self) {
        if let State::Open { times, .. } = self.state {
            self.state = State::Probing { times };
        }
    }

    pub(super) fn learn(&mut self, verdict: Verdict, now: Instant, limits: &Limits) {
        self.state = match (self.state, verdict) {
            (State::Closed { .. }, Verdict::Answered | Verdict::Free | Verdict::Limited) => {
                State::Closed { failures: 0 }
            }
            (State::Probing { .. }, Verdict::Answered | Verdict::Free | Verdict::Limited) => {
                State::Closed { failures: 0 }
            }
            (State::Closed { failures }, Verdict::Failing) if failures + 1 < self.failures_to_open => {
                State::Closed { failures: failures + 1 }
            }
            (State::Closed { .. }, Verdict::Failing) => open(0, now, limits),
            (State::Probing { times }, Verdict::Failing) => open(times, now, limits),
            // The probe was given up: the next call takes its place.
            (State::Probing { times }, Verdict::Unknown) => State::Open { until: now, times },
            // Calls that set out before it opened say nothing new.
            (State::Open { .. }, _) | (State::Closed { .. }, Verdict::Unknown) => self.state,
        };
    }

    pub(super) fn state(&self) -> CircuitState {
        match self.state {
            State::Closed { .. } => CircuitState::Closed,
            State::Open { .. } => CircuitState::Open,
            State::Probing { .. } => CircuitState::HalfOpen,
        }
    }
}

fn open(times: u32, now: Instant, limits: &Limits) -> State {
    let backoff = ExponentialBackoff::doubling(limits.circuit_pause, limits.longest_circuit_pause);
    State::Open { until: now + backoff.delay(times), times: times + 1 }
}
