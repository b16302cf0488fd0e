//! Who may set out now. Waiting callers stand in one line by priority and arrival; whatever changes calls the first of
//! them who may go, and each sleeps no longer than to the moment at which it could.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use merge_train_core::backoff::ExponentialBackoff;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::budget::{Budget, Window};
use super::circuit::{Circuit, CircuitState, Passage};
use super::pace::Pace;
use super::{Ask, Effect, Governor, Limits, Priority, Report, Resource, Verdict};

/// Why a call was not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The limit is not reset before the caller's patience ends.
    LimitedUntil(Instant),
    /// GitHub is down.
    Down { until: Instant },
    /// It was not its turn in time.
    Queue,
    /// Too many wait already.
    Full,
}

pub(super) struct Admission {
    limits: Limits,
    budget: Budget,
    pace: Pace,
    circuit: Circuit,
    blocked_until: Option<Instant>,
    /// Secondary limits in a row that came without a pause.
    strikes: u32,
    in_flight: usize,
    line: BTreeMap<(Priority, u64), Waiting>,
    arrivals: u64,
}

struct Waiting {
    ask: Ask,
    call: oneshot::Sender<Result<(), Refusal>>,
}

enum When {
    Now,
    At(Instant),
    /// When another call has come back.
    AfterOthers,
    Never(Refusal),
}

/// What the metrics show.
pub(super) struct Snapshot {
    pub core: Option<Window>,
    pub graphql: Option<Window>,
    pub in_flight: usize,
    pub waiting: usize,
    pub circuit: CircuitState,
    pub blocked_for: Option<Duration>,
}

impl Admission {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            budget: Budget::default(),
            pace: Pace::new(limits.content_burst, limits.content_every),
            circuit: Circuit::new(limits),
            blocked_until: None,
            strikes: 0,
            in_flight: 0,
            line: BTreeMap::new(),
            arrivals: 0,
        }
    }

    fn when(&self, ask: &Ask, now: Instant) -> When {
        match self.circuit.passage(now) {
            Passage::ClosedUntil(until) => return When::Never(Refusal::Down { until }),
            Passage::Wait => return When::AfterOthers,
            Passage::Free => {}
        }
        let limited = [
            self.blocked_until.filter(|until| *until > now),
            self.budget.available_at(ask.resource, ask.priority, now),
        ];
        if let Some(at) = limited.into_iter().flatten().max() {
            return if at > ask.deadline { When::Never(Refusal::LimitedUntil(at)) } else { When::At(at) };
        }
        if let (Effect::Content, Some(at)) = (ask.effect, self.pace.available_at(now)) {
            return if at > ask.deadline { When::Never(Refusal::LimitedUntil(at)) } else { When::At(at) };
        }
        if self.in_flight >= ask.priority.slots(self.limits.in_flight) {
            return When::AfterOthers;
        }
        When::Now
    }

    fn take(&mut self, ask: &Ask, now: Instant) {
        self.circuit.pass();
        self.in_flight += 1;
        self.budget.spend(ask.resource, now);
        if ask.effect == Effect::Content {
            self.pace.spend(now);
        }
    }

    /// Calls everybody who may go, in order.
    fn call_next(&mut self, now: Instant) {
        if self.in_flight >= self.limits.in_flight {
            return;
        }
        let line: Vec<_> = self.line.keys().copied().collect();
        for place in line {
            let Some(waiting) = self.line.get(&place) else { continue };
            let ask = waiting.ask;
            let called = match self.when(&ask, now) {
                When::Now => {
                    self.take(&ask, now);
                    Ok(())
                }
                When::Never(refusal) => Err(refusal),
                When::At(_) | When::AfterOthers => continue,
            };
            let waiting = self.line.remove(&place).expect("it was there a moment ago");
            if waiting.call.send(called).is_err() && called.is_ok() {
                // Whoever waited has left between being called and setting out.
                self.put_back(&ask, &Report { verdict: Verdict::Unknown, quota: None, retry_after: None }, now);
            }
        }
    }

    fn put_back(&mut self, ask: &Ask, report: &Report, now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.budget.settle(ask.resource, report.quota.as_ref(), now);
        self.circuit.learn(report.verdict, now, &self.limits);
        match report.verdict {
            Verdict::Answered | Verdict::Free => self.strikes = 0,
            Verdict::Limited => self.block(report, now),
            Verdict::Failing | Verdict::Unknown => {}
        }
    }

    fn block(&mut self, report: &Report, now: Instant) {
        let used_up = report.quota.as_ref().is_some_and(|quota| quota.remaining == 0);
        let pause = match report.retry_after {
            Some(pause) => pause,
            // The primary limit: the budget knows when it ends, and those of another resource may go on.
            None if used_up => return,
            None => {
                let limits = &self.limits;
                let backoff = ExponentialBackoff::doubling(limits.secondary_pause, limits.longest_secondary_pause);
                let pause = backoff.delay(self.strikes);
                self.strikes += 1;
                // Not all at the same moment, and never sooner than GitHub asks for.
                pause + pause.mul_f64(fastrand::f64() / 10.0)
            }
        };
        let until = now + pause;
        self.blocked_until = Some(self.blocked_until.map_or(until, |known| known.max(until)));
    }

    pub(super) fn snapshot(&self, now: Instant) -> Snapshot {
        Snapshot {
            core: self.budget.window(Resource::Core).cloned(),
            graphql: self.budget.window(Resource::Graphql).cloned(),
            in_flight: self.in_flight,
            waiting: self.line.len(),
            circuit: self.circuit.state(),
            blocked_for: self.blocked_until.map(|until| until.saturating_duration_since(now)).filter(|d| !d.is_zero()),
        }
    }
}

/// Leave to make one call; the slot is given back with a report, or without one when the caller gives up.
pub(super) struct Permit {
    governor: Arc<Governor>,
    ask: Ask,
    report: Option<Report>,
}

impl Permit {
    pub(super) fn back(mut self, report: Report) {
        self.report = Some(report);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let report = self.report.take().unwrap_or(Report { verdict: Verdict::Unknown, quota: None, retry_after: None });
        let now = Instant::now();
        let mut admission = self.governor.admission.lock();
        admission.put_back(&self.ask, &report, now);
        admission.call_next(now);
    }
}

/// A place in the line. Leaving it, also by being dropped, gives back what it was just given.
struct Place<'a> {
    governor: &'a Arc<Governor>,
    at: (Priority, u64),
    ask: Ask,
    called: oneshot::Receiver<Result<(), Refusal>>,
}

impl Place<'_> {
    fn permit(&self) -> Permit {
        Permit { governor: Arc::clone(self.governor), ask: self.ask, report: None }
    }

    /// What it was called with, if it was called and has not been told yet.
    fn leave(&mut self) -> Option<Result<(), Refusal>> {
        self.governor.admission.lock().line.remove(&self.at);
        self.called.try_recv().ok()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(Ok(())) = self.leave() {
            drop(self.permit());
        }
    }
}

impl Governor {
    pub(super) async fn admit(self: &Arc<Self>, ask: Ask) -> Result<Permit, Refusal> {
        let mut place = self.queue(ask)?;
        loop {
            let wake = self.look_around(&ask);
            tokio::select! {
                biased;
                outcome = &mut place.called => {
                    return outcome.expect("a place in the line is not dropped uncalled").map(|()| place.permit());
                }
                () = tokio::time::sleep_until(wake) => {
                    if Instant::now() >= ask.deadline {
                        // It may have been called at the very last moment.
                        return place.leave().unwrap_or(Err(Refusal::Queue)).map(|()| place.permit());
                    }
                }
            }
        }
    }

    fn queue(self: &Arc<Self>, ask: Ask) -> Result<Place<'_>, Refusal> {
        let (call, called) = oneshot::channel();
        let mut admission = self.admission.lock();
        if admission.line.len() >= self.limits.waiting {
            return Err(Refusal::Full);
        }
        admission.arrivals += 1;
        let at = (ask.priority, admission.arrivals);
        admission.line.insert(at, Waiting { ask, call });
        Ok(Place { governor: self, at, ask, called })
    }

    /// Calls whoever may go, and says when to look again.
    fn look_around(&self, ask: &Ask) -> Instant {
        let now = Instant::now();
        let mut admission = self.admission.lock();
        admission.call_next(now);
        match admission.when(ask, now) {
            When::At(at) => at.min(ask.deadline),
            _ => ask.deadline,
        }
    }
}
