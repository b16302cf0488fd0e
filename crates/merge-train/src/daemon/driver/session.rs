//! A session: from loading a stream's state to losing or leaving it. There is one loop for all streams; what differs between a
//! repository and a run of a workflow is its [`Subject`].
//!
//! Nothing acts on what is not durable. When the store refuses, the session is dropped with all that it holds in memory,
//! and the next one goes on from what is durable: there is no other way to recover.

use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::Key;
use serde::Serialize;
use store::{Batch, Entry, Lease, LeaseRequest, Loaded, NewEvent, Row, Settlement, Since, TakeLimit};
use tokio::time::{Instant, Interval, interval_at};
use tokio_util::sync::CancellationToken;

use super::Options;
use super::workers::{Shared, WorkerWakeup};
use crate::daemon::failpoint;

/// Why a session ended although nothing went wrong.
pub(super) enum SessionEndReason {
    Idle,
    Stopping,
}

/// What a session looks after: its state, and what is under way for it.
pub(super) trait Subject: Sized {
    /// What names it.
    type Id;
    /// Something to decide on.
    type Input;
    type Event: Serialize;
    /// What was decided besides the events, to be done once they are durable.
    type Acts;

    /// How much of the inbox is taken at once.
    const TAKE: TakeLimit;
    /// Under load, entries gather for so long before the next are taken.
    const GATHER: Duration;

    fn stream(id: &Self::Id) -> StreamId;

    /// Whose stream it is to be if it is new. Without a tenant a stream is not made: there is only what waits for it.
    fn tenant(id: &Self::Id) -> Option<TenantId>;

    /// For how long the stream is leased.
    fn lease(options: &Options) -> Duration;

    /// How often the lease is renewed.
    fn renewal(options: &Options) -> Duration;

    /// The state that the stream adds up to. Nothing was loaded of a stream that nobody has written to.
    fn load(options: &Options, id: &Self::Id, loaded: Option<Loaded>) -> store::Result<Self>;

    /// What a session does first: it restores the rows that are missing, and decides on what happened while nobody was here.
    async fn begin(session: &mut Session<'_, Self>) -> store::Result<()>;

    /// What entries of the inbox mean for others, who hear of it before the entries count as done.
    async fn pass_on(&self, shared: &Shared, entries: &[Entry]) -> store::Result<()>;

    /// The entries as inputs, those together that one transaction settles.
    fn read(entries: Vec<Entry>) -> Vec<Vec<Self::Input>>;

    /// Decides on the inputs, one after the other, and folds the events in.
    fn decide(&mut self, options: &Options, inputs: Vec<Self::Input>, next_seq: u64, now: Timestamp) -> Decided<Self>;

    /// Acts on what is durable, and tells of it.
    fn act(&mut self, shared: &Shared, events: Vec<Self::Event>, acts: Self::Acts, now: Timestamp);

    /// The points of an append at which a test can end the process.
    fn reach_failpoint(moment: Moment, events: &[Self::Event]);

    /// The next result of what is under way; waits for ever where nothing is. Nothing is lost if the waiting is called off.
    async fn result(&mut self) -> Self::Input;

    /// That time has passed.
    fn tick(&mut self, now: Timestamp) -> Self::Input;

    /// When to tick again although nothing comes in.
    fn next_tick(&self) -> Option<Timestamp>;

    /// When somebody has to look at the stream, were nobody here.
    fn attention(&self, now: Timestamp) -> Option<Timestamp>;

    /// When the session may end.
    fn rest(&self) -> Rest;

    /// The rows that show a sign of life.
    async fn heartbeat(&self, shared: &Shared, now: Timestamp) -> store::Result<Vec<Row>>;

    /// Forgets what is not needed any more, and begins a new generation of the stream.
    async fn tidy_up(session: &mut Session<'_, Self>, occasion: Occasion) -> store::Result<()>;

    /// From here on nothing new begins: what a result asks for is for the next session.
    fn close(&mut self);

    /// The next result of a subject that was closed. None if nothing is under way, or if what is must not be waited for: the
    /// deadline of the stop, `abandon`, is over.
    async fn last_result(&mut self, abandon: &CancellationToken) -> Option<Self::Input>;
}

/// What was decided: it is written in one transaction.
pub(super) struct Decided<S: Subject> {
    pub events: Vec<S::Event>,
    pub settled: Vec<Settlement>,
    pub rows: Vec<Row>,
    /// The requests that are answered by it.
    pub answered: Vec<(TenantId, Key)>,
    pub acts: S::Acts,
}

/// When a session that hears of nothing new may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Something is under way.
    NotYet,
    /// Once it was idle for so long as the options say.
    WhenIdle,
    /// Nothing is left to be done here: what is to come wakes another session.
    AtOnce,
}

/// When a stream is tidied up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// In between, where it pays.
    IfDue,
    /// Now: the session ends.
    AtTheEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// It was decided, and nothing of it is durable.
    Before,
    /// It is durable, and nothing that follows of it was begun.
    After,
}

/// Whether something else waits for a decision already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtHand {
    Nothing,
    More,
}

pub(super) struct Session<'a, S> {
    pub shared: &'a Shared,
    pub subject: S,
    lease: Lease,
    next_seq: u64,
    /// Events since the last snapshot.
    log_length: u64,
    /// Not once a transaction has let go of the stream.
    is_held: bool,
}

impl<'a, S: Subject> Session<'a, S> {
    /// Takes the stream over and loads it; none if there is no such stream, and none is made.
    pub async fn open(shared: &'a Shared, id: &S::Id) -> store::Result<Option<Self>> {
        let stream = S::stream(id);
        let request = LeaseRequest {
            stream: stream.clone(),
            tenant: S::tenant(id),
            owner: shared.options.owner.clone(),
            ttl: S::lease(&shared.options),
            now: shared.options.clock.now(),
        };
        let lease = match shared.store.acquire(request).await {
            Err(store::Error::Unknown { .. }) => return Ok(None),
            acquired => acquired?,
        };
        let loaded = match lease.is_first() {
            true => None,
            false => Some(shared.store.load(&stream, Since::Newest).await?),
        };
        let (next_seq, log_length) = (lease.next_seq, loaded.as_ref().map_or(0, |loaded| loaded.events.len() as u64));
        let subject = S::load(&shared.options, id, loaded)?;
        tracing::debug!(%stream, next_seq, "the worker begins");
        Ok(Some(Self { shared, subject, lease, next_seq, log_length, is_held: true }))
    }

    /// Works until there is nothing to do, the driver stops, or the store refuses.
    pub async fn run(mut self, bell: &WorkerWakeup) -> store::Result<SessionEndReason> {
        S::begin(&mut self).await?;
        let (mut renewal, mut heartbeat) = self.timers();
        let mut busy_at = Instant::now();
        let mut may_look_at = busy_at;
        // When the inbox is looked at next, if something waits there.
        let mut look_at = Some(busy_at);
        loop {
            if self.is_held && look_at.is_some_and(|at| at <= Instant::now()) {
                look_at = None;
                if self.work_off_inbox(bell).await? {
                    busy_at = Instant::now();
                    may_look_at = busy_at + S::GATHER;
                }
            }
            if self.shared.stopping.is_cancelled() {
                return self.leave().await;
            }
            let rest = self.subject.rest();
            if rest == Rest::AtOnce {
                return self.end().await;
            }
            let tick_at = self.tick_at();
            tokio::select! {
                biased;
                () = self.shared.stopping.cancelled() => {}
                () = bell.alarm() => look_at = Some(Instant::now()),
                // Not busy: otherwise the hourly look alone would keep every worker for ever.
                result = self.subject.result() => self.feed(vec![result], AtHand::Nothing).await?,
                () = bell.wait() => look_at = look_at.or(Some(may_look_at)),
                () = tokio::time::sleep_until(look_at.unwrap_or(busy_at)), if look_at.is_some() => {}
                _ = renewal.tick() => {
                    self.renew().await?;
                    // Another instance's bell may not have been heard.
                    look_at = Some(Instant::now());
                }
                _ = heartbeat.tick() => self.heartbeat().await?,
                () = tokio::time::sleep_until(tick_at) => {
                    let tick = self.subject.tick(self.now());
                    self.feed(vec![tick], AtHand::Nothing).await?;
                }
                () = tokio::time::sleep_until(busy_at + self.shared.options.idle), if rest == Rest::WhenIdle => {
                    return self.end().await;
                }
            }
            S::tidy_up(&mut self, Occasion::IfDue).await?;
        }
    }

    /// Takes handfuls as long as they are full; stop commands that come in meanwhile are in the next one. Whatever came
    /// after the last look has rung the bell.
    pub async fn work_off_inbox(&mut self, bell: &WorkerWakeup) -> store::Result<bool> {
        let mut worked = false;
        let mut is_full = true;
        while is_full && !self.shared.stopping.is_cancelled() {
            bell.reset();
            let entries = self.shared.store.take(&self.lease, S::TAKE).await?;
            if entries.is_empty() {
                break;
            }
            worked = true;
            is_full = S::TAKE.is_reached_by(&entries);
            self.subject.pass_on(self.shared, &entries).await?;
            let mut transactions = S::read(entries).into_iter().peekable();
            while let Some(inputs) = transactions.next() {
                let is_last = transactions.peek().is_none() && !is_full;
                self.feed(inputs, if is_last { AtHand::Nothing } else { AtHand::More }).await?;
            }
            while let Some(result) = self.subject.result().now_or_never() {
                self.feed(vec![result], if is_full { AtHand::More } else { AtHand::Nothing }).await?;
            }
            S::tidy_up(self, Occasion::IfDue).await?;
        }
        Ok(worked)
    }

    /// Decides, appends, and only then acts. If nothing else is at hand, and the subject has no need of a session any more, the
    /// same transaction lets go of the stream.
    pub async fn feed(&mut self, inputs: Vec<S::Input>, at_hand: AtHand) -> store::Result<()> {
        let now = self.now();
        let decided = self.subject.decide(&self.shared.options, inputs, self.next_seq, now);
        let Decided { events, settled, rows, answered, acts } = decided;
        if !events.is_empty() || !settled.is_empty() {
            let lets_go = at_hand == AtHand::Nothing && self.subject.rest() == Rest::AtOnce;
            let batch = Batch { settled, lets_go, ..self.batch(&events, rows, now) };
            S::reach_failpoint(Moment::Before, &events);
            self.shared.store.append(&self.lease, batch).await?;
            S::reach_failpoint(Moment::After, &events);
            self.is_held = !lets_go;
            self.next_seq += events.len() as u64;
            self.log_length += events.len() as u64;
        }
        answered.iter().for_each(|request| self.shared.options.link.tell(request));
        self.subject.act(self.shared, events, acts, now);
        Ok(())
    }

    /// Writes what can be seen of a state that does not change.
    pub async fn write_rows(&mut self, rows: Vec<Row>) -> store::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let batch = self.batch(&[], rows, self.now());
        self.shared.store.append(&self.lease, batch).await
    }

    fn batch(&self, events: &[S::Event], rows: Vec<Row>, now: Timestamp) -> Batch {
        let data = |event: &S::Event| serde_json::to_string(event).expect("an event is JSON");
        Batch {
            expected_next_seq: self.next_seq,
            events: events.iter().map(|event| NewEvent { ts: now, data: data(event) }).collect(),
            settled: Vec::new(),
            rows,
            wake_at: self.subject.attention(now),
            lets_go: false,
            now,
        }
    }

    /// Begins a new generation of the stream with what `data` makes of the state; its number.
    pub async fn compact(&mut self, taken_at: Timestamp, data: String) -> store::Result<u64> {
        let snapshot = store::Snapshot { next_seq: self.next_seq, taken_at, data };
        failpoint::reach("snapshot.before");
        let generation = self.shared.store.compact(&self.lease, snapshot).await?;
        failpoint::reach("snapshot.after");
        self.log_length = 0;
        Ok(generation)
    }

    /// A sign of life, for all to see.
    pub async fn heartbeat(&mut self) -> store::Result<()> {
        let rows = self.subject.heartbeat(self.shared, self.now()).await?;
        self.write_rows(rows).await
    }

    async fn renew(&self) -> store::Result<()> {
        self.shared.store.renew(&self.lease, self.now()).await
    }

    pub fn now(&self) -> Timestamp {
        self.shared.options.clock.now()
    }

    pub fn stream(&self) -> &StreamId {
        &self.lease.stream
    }

    /// What the next event gets.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// How many events there are since the last snapshot.
    pub fn log_length(&self) -> u64 {
        self.log_length
    }

    fn tick_at(&self) -> Instant {
        /// Nothing falls due: something else comes first.
        const NEVER: Duration = Duration::from_secs(86_400);
        let wait = |at: Timestamp| Duration::try_from(at.duration_since(self.now())).unwrap_or_default();
        Instant::now() + self.subject.next_tick().map_or(NEVER, wait).min(NEVER)
    }

    /// Of renewals, and of signs of life.
    fn timers(&self) -> (Interval, Interval) {
        let every = |period: Duration| interval_at(Instant::now() + period, period);
        (every(S::renewal(&self.shared.options)), every(self.shared.options.runs.heartbeat))
    }

    /// Nothing is left to be done.
    async fn end(mut self) -> store::Result<SessionEndReason> {
        S::tidy_up(&mut self, Occasion::AtTheEnd).await?;
        self.let_go().await?;
        Ok(SessionEndReason::Idle)
    }

    /// Waits for what is under way, so far as the deadline allows, and lets go of the stream. What a result asks for is
    /// asked for again by the next session.
    async fn leave(mut self) -> store::Result<SessionEndReason> {
        self.subject.close();
        let (mut renewal, mut heartbeat) = self.timers();
        loop {
            tokio::select! {
                result = self.subject.last_result(&self.shared.abandon) => match result {
                    Some(result) => self.feed(vec![result], AtHand::Nothing).await?,
                    None => break,
                },
                _ = renewal.tick() => self.renew().await?,
                _ = heartbeat.tick() => self.heartbeat().await?,
            }
        }
        self.let_go().await?;
        Ok(SessionEndReason::Stopping)
    }

    async fn let_go(&self) -> store::Result<()> {
        match self.is_held {
            true => self.shared.store.release(&self.lease, self.subject.attention(self.now())).await,
            false => Ok(()),
        }
    }
}
