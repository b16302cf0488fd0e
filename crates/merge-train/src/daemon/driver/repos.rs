//! A session: from loading a stream's state to losing or leaving it.
//!
//! Nothing acts on what is not durable. When the store refuses, the session is dropped with all that it holds in memory,
//! and the next one goes on from what is durable: there is no other way to recover.

mod effects;
mod entries;
mod log;
mod signals;
#[cfg(test)]
mod storm;
pub mod workspaces;

use std::collections::BTreeMap;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{
    self, Effect, EffectKey, Input, Plan, Position, Recorded, RepoState, RunMove, Settings, Snapshot,
};
use merge_train_core::workflow::Run;
use store::rows::Workspace;
use store::{Batch, Lease, LeaseRequest, NewEvent, Row, Settlement, Since, TakeLimit};
use tokio::time::Instant;

use super::ledger;
use super::workers::{Bell, Shared};
use crate::daemon::failpoint;
use effects::UnderWay;

/// For how long a stream is leased; renewed at a third of it.
const LEASE: Duration = Duration::from_secs(15);
/// How much of the inbox is worked on in one transaction.
const TAKE: TakeLimit = TakeLimit { entries: 128, bytes: 8 << 20 };

/// Under load, entries gather for so long before the next handful is taken: ten in one transaction cost little more than
/// one. The first after a pause, and a stop command, do not wait.
const GATHER: Duration = Duration::from_millis(50);

/// Why a session ended although nothing went wrong.
pub(super) enum End {
    Idle,
    Stopping,
}

pub(super) struct Session<'a> {
    shared: &'a Shared,
    repo: RepoId,
    settings: Settings,
    lease: Lease,
    state: RepoState,
    next_seq: u64,
    generation: u64,
    /// Events since the last snapshot, and when that was.
    log_length: u64,
    compacted_at: Timestamp,
    under_way: UnderWay,
    last_tick: Timestamp,
}

/// An input, and the entry of the inbox that it settles.
struct Fed {
    input: Input,
    settles: Option<Settlement>,
}

impl From<Input> for Fed {
    fn from(input: Input) -> Self {
        Self { input, settles: None }
    }
}

impl<'a> Session<'a> {
    /// Takes the stream over and loads it.
    pub async fn open(shared: &'a Shared, repo: &RepoId) -> store::Result<Self> {
        let stream = StreamId::Repo(repo.clone());
        let now = shared.options.clock.now();
        let request = LeaseRequest {
            stream: stream.clone(),
            tenant: Some(repo.tenant()),
            owner: shared.options.owner.clone(),
            ttl: LEASE,
            now,
        };
        let lease = shared.store.acquire(request).await?;
        let loaded = shared.store.load(&stream, Since::Newest).await?;
        let (next_seq, generation, log_length) = (loaded.next_seq, loaded.generation, loaded.events.len() as u64);
        let compacted_at = loaded.snapshot.as_ref().map_or(now, |snapshot| snapshot.taken_at);
        let state = replay(&stream, loaded)?;
        tracing::debug!(%repo, next_seq, generation, lifecycle = ?state.lifecycle(), "the worker begins");
        Ok(Self {
            shared,
            repo: repo.clone(),
            settings: Settings { stagger: stagger(repo), ..shared.options.settings.clone() },
            lease,
            state,
            next_seq,
            generation,
            log_length,
            compacted_at,
            under_way: UnderWay::default(),
            // What fell due while nobody was here is due now.
            last_tick: Timestamp::MIN,
        })
    }

    /// Works until there is nothing to do, the driver stops, or the store refuses.
    pub async fn run(mut self, bell: &Bell) -> store::Result<End> {
        self.feed(vec![Input::Resume.into()]).await?;
        // Trains of an older version, or from a backup, are runs from here on; and so it is with workspaces.
        self.heartbeat().await?;
        self.restore_workspaces().await?;
        let mut heartbeat = tokio::time::interval(self.shared.options.runs.heartbeat);
        heartbeat.reset();
        let mut renew = tokio::time::interval_at(Instant::now() + LEASE / 3, LEASE / 3);
        let mut busy_at = Instant::now();
        let mut may_look_at = busy_at;
        // When the inbox is looked at next, if something waits there.
        let mut look_at = Some(busy_at);
        loop {
            if look_at.is_some_and(|at| at <= Instant::now()) {
                look_at = None;
                if self.work_off_inbox(bell).await? {
                    busy_at = Instant::now();
                    may_look_at = busy_at + GATHER;
                }
            }
            if self.shared.stopping.is_cancelled() {
                return self.leave().await;
            }
            let wake_at = self.wake_at();
            tokio::select! {
                biased;
                () = self.shared.stopping.cancelled() => {}
                () = bell.alarm() => look_at = Some(Instant::now()),
                // Not busy: otherwise the hourly look alone would keep every worker for ever.
                result = self.under_way.next() => self.feed(vec![result.into()]).await?,
                () = bell.wait() => look_at = look_at.or(Some(may_look_at)),
                () = tokio::time::sleep_until(look_at.unwrap_or(busy_at)), if look_at.is_some() => {}
                _ = renew.tick() => {
                    self.shared.store.renew(&self.lease, self.now()).await?;
                    // Another instance's bell may not have been heard.
                    look_at = Some(Instant::now());
                }
                _ = heartbeat.tick() => self.heartbeat().await?,
                () = tokio::time::sleep_until(wake_at) => {
                    // Before it is decided on: what falls due in between is looked at twice, not never.
                    self.last_tick = self.now();
                    self.feed(vec![Input::Tick.into()]).await?;
                }
                () = tokio::time::sleep_until(busy_at + self.shared.options.idle), if self.under_way.is_empty() => {
                    self.tidy_up().await?;
                    self.shared.store.release(&self.lease, repo::attention(&self.state, &self.settings)).await?;
                    return Ok(End::Idle);
                }
            }
            self.tidy_up_if_due().await?;
        }
    }

    /// Takes handfuls as long as they are full; stop commands that come in meanwhile are in the next one. Whatever came
    /// after the last look has rung the bell.
    async fn work_off_inbox(&mut self, bell: &Bell) -> store::Result<bool> {
        let mut worked = false;
        let mut is_full = true;
        while is_full && !self.shared.stopping.is_cancelled() {
            bell.reset();
            let entries = self.shared.store.take(&self.lease, TAKE).await?;
            if entries.is_empty() {
                break;
            }
            worked = true;
            is_full = TAKE.is_reached_by(&entries);
            signals::pass_on(self.shared, &self.repo, &entries).await?;
            let fed = entries.into_iter().map(entries::read).collect();
            self.feed(fed).await?;
            while let Some(result) = self.under_way.try_next() {
                self.feed(vec![result.into()]).await?;
            }
            self.tidy_up_if_due().await?;
        }
        Ok(worked)
    }

    /// Decides, appends, and only then acts.
    async fn feed(&mut self, fed: Vec<Fed>) -> store::Result<()> {
        let now = self.now();
        let mut events = Vec::new();
        let mut settled = Vec::new();
        let mut acts = Plan::default();
        let mut told = Vec::new();
        let mut moves = Vec::new();
        let mut asked = Vec::new();
        for Fed { input, settles } in fed {
            if let Input::Asked { key, .. } = &input {
                asked.push((self.repo.tenant(), key.clone()));
            }
            let trigger = log::trigger(&input);
            let (plan, settles) = entries::decide(&self.state, input, settles, &self.settings, now);
            for event in &plan.events {
                moves.extend(self.apply(event, now));
                let data = serde_json::to_string(event).expect("an event is JSON");
                events.push(NewEvent { ts: now, data });
            }
            settled.extend(settles);
            // What was asked for a train or a fixer before it was called off is not even begun.
            let is_called_off = |effect: &Effect| plan.cancels.iter().any(|served| served.work() == effect.key());
            acts.effects.retain(|effect| !is_called_off(effect));
            acts.effects.extend(plan.effects);
            acts.cancels.extend(plan.cancels);
            told.extend(plan.events.into_iter().map(|event| (event, trigger)));
        }
        if !events.is_empty() || !settled.is_empty() {
            let appended = events.len() as u64;
            let wake_at = repo::attention(&self.state, &self.settings);
            let mut rows: Vec<Row> = moves.iter().flat_map(rows).collect();
            let decided: Vec<repo::Event> = told.iter().map(|(event, _)| event.clone()).collect();
            let settings = self.state.settings(&self.settings);
            rows.extend(workspaces::rows(&self.repo, &self.state, &settings, &decided, self.next_seq, now));
            let batch = Batch { expected_next_seq: self.next_seq, events, settled, rows, wake_at, lets_go: false, now };
            failpoint::append("before", told.iter().map(|(event, _)| event));
            self.shared.store.append(&self.lease, batch).await?;
            failpoint::append("after", told.iter().map(|(event, _)| event));
            self.next_seq += appended;
            self.log_length += appended;
        }
        asked.iter().for_each(|request| self.shared.options.link.tell(request));
        let settings = self.state.settings(&self.settings);
        for (event, trigger) in &told {
            log::tell(&self.repo, (&self.state, &settings), (event, trigger), now);
        }
        if !moves.is_empty() {
            moves.iter().for_each(tell_of_run);
            self.shared.options.link.stir();
        }
        for served in acts.cancels {
            self.under_way.cancel(served);
        }
        // Of effects with one key the last knows the most.
        let effects: BTreeMap<EffectKey, Effect> =
            acts.effects.into_iter().map(|effect| (effect.key(), effect)).collect();
        for effect in effects.into_values() {
            let served = effect.served(&self.state);
            self.under_way.begin(self.shared, &self.repo, effect, served);
        }
        Ok(())
    }

    /// Folds an event in; what that makes of the runs that trains are.
    fn apply(&mut self, event: &repo::Event, now: Timestamp) -> Vec<RunMove> {
        if !repo::moves_runs(event) {
            repo::apply(&mut self.state, event, now);
            return Vec::new();
        }
        let before = self.state.open_runs(&self.repo, now);
        repo::apply(&mut self.state, event, now);
        let mut moves = repo::runs_moved(&before, event, &self.state, &self.repo, now);
        moves.iter_mut().for_each(|moved| self.address(&mut moved.run));
        moves
    }

    fn address(&self, run: &mut Run) {
        run.pr_url = format!("{}/{}/pull/{}", self.shared.options.web_url, self.repo, run.pr_id);
    }

    /// A sign of life of each train, for all to see.
    async fn heartbeat(&mut self) -> store::Result<()> {
        let now = self.now();
        let mut rows = Vec::new();
        for (id, mut run) in self.state.open_runs(&self.repo, now) {
            self.address(&mut run);
            // Nothing else has changed of one that is known, unless another version wrote it.
            let known = self.shared.store.run(Some(&run.tenant_id), &id).await?;
            let known = known.filter(|known| !repo::run_differs(known, &run)).unwrap_or(run);
            rows.push(Row::Run(Box::new(Run { last_heartbeat_at: Some(now), ..known })));
        }
        if rows.is_empty() {
            return Ok(());
        }
        let (expected_next_seq, wake_at) = (self.next_seq, repo::attention(&self.state, &self.settings));
        let batch =
            Batch { expected_next_seq, events: Vec::new(), settled: Vec::new(), rows, wake_at, lets_go: false, now };
        self.shared.store.append(&self.lease, batch).await
    }

    /// Writes the rows of workspaces that are missing, or tell something else than the state.
    async fn restore_workspaces(&mut self) -> store::Result<()> {
        if self.state.workspaces().is_empty() {
            return Ok(());
        }
        let now = self.now();
        let known = self.shared.store.workspaces(Some(&self.repo.tenant())).await?;
        let is_missing = |row: &Workspace| {
            let old = known.iter().find(|old| old.id == row.id);
            old.is_none_or(|old| Workspace { updated_at: now, ..old.clone() } != *row)
        };
        let all = workspaces::all(&self.repo, &self.state, &self.state.settings(&self.settings), now);
        let rows: Vec<Row> = all.into_iter().filter(is_missing).map(|row| Row::Workspace(Box::new(row))).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let (expected_next_seq, wake_at) = (self.next_seq, repo::attention(&self.state, &self.settings));
        let batch =
            Batch { expected_next_seq, events: Vec::new(), settled: Vec::new(), rows, wake_at, lets_go: false, now };
        self.shared.store.append(&self.lease, batch).await
    }

    fn now(&self) -> Timestamp {
        self.shared.options.clock.now()
    }

    /// When to look again although nothing comes in.
    fn wake_at(&self) -> Instant {
        /// Nothing is due: the idle time ends the worker long before.
        const NEVER: Duration = Duration::from_secs(86_400);
        let wake = repo::next_wake(&self.state, &self.settings, self.last_tick);
        let wait = wake.map_or(NEVER, |at| Duration::try_from(at.duration_since(self.now())).unwrap_or_default());
        Instant::now() + wait.min(NEVER)
    }

    /// A snapshot costs as much as the state is large, so it waits until the log is half as long: as long, it might never
    /// be where each event makes the state larger.
    async fn tidy_up_if_due(&mut self) -> store::Result<()> {
        let options = &self.shared.options;
        let is_long = self.log_length >= options.compact_after_events.max(self.state.weight() as u64 / 2);
        let is_late = self.now().duration_since(self.compacted_at) >= options.compact_interval;
        if is_long || (is_late && self.log_length > 0) { self.tidy_up().await } else { Ok(()) }
    }

    /// Forgets what is not needed any more, and begins a new generation.
    async fn tidy_up(&mut self) -> store::Result<()> {
        if self.log_length == 0 {
            return Ok(());
        }
        let before = self.state.prs().len();
        self.feed(vec![Input::Housekeeping.into()]).await?;
        let remaining = self.state.prs().len();
        if remaining < before {
            tracing::info!(repo = %self.repo, pruned_prs = before - remaining, remaining_prs = remaining, "state pruned");
        }
        let taken_at = self.now();
        let position = Position { generation: self.generation + 1, next_seq: self.next_seq, taken_at };
        let data = serde_json::to_string(&Snapshot::of(&self.state, position)).expect("a snapshot is JSON");
        let snapshot = store::Snapshot { next_seq: self.next_seq, taken_at, data };
        failpoint::reach("snapshot.before");
        self.generation = self.shared.store.compact(&self.lease, snapshot).await?;
        failpoint::reach("snapshot.after");
        self.log_length = 0;
        self.compacted_at = taken_at;
        Ok(())
    }

    /// Waits for what is under way, so far as the deadline allows, and lets go of the stream. What a result asks for is
    /// asked for again by the next session.
    async fn leave(mut self) -> store::Result<End> {
        self.under_way.close();
        let mut renew = tokio::time::interval(LEASE / 3);
        while !self.under_way.is_empty() {
            tokio::select! {
                result = self.under_way.next() => self.feed(vec![result.into()]).await?,
                _ = renew.tick() => self.shared.store.renew(&self.lease, self.now()).await?,
            }
        }
        self.shared.store.release(&self.lease, repo::attention(&self.state, &self.settings)).await?;
        Ok(End::Stopping)
    }
}

/// What is written of a run that moved.
fn rows(moved: &RunMove) -> impl Iterator<Item = Row> + '_ {
    let steps = moved.steps.iter().cloned().map(|step| Row::Step(Box::new(step)));
    [Row::Run(Box::new(moved.run.clone()))].into_iter().chain(steps)
}

fn tell_of_run(moved: &RunMove) {
    if moved.is_new {
        ledger::created(&moved.run);
    }
    let initiator = moved.run.last_transition.as_ref().and_then(|context| context.initiator);
    for step in moved.path.windows(2) {
        ledger::transition(&moved.run, step[0], step[1], initiator);
    }
}

/// A number that is always the same for a repository and another for most others.
fn stagger(repo: &RepoId) -> u64 {
    let digest = digest(&SHA256, repo.to_string().to_ascii_lowercase().as_bytes());
    digest.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The state that a stream adds up to.
pub fn replay(stream: &StreamId, loaded: store::Loaded) -> store::Result<RepoState> {
    let corrupt = |what: String, error: serde_json::Error| store::Error::Corrupt {
        reason: format!("{what} of {stream} cannot be read: {error}"),
    };
    let mut state = match loaded.snapshot {
        Some(snapshot) => serde_json::from_str::<Snapshot>(&snapshot.data)
            .map_err(|error| corrupt("the snapshot".to_owned(), error))?
            .restore(),
        None => RepoState::default(),
    };
    for event in loaded.events {
        let read = serde_json::from_str::<repo::Event>(&event.data);
        let read = read.map_err(|error| corrupt(format!("event {}", event.seq), error))?;
        repo::apply(&mut state, &read, event.ts);
    }
    Ok(state)
}

/// A stored event, as a line of the log shows it.
pub fn recorded(event: &store::StoredEvent) -> Result<Recorded, serde_json::Error> {
    Ok(Recorded { seq: event.seq, ts: event.ts, event: serde_json::from_str(&event.data)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_a_stagger_of_its_own_however_its_name_is_written() {
        let stagger = |name: &str| stagger(&name.parse().expect("a repository"));
        assert_eq!(stagger("octocat/hello"), stagger("Octocat/Hello"));
        assert_ne!(stagger("octocat/hello"), stagger("octocat/world"));
    }
}
