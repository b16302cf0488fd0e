//! What a session looks after where it is a repository.

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
use merge_train_core::ids::{RepoId, StreamId, TenantId};
use merge_train_core::repo::{
    self, Effect, EffectKey, Input, Plan, Position, RecordedEvent, RepoState, RunChange, Settings, Snapshot,
};
use merge_train_core::workflow::Run;
use store::rows::Workspace;
use store::{Entry, Loaded, Row, Settlement, TakeLimit};
use tokio_util::sync::CancellationToken;

use super::Options;
use super::ledger;
use super::session::{AtHand, Decided, Moment, Occasion, Rest, Session, Subject};
use super::workers::Shared;
use crate::daemon::failpoint;
use effects::RunningEffects;

/// For how long a stream is leased; renewed at a third of it.
const LEASE: Duration = Duration::from_secs(15);

pub(super) struct Repository {
    repo: RepoId,
    settings: Settings,
    web_url: String,
    state: RepoState,
    generation: u64,
    compacted_at: Timestamp,
    under_way: RunningEffects,
    last_tick: Timestamp,
}

/// An input, and the entry of the inbox that it settles.
pub(super) struct InboxInput {
    input: Input,
    settles: Option<Settlement>,
}

impl From<Input> for InboxInput {
    fn from(input: Input) -> Self {
        Self { input, settles: None }
    }
}

/// What follows of the events of a transaction.
pub(super) struct Acts {
    plan: Plan,
    /// What made the worker look, for each event.
    triggers: Vec<&'static str>,
    moves: Vec<RunChange>,
}

impl Subject for Repository {
    type Id = RepoId;
    type Input = InboxInput;
    type Event = repo::Event;
    type Acts = Acts;

    const TAKE: TakeLimit = TakeLimit { entries: 128, bytes: 8 << 20 };
    /// Ten in one transaction cost little more than one. The first after a pause, and a stop command, do not wait.
    const GATHER: Duration = Duration::from_millis(50);

    fn stream(repo: &RepoId) -> StreamId {
        StreamId::Repo(repo.clone())
    }

    fn tenant(repo: &RepoId) -> Option<TenantId> {
        Some(repo.tenant())
    }

    fn lease(_: &Options) -> Duration {
        LEASE
    }

    fn renewal(_: &Options) -> Duration {
        LEASE / 3
    }

    fn load(options: &Options, repo: &RepoId, loaded: Option<Loaded>) -> store::Result<Self> {
        let generation = loaded.as_ref().map_or(0, |loaded| loaded.generation);
        let snapshot = loaded.as_ref().and_then(|loaded| loaded.snapshot.as_ref());
        let compacted_at = snapshot.map_or_else(|| options.clock.now(), |snapshot| snapshot.taken_at);
        let state = loaded.map_or_else(|| Ok(RepoState::default()), |loaded| replay(&Self::stream(repo), loaded))?;
        tracing::debug!(%repo, generation, lifecycle = ?state.lifecycle(), "the repository is loaded");
        Ok(Self {
            repo: repo.clone(),
            settings: Settings { stagger: stagger(repo), ..options.settings.clone() },
            web_url: options.web_url.clone(),
            state,
            generation,
            compacted_at,
            under_way: RunningEffects::default(),
            // What fell due while nobody was here is due now.
            last_tick: Timestamp::MIN,
        })
    }

    async fn begin(session: &mut Session<'_, Self>) -> store::Result<()> {
        session.feed(vec![Input::Resume.into()], AtHand::More).await?;
        // Trains of an older version, or from a backup, are runs from here on; and so it is with workspaces.
        session.heartbeat().await?;
        let rows = session.subject.missing_workspaces(session.shared, session.now()).await?;
        session.write_rows(rows).await
    }

    async fn pass_on(&self, shared: &Shared, entries: &[Entry]) -> store::Result<()> {
        signals::pass_on(shared, &self.repo, entries).await
    }

    /// All in one transaction.
    fn read(entries: Vec<Entry>) -> Vec<Vec<InboxInput>> {
        vec![entries.into_iter().map(entries::read).collect()]
    }

    fn decide(&mut self, _: &Options, inputs: Vec<InboxInput>, next_seq: u64, now: Timestamp) -> Decided<Self> {
        let (mut events, mut settled, mut answered) = (Vec::new(), Vec::new(), Vec::new());
        let mut acts = Acts { plan: Plan::default(), triggers: Vec::new(), moves: Vec::new() };
        for InboxInput { input, settles } in inputs {
            if let Input::Asked { key, .. } = &input {
                answered.push((self.repo.tenant(), key.clone()));
            }
            let trigger = log::trigger(&input);
            let (plan, settles) = entries::decide(&self.state, input, settles, &self.settings, now);
            for event in &plan.events {
                acts.moves.extend(self.apply(event, now));
                acts.triggers.push(trigger);
            }
            settled.extend(settles);
            // What was asked for a train or a fixer before it was called off is not even begun.
            let is_called_off = |effect: &Effect| plan.cancels.iter().any(|served| served.work() == effect.key());
            acts.plan.effects.retain(|effect| !is_called_off(effect));
            acts.plan.effects.extend(plan.effects);
            acts.plan.cancels.extend(plan.cancels);
            events.extend(plan.events);
        }
        let mut rows: Vec<Row> = acts.moves.iter().flat_map(rows).collect();
        if !events.is_empty() || !settled.is_empty() {
            let settings = self.state.settings(&self.settings);
            rows.extend(workspaces::rows(&self.repo, &self.state, &settings, &events, next_seq, now));
        }
        Decided { events, settled, rows, answered, acts }
    }

    fn act(&mut self, shared: &Shared, events: Vec<repo::Event>, acts: Acts, now: Timestamp) {
        let Acts { plan, triggers, moves } = acts;
        let settings = self.state.settings(&self.settings);
        for (event, trigger) in events.iter().zip(triggers) {
            log::tell(&self.repo, (&self.state, &settings), (event, trigger), now);
        }
        if !moves.is_empty() {
            moves.iter().for_each(tell_of_run);
            shared.options.link.stir();
        }
        for served in plan.cancels {
            self.under_way.cancel(served);
        }
        // Of effects with one key the last knows the most.
        let effects: BTreeMap<EffectKey, Effect> =
            plan.effects.into_iter().map(|effect| (effect.key(), effect)).collect();
        for effect in effects.into_values() {
            let served = effect.served(&self.state);
            self.under_way.begin(shared, &self.repo, effect, served);
        }
    }

    fn reach_failpoint(moment: Moment, events: &[repo::Event]) {
        let moment = match moment {
            Moment::Before => "before",
            Moment::After => "after",
        };
        failpoint::append(moment, events.iter());
    }

    async fn result(&mut self) -> InboxInput {
        self.under_way.next().await.into()
    }

    fn tick(&mut self, now: Timestamp) -> InboxInput {
        // Before it is decided on: what falls due in between is looked at twice, not never.
        self.last_tick = now;
        Input::Tick.into()
    }

    fn next_tick(&self) -> Option<Timestamp> {
        repo::next_wake(&self.state, &self.settings, self.last_tick)
    }

    fn attention(&self, _: Timestamp) -> Option<Timestamp> {
        repo::attention(&self.state, &self.settings)
    }

    fn rest(&self) -> Rest {
        if self.under_way.is_empty() { Rest::WhenIdle } else { Rest::NotYet }
    }

    /// One of each train and fixer.
    async fn heartbeat(&self, shared: &Shared, now: Timestamp) -> store::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for (id, mut run) in self.state.open_runs(&self.repo, now) {
            self.address(&mut run);
            // Nothing else has changed of one that is known, unless another version wrote it.
            let known = shared.store.run(Some(&run.tenant_id), &id).await?;
            let known = known.filter(|known| !repo::run_differs(known, &run)).unwrap_or(run);
            rows.push(Row::Run(Box::new(Run { last_heartbeat_at: Some(now), ..known })));
        }
        Ok(rows)
    }

    /// A snapshot costs as much as the state is large, so in between it waits until the log is half as long: as long, it might
    /// never be where each event makes the state larger.
    async fn tidy_up(session: &mut Session<'_, Self>, occasion: Occasion) -> store::Result<()> {
        let (options, subject, log_length) = (&session.shared.options, &session.subject, session.log_length());
        let is_long = log_length >= options.compact_after_events.max(subject.state.weight() as u64 / 2);
        let is_late = session.now().duration_since(subject.compacted_at) >= options.compact_interval;
        let is_due = is_long || is_late || occasion == Occasion::AtTheEnd;
        if log_length == 0 || !is_due {
            return Ok(());
        }
        let (repo, before) = (subject.repo.clone(), subject.state.prs().len());
        session.feed(vec![Input::Housekeeping.into()], AtHand::More).await?;
        let remaining = session.subject.state.prs().len();
        if remaining < before {
            tracing::info!(%repo, pruned_prs = before - remaining, remaining_prs = remaining, "state pruned");
        }
        let taken_at = session.now();
        let generation = session.subject.generation + 1;
        let position = Position { generation, next_seq: session.next_seq(), taken_at };
        let snapshot = Snapshot::of(&session.subject.state, position);
        let data = serde_json::to_string(&snapshot).expect("a snapshot is JSON");
        session.subject.generation = session.compact(taken_at, data).await?;
        session.subject.compacted_at = taken_at;
        Ok(())
    }

    fn close(&mut self) {
        self.under_way.close();
    }

    /// Whatever is called off at the deadline returns at once, and is waited for.
    async fn last_result(&mut self, _: &CancellationToken) -> Option<InboxInput> {
        if self.under_way.is_empty() { None } else { Some(self.under_way.next().await.into()) }
    }
}

impl Repository {
    /// Folds an event in; what that makes of the runs that trains are.
    fn apply(&mut self, event: &repo::Event, now: Timestamp) -> Vec<RunChange> {
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
        run.pr_url = format!("{}/{}/pull/{}", self.web_url, self.repo, run.pr_id);
    }

    /// The rows of workspaces that are missing, or tell something else than the state.
    async fn missing_workspaces(&self, shared: &Shared, now: Timestamp) -> store::Result<Vec<Row>> {
        if self.state.workspaces().is_empty() {
            return Ok(Vec::new());
        }
        let known = shared.store.workspaces(Some(&self.repo.tenant())).await?;
        let is_missing = |row: &Workspace| {
            let old = known.iter().find(|old| old.id == row.id);
            old.is_none_or(|old| Workspace { updated_at: now, ..old.clone() } != *row)
        };
        let all = workspaces::all(&self.repo, &self.state, &self.state.settings(&self.settings), now);
        Ok(all.into_iter().filter(is_missing).map(|row| Row::Workspace(Box::new(row))).collect())
    }
}

/// What is written of a run that moved.
fn rows(moved: &RunChange) -> impl Iterator<Item = Row> + '_ {
    let steps = moved.steps.iter().cloned().map(|step| Row::Step(Box::new(step)));
    [Row::Run(Box::new(moved.run.clone()))].into_iter().chain(steps)
}

fn tell_of_run(moved: &RunChange) {
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
pub fn recorded(event: &store::StoredEvent) -> Result<RecordedEvent, serde_json::Error> {
    Ok(RecordedEvent { seq: event.seq, ts: event.ts, event: serde_json::from_str(&event.data)? })
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
