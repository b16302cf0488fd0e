//! Runs that begin because it is time: each slot of each schedule orders one.
//!
//! A slot is ordered first and counted as dealt with then. Whoever dies between the two orders it again, and so may another
//! instance on the same database; the inbox makes one run of it.

mod due;
pub mod timetable;

use std::time::Duration;

use jiff::Timestamp;
use merge_train_core::backoff::ExponentialBackoff;
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::workflow::{Trigger, TriggerSource};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::ScheduleSettings;
use crate::daemon::failpoint;
use crate::daemon::run_orders::{NewRun, OrderError, OrderOrigin, RunOrders};
pub use due::MissedSlotPolicy;
use due::{GRANULARITY, SchedulePosition, due};
use timetable::Timetable;

const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(1), Duration::from_secs(60));
/// Somebody may set the machine's clock meanwhile, or put the machine to sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// The work, to be done beside everything else.
pub struct Schedules {
    orders: RunOrders,
    schedules: Vec<(ScheduleSettings, Timetable)>,
    clock: Clock,
}

/// What came of a look at all schedules.
struct ScheduleCheck {
    ordered: usize,
    /// None: there is no next slot.
    next: Option<Timestamp>,
}

/// `scheduler:{name}:{slot}`, the same whoever orders it.
pub fn key(name: &str, slot: Timestamp) -> Result<Key, impl std::error::Error> {
    Key::scheduler(name, slot, GRANULARITY)
}

impl Schedules {
    pub fn new(orders: RunOrders, schedules: &[ScheduleSettings], clock: Clock) -> Self {
        let schedules = schedules.iter().map(|schedule| (schedule.clone(), schedule.timetable())).collect();
        Self { orders, schedules, clock }
    }

    /// Goes on until `stopping`.
    pub async fn run(self, stopping: CancellationToken) {
        if self.schedules.is_empty() {
            return;
        }
        let (since, mut failures) = (self.clock.now(), 0);
        loop {
            let looked = tokio::select! {
                () = stopping.cancelled() => return,
                looked = self.look(since, self.clock.now()) => looked,
            };
            let pause = match looked {
                Ok(look) => {
                    failures = 0;
                    self.pause(&look)
                }
                Err(error) => {
                    let wait = RETRY.delay(failures);
                    failures += 1;
                    tracing::warn!(%error, ?wait, "what is due by now could not be ordered; it is tried again");
                    wait
                }
            };
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// How long there is nothing to do. Where something was due, more may be.
    fn pause(&self, look: &ScheduleCheck) -> Duration {
        if look.ordered > 0 {
            return Duration::ZERO;
        }
        let left = look.next.map(|next| next.duration_since(self.clock.now()));
        left.map_or(LONGEST_SLEEP, |left| Duration::try_from(left).unwrap_or_default()).min(LONGEST_SLEEP)
    }

    /// Orders what is due by `now`, for somebody who is there since `since`. What failed before is due again.
    async fn look(&self, since: Timestamp, now: Timestamp) -> Result<ScheduleCheck, OrderError> {
        let mut ordered = 0;
        for (schedule, timetable) in &self.schedules {
            let done = self.done(schedule, since).await?;
            for slot in due(timetable, schedule.missed, SchedulePosition { done, since, now }) {
                self.order(schedule, slot).await?;
                ordered += 1;
            }
        }
        let next = self.schedules.iter().filter_map(|(_, timetable)| timetable.after(now)).min();
        Ok(ScheduleCheck { ordered, next })
    }

    /// Up to where a schedule is dealt with. One that was never heard of begins with `since`: it has missed nothing.
    async fn done(&self, schedule: &ScheduleSettings, since: Timestamp) -> Result<Timestamp, OrderError> {
        let store = &self.orders.store;
        if let Some(done) = store.schedule(&schedule.tenant, &schedule.name).await? {
            return Ok(done);
        }
        store.schedule_done(&schedule.tenant, &schedule.name, since).await?;
        Ok(since)
    }

    async fn order(&self, schedule: &ScheduleSettings, slot: Timestamp) -> Result<(), OrderError> {
        let name = schedule.name.as_str();
        let key = key(name, slot).expect("a name that fits into no key is refused when it is read");
        // What is ordered may have been configured again since: it is the same slot, and has had its run.
        let origin = OrderOrigin { source: Source::Scheduler, hash: RequestHash::of(key.as_str().as_bytes()), key };
        let wanted = NewRun {
            workflow: schedule.workflow.clone(),
            inputs: schedule.inputs.clone(),
            tenant: schedule.tenant.clone(),
            repo: schedule.repo.clone(),
            pr: None,
            trigger: Trigger { source: TriggerSource::Scheduled, user_id: None, webhook_event_id: None },
        };
        match self.orders.create(wanted, origin).await {
            Ok(placed) if placed.is_repeated => tracing::debug!(name, %slot, "the slot was ordered before"),
            Ok(placed) => tracing::info!(name, %slot, run = %placed.run, "a run is ordered: it is time"),
            Err(error @ (OrderError::Store(_) | OrderError::TooSlow)) => return Err(error),
            // To try it again would not help.
            Err(error) => tracing::error!(name, %slot, %error, "no run is ordered, although it is time"),
        }
        failpoint::reach("schedule.ordered");
        Ok(self.orders.store.schedule_done(&schedule.tenant, name, slot).await?)
    }
}

#[cfg(test)]
mod tests;
