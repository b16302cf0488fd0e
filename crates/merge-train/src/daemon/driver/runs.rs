//! A run's worker: it loads the run, appends what was decided, and then lets its commands run.
//!
//! A run that waits for people or for something outside has no worker; what it waits for wakes one.

mod entries;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use merge_train_core::ids::{RunId, StreamId};
use merge_train_core::workflow::{self, Effect, Event, Input, Output, Program, Run, RunState, RunStatus};
use serde_json::Value;
use store::{Batch, Lease, LeaseRequest, NewEvent, Row, Settlement, Since, TakeLimit};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ledger;
use super::repos::End;
use super::workers::{Bell, Shared};
use crate::daemon::failpoint;

pub use entries::{Order, Refused};

/// How much of the inbox is worked on in one transaction.
const TAKE: TakeLimit = TakeLimit { entries: 64, bytes: 8 << 20 };

/// Whatever runs the commands of steps.
#[async_trait]
pub trait Agents: Send + Sync + 'static {
    /// Runs a command to its end, or until `stop`. What went wrong is said in a sentence.
    async fn run(&self, task: Task, stop: CancellationToken) -> Result<Output, String>;
}

/// A command to be run.
#[derive(Debug, Clone)]
pub struct Task {
    pub run: RunId,
    pub step: String,
    pub attempt: u32,
    pub program: Program,
    pub input: Value,
}

/// How runs are looked after.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// How often a run that is worked on gives a sign of life.
    pub heartbeat: Duration,
    /// A run that has given none for so long is anybody's.
    pub orphaned_after: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(30), orphaned_after: Duration::from_secs(300) }
    }
}

pub(super) struct Session<'a> {
    shared: &'a Shared,
    lease: Lease,
    /// None before it is created.
    state: Option<RunState>,
    next_seq: u64,
    command: Option<Command>,
    /// Whether the run is this worker's; not once it has ended or waits.
    is_held: bool,
}

struct Command {
    task: JoinHandle<Input>,
    stop: CancellationToken,
}

impl<'a> Session<'a> {
    /// Takes the run over and loads it; none if there is no such run.
    pub async fn open(shared: &'a Shared, run: &RunId) -> store::Result<Option<Self>> {
        let stream = StreamId::Run(run.clone());
        let request = LeaseRequest {
            stream: stream.clone(),
            // Whoever asks for a run has it.
            tenant: None,
            owner: shared.options.owner.clone(),
            ttl: shared.options.runs.orphaned_after,
            now: shared.options.clock.now(),
        };
        let lease = match shared.store.acquire(request).await {
            Err(store::Error::Unknown { .. }) => return Ok(None),
            acquired => acquired?,
        };
        let state = match lease.is_first() {
            true => None,
            false => replay(&stream, &shared.store.load(&stream, Since::Newest).await?)?,
        };
        let next_seq = lease.next_seq;
        Ok(Some(Self { shared, lease, state, next_seq, command: None, is_held: true }))
    }

    /// Works until the run has ended or waits, the driver stops, or the store refuses.
    pub async fn run(mut self, bell: &Bell) -> store::Result<End> {
        if let Some(state) = &self.state {
            let is_orphan = self.is_orphan(&self.shown(state).await?);
            // The inbox was not looked at yet.
            self.feed(Input::Resume { is_orphan }, true).await?;
        }
        let mut heartbeat = tokio::time::interval(self.shared.options.runs.heartbeat);
        heartbeat.reset();
        loop {
            if self.is_held {
                self.work_off_inbox(bell).await?;
            }
            if self.shared.stopping.is_cancelled() {
                return self.leave().await;
            }
            if self.command.is_none() && !self.needs_a_worker() {
                self.let_go().await?;
                return Ok(End::Idle);
            }
            let wake_at = self.tick_at();
            tokio::select! {
                biased;
                () = self.shared.stopping.cancelled() => {}
                ended = ended(&mut self.command) => self.feed(ended, false).await?,
                () = bell.alarm() => {}
                () = bell.wait() => {}
                _ = heartbeat.tick() => self.heartbeat().await?,
                () = tokio::time::sleep_until(wake_at) => self.feed(Input::Tick, false).await?,
            }
        }
    }

    /// Writes what there is to be seen of a run: a backup has the events alone.
    async fn restore_rows(&self, state: &RunState) -> store::Result<()> {
        let mut rows = vec![Row::Run(Box::new(state.document()))];
        let steps = (0..state.steps.len()).filter_map(|step| state.step_document(step));
        rows.extend(steps.map(|step| Row::Step(Box::new(step))));
        let loaded = self.shared.store.load(&self.lease.stream, Since::Oldest).await?;
        let events = read(&self.lease.stream, &loaded)?;
        let mut then: Option<RunState> = None;
        for (event, at) in &events {
            match (&mut then, event) {
                (None, Event::RunCreated(created)) => then = Some(RunState::new(created.clone(), *at)),
                (Some(then), event) => {
                    then.apply(event, *at);
                    rows.extend(then.checkpoint(event).map(|checkpoint| Row::Checkpoint(Box::new(checkpoint))));
                }
                (None, _) => {}
            }
        }
        let (now, wake_at, expected_next_seq) = (self.now(), self.wake_at(), self.next_seq);
        let (events, settled) = (Vec::new(), Vec::new());
        let batch = Batch { expected_next_seq, events, settled, rows, wake_at, lets_go: false, now };
        self.shared.store.append(&self.lease, batch).await
    }

    /// The run as it is shown.
    async fn shown(&self, state: &RunState) -> store::Result<Run> {
        if let Some(run) = self.shared.store.run(Some(&state.created.tenant), &state.created.run).await? {
            return Ok(run);
        }
        self.restore_rows(state).await?;
        Ok(state.document())
    }

    /// Whether nobody has been at work on the run for so long that it was anybody's.
    fn is_orphan(&self, run: &Run) -> bool {
        let seen = run.last_heartbeat_at.unwrap_or(run.updated_at);
        let silent_for = Duration::try_from(self.now().duration_since(seen)).unwrap_or_default();
        let is_orphan = run.status == RunStatus::Running && silent_for >= self.shared.options.runs.orphaned_after;
        if is_orphan {
            ledger::orphan(run);
        }
        is_orphan
    }

    fn needs_a_worker(&self) -> bool {
        self.state.as_ref().is_some_and(workflow::needs_a_worker)
    }

    fn now(&self) -> Timestamp {
        self.shared.options.clock.now()
    }

    /// When somebody has to look, were nobody here.
    fn wake_at(&self) -> Option<Timestamp> {
        let state = self.state.as_ref()?;
        workflow::next_wake(state).or_else(|| workflow::needs_a_worker(state).then(|| self.now()))
    }

    fn tick_at(&self) -> Instant {
        /// Nothing falls due: something else comes first.
        const NEVER: Duration = Duration::from_secs(86_400);
        let wake = self.state.as_ref().and_then(workflow::next_wake);
        let wait = wake.map(|at| Duration::try_from(at.duration_since(self.now())).unwrap_or_default());
        Instant::now() + wait.unwrap_or(NEVER).min(NEVER)
    }

    async fn work_off_inbox(&mut self, bell: &Bell) -> store::Result<()> {
        let mut is_full = true;
        while is_full {
            bell.reset();
            let entries = self.shared.store.take(&self.lease, TAKE).await?;
            is_full = TAKE.is_reached_by(&entries);
            let mut left = entries.len();
            for entry in entries {
                left -= 1;
                let (key, now) = ((entry.tenant.clone(), entry.key.clone()), self.now());
                let answered = entries::answer(self.state.as_ref(), &entry, now);
                let settled = Settlement { entry: entry.id, outcome: answered.outcome };
                self.record(answered.events, vec![settled], is_full || left > 0).await?;
                self.shared.options.link.tell(&key);
                self.act(answered.effects);
            }
        }
        Ok(())
    }

    async fn feed(&mut self, input: Input, at_hand: bool) -> store::Result<()> {
        let Some(state) = &self.state else { return Ok(()) };
        // Only requests are refused, and they come through the inbox.
        let plan = workflow::decide(state, &input, self.now()).unwrap_or_default();
        if !plan.events.is_empty() {
            self.record(plan.events, Vec::new(), at_hand).await?;
        }
        self.act(plan.effects);
        Ok(())
    }

    /// Appends the events with all that follows from them, in one transaction. If the run has ended then, or waits, it is
    /// let go of, unless something else is `at_hand` for it.
    async fn record(&mut self, events: Vec<Event>, settled: Vec<Settlement>, at_hand: bool) -> store::Result<()> {
        let now = self.now();
        let mut rows = Vec::new();
        let mut steps = BTreeSet::new();
        for event in &events {
            match (&mut self.state, event) {
                (state @ None, Event::RunCreated(created)) => {
                    steps.extend(0..created.workflow.steps.len());
                    *state = Some(RunState::new(created.clone(), now));
                }
                (Some(state), event) => {
                    state.apply(event, now);
                    steps.extend(step_of(event));
                    rows.extend(state.checkpoint(event).map(|checkpoint| Row::Checkpoint(Box::new(checkpoint))));
                }
                (None, _) => {}
            }
        }
        if let Some(state) = &self.state
            && !events.is_empty()
        {
            rows.push(Row::Run(Box::new(state.document())));
            rows.extend(
                steps.into_iter().filter_map(|step| state.step_document(step)).map(|it| Row::Step(Box::new(it))),
            );
        }
        let data = |event: &Event| serde_json::to_string(event).expect("an event is JSON");
        let written = events.iter().map(|event| NewEvent { ts: now, data: data(event) }).collect::<Vec<_>>();
        let appended = written.len() as u64;
        let (wake_at, expected_next_seq) = (self.wake_at(), self.next_seq);
        failpoint::reach("run.append.before");
        let lets_go = !at_hand && self.command.is_none() && !self.needs_a_worker();
        let batch = Batch { expected_next_seq, events: written, settled, rows, wake_at, lets_go, now };
        self.shared.store.append(&self.lease, batch).await?;
        failpoint::reach("run.append.after");
        self.is_held = !lets_go;
        self.next_seq += appended;
        if let Some(state) = &self.state {
            events.iter().for_each(|event| tell(state, event));
        }
        self.shared.options.link.stir();
        Ok(())
    }

    fn act(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Agent { step, attempt, program, input } => {
                    self.begin(step, attempt, program, input, move |result| Input::StepEnded { step, attempt, result });
                }
                Effect::Compensate { step, program, input } => {
                    let ended = move |result: Result<Output, String>| Input::CompensationEnded {
                        step,
                        result: result.map(drop),
                    };
                    self.begin(step, 0, program, input, ended);
                }
                Effect::Stop => {
                    if let Some(command) = &self.command {
                        command.stop.cancel();
                    }
                }
            }
        }
    }

    fn begin(
        &mut self,
        step: usize,
        attempt: u32,
        program: Program,
        input: Value,
        ended: impl FnOnce(Result<Output, String>) -> Input + Send + 'static,
    ) {
        let Some(state) = &self.state else { return };
        let id = state.plan(step).map(|plan| plan.id.clone()).unwrap_or_default();
        let task = Task { run: state.created.run.clone(), step: id, attempt, program, input };
        let (agents, stop) = (self.shared.agents.clone(), self.shared.abandon.child_token());
        let token = stop.clone();
        let task = tokio::spawn(async move {
            failpoint::reach("run.command.start");
            let result = AssertUnwindSafe(agents.run(task, token)).catch_unwind().await;
            let result = result.unwrap_or_else(|_| Err("running it went wrong: see the panic in the log".to_owned()));
            failpoint::reach("run.command.end");
            ended(result)
        });
        self.command = Some(Command { task, stop });
    }

    /// A sign of life, for all to see.
    async fn heartbeat(&mut self) -> store::Result<()> {
        let now = self.now();
        self.shared.store.renew(&self.lease, now).await?;
        let Some(state) = &self.state else { return Ok(()) };
        let mut document = state.document();
        document.last_heartbeat_at = Some(now);
        let rows = vec![Row::Run(Box::new(document))];
        let (wake_at, expected_next_seq) = (self.wake_at(), self.next_seq);
        let batch =
            Batch { expected_next_seq, events: Vec::new(), settled: Vec::new(), rows, wake_at, lets_go: false, now };
        self.shared.store.append(&self.lease, batch).await
    }

    /// Waits for the command that is under way, so far as the deadline allows, and lets go of the run.
    async fn leave(mut self) -> store::Result<End> {
        let mut heartbeat = tokio::time::interval(self.shared.options.runs.heartbeat);
        heartbeat.reset();
        while self.command.is_some() {
            tokio::select! {
                () = self.shared.abandon.cancelled() => break,
                ended = ended(&mut self.command) => {
                    // What comes next is for whoever takes the run up.
                    let Some(state) = &self.state else { break };
                    let plan = workflow::decide(state, &ended, self.now()).unwrap_or_default();
                    let end = plan.events.into_iter().take(1).collect();
                    self.record(end, Vec::new(), false).await?;
                }
                _ = heartbeat.tick() => self.heartbeat().await?,
            }
        }
        self.let_go().await?;
        Ok(End::Stopping)
    }

    async fn let_go(&self) -> store::Result<()> {
        match self.is_held {
            true => self.shared.store.release(&self.lease, self.wake_at()).await,
            false => Ok(()),
        }
    }
}

/// How the command that is under way ended; waits for ever where none is.
async fn ended(command: &mut Option<Command>) -> Input {
    let Some(running) = command else { return std::future::pending().await };
    let input = (&mut running.task).await.unwrap_or(Input::Tick);
    *command = None;
    input
}

/// The step that an event is about.
fn step_of(event: &Event) -> Option<usize> {
    match event {
        Event::StepStarted { step, .. }
        | Event::StepCompleted { step, .. }
        | Event::StepFailed { step, .. }
        | Event::StepReplayed { step }
        | Event::ApprovalRequested { step, .. }
        | Event::WaitBegan { step, .. } => Some(*step),
        _ => None,
    }
}

fn read(stream: &StreamId, loaded: &store::Loaded) -> store::Result<Vec<(Event, Timestamp)>> {
    let read = |event: &store::StoredEvent| {
        serde_json::from_str::<Event>(&event.data).map(|read| (read, event.ts)).map_err(|error| {
            let reason = format!("event {} of {stream} cannot be read: {error}", event.seq);
            store::Error::Corrupt { reason }
        })
    };
    loaded.events.iter().map(read).collect()
}

/// The state that a run's stream adds up to; none for one that never was.
pub fn replay(stream: &StreamId, loaded: &store::Loaded) -> store::Result<Option<RunState>> {
    let events = read(stream, loaded)?;
    let state = RunState::replay(events.iter().map(|(event, at)| (event, *at)));
    match state {
        None if !events.is_empty() => {
            let reason = format!("{stream} does not begin with the creation of a run");
            Err(store::Error::Corrupt { reason })
        }
        state => Ok(state),
    }
}

/// What an operator reads of an event that was just applied.
fn tell(state: &RunState, event: &Event) {
    match event {
        Event::RunCreated(_) => ledger::created(&state.document()),
        Event::RunTransition { from, to, context, .. } => {
            ledger::transition(&state.document(), *from, *to, context.initiator);
        }
        Event::StepStarted { step, .. }
        | Event::StepCompleted { step, .. }
        | Event::StepFailed { step, .. }
        | Event::ApprovalRequested { step, .. }
        | Event::WaitBegan { step, .. } => {
            let Some(plan) = state.plan(*step) else { return };
            ledger::checkpoint(state.created.run.as_str(), &plan.id, plan.resumable);
        }
        _ => {}
    }
}
