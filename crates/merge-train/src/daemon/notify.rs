//! Telling a Slack channel what people want to know: a train is blocked, something waits for approval, a train has landed.
//!
//! What is told is read from the runs, which are written with the events of whatever they are of; nothing waits for it. How far
//! that was read is remembered only behind what is told, and what was told has a key in the inbox: whoever dies in between tells it, and
//! nobody tells it twice but who dies between Slack's answer and the record of it.

mod channel;
mod notice;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use merge_train_core::backoff::ExponentialBackoff;
use merge_train_core::ids::TenantId;
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::workflow::Run;
use serde_json::json;
use store::{Admission, Arrival, Claim, Outcome, Route, Store};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Config;
use crate::daemon::driver::Link;
use crate::daemon::failpoint;
use channel::{PostResult, SlackChannels};
pub use notice::KINDS;
use notice::Notice;

/// By which it is remembered how far the runs were read; no schedule and no owner has such a name.
const CURSOR: (&str, &str) = ("merge-train", ":slack");
/// How often is looked for what another instance did, and how often at most at all.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
const NOT_MORE_OFTEN: Duration = Duration::from_secs(1);
/// How many changes of each kind are asked for at once.
const AT_ONCE: usize = 200;
/// What another instance wrote may be seen later than what was written after it, and clocks differ.
const OVERLAP: SignedDuration = SignedDuration::from_secs(10);
const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(1), Duration::from_secs(60));
/// After so long nobody wants to hear it any more.
const GIVE_UP: Duration = Duration::from_mins(12);
/// The inbox gives a claim to somebody else after five minutes.
const CLAIMED_FOR: Duration = Duration::from_mins(4);
/// More than this wait only where Slack is out of reach: the oldest go.
const MOST_PENDING: usize = 1000;
/// Of so many it is known without asking the store that they were told.
const MOST_KNOWN: usize = 10_000;

/// The work, to be done beside everything else.
pub struct Notifier {
    store: Arc<dyn Store>,
    link: Link,
    channels: SlackChannels,
    clock: Clock,
    cursor: TenantId,
}

/// What is read, and what is to be told of it.
struct NotificationCursor {
    since: Timestamp,
    stored: Timestamp,
    pending: BTreeMap<Key, PendingNotice>,
    /// What was told, or is not to be.
    settled: HashSet<Key>,
}

struct PendingNotice {
    run: Run,
    notice: Notice,
    claim: Option<(Claim, Instant)>,
    due: Instant,
    failures: u32,
    since: Instant,
}

/// What became of one that was due.
enum NoticeOutcome {
    Settled,
    /// It is not so any more; should it be so again, that is news.
    Over,
    Later(Duration),
}

impl Notifier {
    /// None where nobody wants to be told.
    pub fn new(config: &Config, store: Arc<dyn Store>, link: Link) -> anyhow::Result<Option<Self>> {
        let Some(channels) = SlackChannels::new(config)? else { return Ok(None) };
        let cursor = CURSOR.0.parse()?;
        Ok(Some(Self { store, link, channels, clock: Clock::default(), cursor }))
    }

    /// Goes on until `stopping`.
    pub async fn run(self, stopping: CancellationToken) {
        let mut reading = None;
        loop {
            let stirred = self.link.stirred();
            let rung = stirred.notified();
            // Not cut off: what Slack has taken is to be recorded.
            let pause = self.look(&mut reading, &stopping).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "what is to be told in Slack cannot be read; it is tried again");
                LOOK_AGAIN
            });
            tokio::select! {
                () = stopping.cancelled() => break,
                () = rung => {}
                () = tokio::time::sleep(pause) => {}
            }
            tokio::select! {
                () = stopping.cancelled() => break,
                () = tokio::time::sleep(NOT_MORE_OFTEN) => {}
            }
        }
        for pending in reading.into_iter().flat_map(|reading| reading.pending.into_values()) {
            let _ = self.release(pending, "the daemon stopped").await;
        }
    }

    /// Reads what is new, tells what is due, and says when to look again.
    async fn look(
        &self,
        reading: &mut Option<NotificationCursor>,
        stopping: &CancellationToken,
    ) -> store::Result<Duration> {
        let reading = match reading {
            Some(reading) => reading,
            None => reading.insert(self.begin().await?),
        };
        self.read(reading).await?;
        let due: Vec<Key> = reading
            .pending
            .iter()
            .filter(|(_, pending)| pending.due <= Instant::now())
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            if stopping.is_cancelled() {
                break;
            }
            let Some(pending) = reading.pending.get_mut(&key) else { continue };
            match self.tell(&key, pending).await? {
                NoticeOutcome::Settled => {
                    reading.pending.remove(&key);
                    reading.settle(key);
                }
                NoticeOutcome::Over => {
                    if let Some(pending) = reading.pending.remove(&key) {
                        self.release(pending, "it is not so any more").await?;
                    }
                }
                NoticeOutcome::Later(wait) => pending.due = Instant::now() + wait,
            }
        }
        self.remember(reading).await?;
        let next = reading.pending.values().map(|pending| pending.due.saturating_duration_since(Instant::now())).min();
        Ok(next.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN))
    }

    /// From where the last one left off; whoever is the first tells nothing of what was before.
    async fn begin(&self) -> store::Result<NotificationCursor> {
        let now = self.clock.now();
        let since = match self.store.schedule(&self.cursor, CURSOR.1).await? {
            Some(since) => since,
            None => {
                self.store.schedule_done(&self.cursor, CURSOR.1, now).await?;
                now
            }
        };
        Ok(NotificationCursor { since, stored: since, pending: BTreeMap::new(), settled: HashSet::new() })
    }

    async fn read(&self, reading: &mut NotificationCursor) -> store::Result<()> {
        let begin = reading.since.checked_sub(OVERLAP).unwrap_or(reading.since);
        let mut from = begin;
        loop {
            let page = self.store.runs_since(None, from, AT_ONCE).await?;
            let last = page.iter().filter_map(|run| run.last_heartbeat_at).max();
            // One that changed before has only given a sign of life.
            for run in page.into_iter().filter(|run| run.updated_at >= begin) {
                self.consider(reading, run);
            }
            match last.filter(|last| *last > from) {
                Some(last) => from = last,
                None => break,
            }
        }
        reading.since = reading.since.max(from);
        Ok(())
    }

    fn consider(&self, reading: &mut NotificationCursor, run: Run) {
        let Some(notice) = Notice::of(&run) else { return };
        let key = key(&run, &notice);
        if reading.settled.contains(&key)
            || reading.pending.contains_key(&key)
            || !self.channels.want(&run, notice.kind)
        {
            return;
        }
        let (since, due) = (Instant::now(), Instant::now() + notice.settles_in());
        if reading.pending.len() >= MOST_PENDING
            && let Some((oldest, _)) = reading.pending.iter().min_by_key(|(_, pending)| pending.since)
        {
            let oldest = oldest.clone();
            tracing::warn!(event = "slack_notice_lost", "more is to be told in Slack than Slack takes");
            reading.pending.remove(&oldest);
            reading.settle(oldest);
        }
        reading.pending.insert(key, PendingNotice { run, notice, claim: None, due, failures: 0, since });
    }

    /// Tells it, unless it was told or is not so any more.
    async fn tell(&self, key: &Key, pending: &mut PendingNotice) -> store::Result<NoticeOutcome> {
        let now = self.store.run(Some(&pending.run.tenant_id), &pending.run.id).await?;
        let Some(run) = now.filter(|run| Notice::of(run).as_ref().is_some_and(|now| now.is(&pending.notice))) else {
            return Ok(NoticeOutcome::Over);
        };
        failpoint::reach("notify.before");
        let is_claimed = pending.claim.as_ref().is_some_and(|(_, at)| at.elapsed() < CLAIMED_FOR);
        if !is_claimed {
            match self.store.admit(arrival(&run, key, self.clock.now())).await? {
                Admission::Claimed(claim) => pending.claim = Some((claim, Instant::now())),
                // Somebody else is at it, or was until it died.
                Admission::InFlight { .. } => return Ok(NoticeOutcome::Later(RETRY.longest)),
                Admission::Accepted | Admission::Replay { .. } => return Ok(NoticeOutcome::Settled),
                Admission::Exhausted { .. } | Admission::Conflict => return Ok(NoticeOutcome::Settled),
            }
        }
        let Some((claim, _)) = &pending.claim else { return Ok(NoticeOutcome::Later(RETRY.first)) };
        let (outcome, kind, id) =
            (self.channels.post(&run, &pending.notice).await, pending.notice.kind, run.id.as_str());
        let (why, wait) = match outcome {
            PostResult::Done => {
                failpoint::reach("notify.sent");
                tracing::info!(event = "slack_notice", kind = kind.name(), runId = id, "told in Slack");
                self.finish(claim, Outcome::Completed { response: json!({}), run_id: None }).await?;
                return Ok(NoticeOutcome::Settled);
            }
            PostResult::Refused(why) => (why, None),
            PostResult::Failed { why, after } => (why, Some(after.unwrap_or_else(|| RETRY.delay(pending.failures)))),
        };
        match wait.filter(|wait| pending.since.elapsed() + *wait < GIVE_UP) {
            Some(wait) => {
                pending.failures += 1;
                tracing::info!(event = "slack_notice_retry", kind = kind.name(), runId = id, why, "it is told again");
                Ok(NoticeOutcome::Later(wait))
            }
            None => {
                tracing::warn!(
                    event = "slack_notice_failed",
                    kind = kind.name(),
                    runId = id,
                    why,
                    "it could not be told in Slack"
                );
                // Not to be tried again: as done as it gets.
                self.finish(claim, Outcome::Completed { response: json!({ "failed": why }), run_id: None }).await?;
                Ok(NoticeOutcome::Settled)
            }
        }
    }

    /// Lets go of what is not told now, so that whoever tells it later need not wait for the claim to expire.
    async fn release(&self, pending: PendingNotice, why: &str) -> store::Result<()> {
        let Some((claim, _)) = pending.claim else { return Ok(()) };
        self.finish(&claim, Outcome::Failed { error: why.to_owned() }).await
    }

    async fn finish(&self, claim: &Claim, outcome: Outcome) -> store::Result<()> {
        match self.store.finish(claim, outcome, self.clock.now()).await {
            // Somebody took it for dead, and tells it, too.
            Err(store::Error::LockLost { .. }) => Ok(()),
            finished => finished,
        }
    }

    /// Behind what is still to be told.
    async fn remember(&self, reading: &mut NotificationCursor) -> store::Result<()> {
        let pending = reading.pending.values().map(|pending| pending.run.updated_at).min();
        let reached = pending.map_or(reading.since, |oldest| oldest.min(reading.since));
        if reached > reading.stored {
            self.store.schedule_done(&self.cursor, CURSOR.1, reached).await?;
            reading.stored = reached;
        }
        Ok(())
    }
}

impl NotificationCursor {
    fn settle(&mut self, key: Key) {
        if self.settled.len() >= MOST_KNOWN {
            self.settled.clear();
        }
        self.settled.insert(key);
    }
}

/// The same for whoever tells the same of the same run.
fn key(run: &Run, notice: &Notice) -> Key {
    let what = format!("{}\n{}\n{}", run.id, notice.kind.name(), notice.about);
    let hash = RequestHash::of(what.as_bytes());
    Key::slack("notify", hash.as_str()).expect("hexadecimal digits")
}

fn arrival(run: &Run, key: &Key, now: Timestamp) -> Arrival {
    Arrival {
        tenant: run.tenant_id.clone(),
        key: key.clone(),
        source: Source::Slack,
        hash: RequestHash::of(key.as_str().as_bytes()),
        received_at: now,
        route: Route::Caller,
    }
}
