//! What a session looks after where it is a run of a workflow. Its effects are the commands of its steps, one at a time.
//!
//! A run that waits for people or for something outside has no worker; what it waits for wakes one.

mod entries;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use jiff::Timestamp;
use merge_train_core::ids::{RunId, StreamId, TenantId};
use merge_train_core::workflow::{self, CommandOutput, Effect, Event, Input, Program, Run, RunState, RunStatus};
use serde_json::Value;
use store::{Entry, Loaded, Row, Settlement, Since, TakeLimit};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Options;
use super::ledger;
use super::session::{AtHand, Decided, Moment, Occasion, Rest, Session, Subject};
use super::workers::Shared;
use crate::daemon::failpoint;

pub use entries::{StoredRefusal, StoredRunRequest};

/// Whatever runs the commands of steps.
#[async_trait]
pub trait StepRunner: Send + Sync + 'static {
    /// Runs a command to its end, or until `stop`. What went wrong is said in a sentence.
    async fn run(&self, task: StepTask, stop: CancellationToken) -> Result<CommandOutput, String>;
}

/// A command to be run.
#[derive(Debug, Clone)]
pub struct StepTask {
    pub run: RunId,
    pub step: String,
    pub attempt: u32,
    pub program: Program,
    pub input: Value,
}

/// How runs are looked after.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// How often an active run records a heartbeat.
    pub heartbeat: Duration,
    /// A run that has given none for so long is anybody's.
    pub orphaned_after: Duration,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(30), orphaned_after: Duration::from_secs(300) }
    }
}

pub(super) struct WorkflowRun {
    id: RunId,
    /// None before it is created.
    state: Option<RunState>,
    command: Option<Command>,
    /// Nothing more is begun.
    is_closed: bool,
}

struct Command {
    task: JoinHandle<Input>,
    stop: CancellationToken,
}

/// Something to decide on.
pub(super) enum Heard {
    /// Somebody asked for it.
    Entry(Box<Entry>),
    Happened(Input),
}

impl Subject for WorkflowRun {
    type Id = RunId;
    type Input = Heard;
    type Event = Event;
    type Acts = Vec<Effect>;

    const TAKE: TakeLimit = TakeLimit { entries: 64, bytes: 8 << 20 };
    /// Each entry has a transaction of its own: nothing is won by waiting.
    const GATHER: Duration = Duration::ZERO;

    fn stream(run: &RunId) -> StreamId {
        StreamId::Run(run.clone())
    }

    /// Whoever asks for a run has it.
    fn tenant(_: &RunId) -> Option<TenantId> {
        None
    }

    fn lease(options: &Options) -> Duration {
        options.runs.orphaned_after
    }

    /// With each sign of life.
    fn renewal(options: &Options) -> Duration {
        options.runs.heartbeat
    }

    fn load(_: &Options, id: &RunId, loaded: Option<Loaded>) -> store::Result<Self> {
        let state = loaded.map_or(Ok(None), |loaded| replay(&Self::stream(id), &loaded))?;
        Ok(Self { id: id.clone(), state, command: None, is_closed: false })
    }

    async fn begin(session: &mut Session<'_, Self>) -> store::Result<()> {
        let Some(state) = &session.subject.state else { return Ok(()) };
        let shown = session.shared.store.run(Some(&state.created.tenant), &session.subject.id).await?;
        let run = match shown {
            Some(run) => run,
            None => {
                let run = state.document();
                let rows = missing_rows(session.shared, session.stream(), state).await?;
                session.write_rows(rows).await?;
                run
            }
        };
        let is_orphan = is_orphan(session.shared, &run, session.now());
        // The inbox was not looked at yet.
        session.feed(vec![Heard::Happened(Input::Resume { is_orphan })], AtHand::More).await
    }

    /// What is asked of a run is nobody else's.
    async fn pass_on(&self, _: &Shared, _: &[Entry]) -> store::Result<()> {
        Ok(())
    }

    /// Each in a transaction of its own: what it asks for is done before the next is decided on.
    fn read(entries: Vec<Entry>) -> Vec<Vec<Heard>> {
        entries.into_iter().map(|entry| vec![Heard::Entry(Box::new(entry))]).collect()
    }

    fn decide(&mut self, _: &Options, inputs: Vec<Heard>, _: u64, now: Timestamp) -> Decided<Self> {
        let (events, settled, rows, answered) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut decided: Decided<Self> = Decided { events, settled, rows, answered, acts: Vec::new() };
        for input in inputs {
            let (events, effects) = match input {
                Heard::Entry(entry) => {
                    let answered = entries::answer(self.state.as_ref(), &entry, now);
                    decided.settled.push(Settlement { entry: entry.id, outcome: answered.outcome });
                    decided.answered.push((entry.tenant, entry.key));
                    (answered.events, answered.effects)
                }
                Heard::Happened(input) => self.react(&input, now),
            };
            decided.rows.extend(self.apply(&events, now));
            decided.events.extend(events);
            decided.acts.extend(effects);
        }
        decided
    }

    fn act(&mut self, shared: &Shared, events: Vec<Event>, effects: Vec<Effect>, _: Timestamp) {
        if let Some(state) = self.state.as_ref().filter(|_| !events.is_empty()) {
            events.iter().for_each(|event| tell(state, event));
            shared.options.link.stir();
        }
        for effect in effects {
            match effect {
                Effect::Agent { step, attempt, program, input } => {
                    let ended = move |result| Input::StepEnded { step, attempt, result };
                    self.begin_command(shared, step, attempt, program, input, ended);
                }
                Effect::Compensate { step, program, input } => {
                    let ended = move |result: Result<CommandOutput, String>| Input::CompensationEnded {
                        step,
                        result: result.map(drop),
                    };
                    self.begin_command(shared, step, 0, program, input, ended);
                }
                Effect::Stop => {
                    if let Some(command) = &self.command {
                        command.stop.cancel();
                    }
                }
            }
        }
    }

    fn reach_failpoint(moment: Moment, _: &[Event]) {
        failpoint::reach(match moment {
            Moment::Before => "run.append.before",
            Moment::After => "run.append.after",
        });
    }

    async fn result(&mut self) -> Heard {
        let Some(running) = &mut self.command else { return std::future::pending().await };
        let input = (&mut running.task).await.unwrap_or(Input::Tick);
        self.command = None;
        Heard::Happened(input)
    }

    fn tick(&mut self, _: Timestamp) -> Heard {
        Heard::Happened(Input::Tick)
    }

    fn next_tick(&self) -> Option<Timestamp> {
        self.state.as_ref().and_then(workflow::next_wake)
    }

    fn attention(&self, now: Timestamp) -> Option<Timestamp> {
        let state = self.state.as_ref()?;
        workflow::next_wake(state).or_else(|| workflow::needs_a_worker(state).then_some(now))
    }

    /// A run that waits for people or for something outside has no worker; what it waits for wakes one.
    fn rest(&self) -> Rest {
        let needs_a_worker = self.state.as_ref().is_some_and(workflow::needs_a_worker);
        if self.command.is_some() || needs_a_worker { Rest::NotYet } else { Rest::AtOnce }
    }

    async fn heartbeat(&self, _: &Shared, now: Timestamp) -> store::Result<Vec<Row>> {
        let shown = |state: &RunState| Run { last_heartbeat_at: Some(now), ..state.document() };
        Ok(self.state.iter().map(|state| Row::Run(Box::new(shown(state)))).collect())
    }

    /// The log of a run is short, and stays as it is.
    async fn tidy_up(_: &mut Session<'_, Self>, _: Occasion) -> store::Result<()> {
        Ok(())
    }

    fn close(&mut self) {
        self.is_closed = true;
    }

    /// What was called off at the deadline is no result of the step: whoever takes the run up begins it again.
    async fn last_result(&mut self, abandon: &CancellationToken) -> Option<Heard> {
        self.command.as_ref()?;
        tokio::select! {
            () = abandon.cancelled() => None,
            result = self.result() => Some(result),
        }
    }
}

impl WorkflowRun {
    fn react(&self, input: &Input, now: Timestamp) -> (Vec<Event>, Vec<Effect>) {
        let Some(state) = &self.state else { return (Vec::new(), Vec::new()) };
        // Only requests are refused, and they come through the inbox.
        let plan = workflow::decide(state, input, now).unwrap_or_default();
        match self.is_closed {
            // How the command ended. What comes next is for whoever takes the run up.
            true => (plan.events.into_iter().take(1).collect(), Vec::new()),
            false => (plan.events, plan.effects),
        }
    }

    /// Folds the events in; the rows that change with them.
    fn apply(&mut self, events: &[Event], now: Timestamp) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut steps = BTreeSet::new();
        for event in events {
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
        if let Some(state) = self.state.as_ref().filter(|_| !events.is_empty()) {
            rows.push(Row::Run(Box::new(state.document())));
            let steps = steps.into_iter().filter_map(|step| state.step_document(step));
            rows.extend(steps.map(|step| Row::Step(Box::new(step))));
        }
        rows
    }

    fn begin_command(
        &mut self,
        shared: &Shared,
        step: usize,
        attempt: u32,
        program: Program,
        input: Value,
        ended: impl FnOnce(Result<CommandOutput, String>) -> Input + Send + 'static,
    ) {
        let Some(state) = &self.state else { return };
        let id = state.plan(step).map(|plan| plan.id.clone()).unwrap_or_default();
        let task = StepTask { run: state.created.run.clone(), step: id, attempt, program, input };
        let (agents, stop) = (shared.agents.clone(), shared.abandon.child_token());
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
}

/// What there is to be seen of a run: a backup has the events alone.
async fn missing_rows(shared: &Shared, stream: &StreamId, state: &RunState) -> store::Result<Vec<Row>> {
    let mut rows = vec![Row::Run(Box::new(state.document()))];
    let steps = (0..state.steps.len()).filter_map(|step| state.step_document(step));
    rows.extend(steps.map(|step| Row::Step(Box::new(step))));
    let mut then: Option<RunState> = None;
    for (event, at) in &read(stream, &shared.store.load(stream, Since::Oldest).await?)? {
        match (&mut then, event) {
            (None, Event::RunCreated(created)) => then = Some(RunState::new(created.clone(), *at)),
            (Some(then), event) => {
                then.apply(event, *at);
                rows.extend(then.checkpoint(event).map(|checkpoint| Row::Checkpoint(Box::new(checkpoint))));
            }
            (None, _) => {}
        }
    }
    Ok(rows)
}

/// Whether nobody has been at work on the run for so long that it was anybody's.
fn is_orphan(shared: &Shared, run: &Run, now: Timestamp) -> bool {
    let seen = run.last_heartbeat_at.unwrap_or(run.updated_at);
    let silent_for = Duration::try_from(now.duration_since(seen)).unwrap_or_default();
    let is_orphan = run.status == RunStatus::Running && silent_for >= shared.options.runs.orphaned_after;
    if is_orphan {
        ledger::orphan(run);
    }
    is_orphan
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
