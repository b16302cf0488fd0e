//! A state as large as the dashboard must be fast with, written through the store as the daemon writes it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{PrNumber, RepoId, RunId, StreamId};
use merge_train_core::repo::{self, Event, Position, RepoState, Settings, Snapshot};
use merge_train_core::workflow::{
    self, ApprovalNeed, CommandOutput, Decision, Gate, Initiator, Input, OnExpiry, Program, Request, RetryPolicy,
    RunState, RunStatus, SignalWait, StepKind, StepPlan, Trigger, TriggerSource, Workflow,
};
use serde_json::{Map, json};
use store::{Batch, Lease, LeaseRequest, NewEvent, Owner, Row, RunQuery, Store};

use super::story::{Size, Story};
use merge_train::workspaces;

pub const RUNS: usize = 10_000;
pub const TRAINS: usize = 1_000;
pub const WORKSPACES: usize = 1_000;
const REPOS: usize = 50;
const OWNERS: usize = 5;
/// Of each repository, the runs that are no workflow's: some more where trains part.
const SIZE: Size =
    Size { trains_under_way: TRAINS / REPOS, trains_ended: 60, workspaces: WORKSPACES / REPOS, fixers_each: 2 };
/// How many events are written at once.
const AT_ONCE: usize = 400;
pub const TENANT: &str = "owner-0";
const WORKFLOW: &str = "release";

/// What is there to be looked at.
pub struct Population {
    pub repo: RepoId,
    pub train: PrNumber,
    pub workspace: PrNumber,
    pub counts: BTreeMap<(String, RunStatus), usize>,
}

pub fn repo(number: usize) -> RepoId {
    RepoId::new(&format!("owner-{}", number % OWNERS), &format!("repo-{number:03}")).expect("a repository")
}

pub async fn fill(store: &Arc<dyn Store>, run_folders: &Path) -> store::Result<Population> {
    let now = jiff::Timestamp::now() - SignedDuration::from_secs(5);
    let told = stream::iter(0..REPOS).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let story = Story::tell(number as u64, now, SIZE);
            let (largest, workspace) = (story.largest, story.last_workspace);
            write(store.as_ref(), &repo(number), story.into_events()).await?;
            Ok::<_, store::Error>((largest, repo(number), workspace))
        })
    });
    let told: Vec<_> = told.buffer_unordered(2).map(|told| told.expect("it is told")).try_collect().await?;
    let ((_, train), repo, workspace) = told.into_iter().max_by_key(|((size, _), ..)| *size).expect("repositories");
    let missing = RUNS - all_runs(store.as_ref()).await?.len();
    stream::iter(0..missing)
        .map(|number| workflow_run(store.as_ref(), number, now))
        .buffer_unordered(64)
        .try_collect::<Vec<()>>()
        .await?;
    let runs = all_runs(store.as_ref()).await?;
    let mut counts = BTreeMap::new();
    for run in &runs {
        *counts.entry((run.kind.clone(), run.status)).or_default() += 1;
        if run.kind != repo::TRAIN && run.id.as_str().ends_with(['0', '1', '2']) {
            print_something(&run_folders.join(run.id.as_str()).join("logs"));
        }
    }
    Ok(Population { repo, train, workspace, counts })
}

pub async fn all_runs(store: &dyn Store) -> store::Result<Vec<store::rows::Run>> {
    store.runs(&RunQuery { limit: 2 * RUNS, ..RunQuery::default() }).await
}

/// What a command printed.
fn print_something(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    let text: String = (0..2_000).map(|line| format!("{line:05} compiling what depends on what\n")).collect();
    std::fs::write(folder.join("fix-1.log"), text).expect("a log");
}

async fn acquire(store: &dyn Store, stream: StreamId, repo: &RepoId, now: Timestamp) -> store::Result<Lease> {
    let (tenant, owner) = (Some(repo.tenant()), Owner("population".to_owned()));
    store.acquire(LeaseRequest { stream, tenant, owner, ttl: Duration::from_secs(300), now }).await
}

/// Appends the events with the rows that they cause, takes a snapshot after three quarters of them, and lets go.
pub async fn write(store: &dyn Store, repo: &RepoId, events: Vec<(Timestamp, Event)>) -> store::Result<()> {
    let settings = Settings::default();
    let now = events.last().map_or(Timestamp::UNIX_EPOCH, |(at, _)| *at);
    let lease = acquire(store, StreamId::Repo(repo.clone()), repo, now).await?;
    let mut state = RepoState::default();
    let mut next_seq = lease.next_seq;
    let batches = events.len().div_ceil(AT_ONCE);
    for (number, batch) in events.chunks(AT_ONCE).enumerate() {
        let mut rows = Latest::default();
        for ((at, event), seq) in batch.iter().zip(next_seq..) {
            rows.put(moved(&mut state, repo, event, *at));
            rows.put(workspaces::rows(repo, &state, &settings, std::slice::from_ref(event), seq, *at));
        }
        let data = |event: &Event| serde_json::to_string(event).expect("an event is JSON");
        let written = batch.iter().map(|(ts, event)| NewEvent { ts: *ts, data: data(event) }).collect();
        let batch = Batch {
            expected_next_seq: next_seq,
            events: written,
            settled: Vec::new(),
            rows: rows.into_rows(),
            wake_at: repo::attention(&state, &settings),
            lets_go: false,
            now,
        };
        next_seq += batch.events.len() as u64;
        store.append(&lease, batch).await?;
        if number == batches * 3 / 4 {
            let position = Position { generation: 1, next_seq, taken_at: now };
            let data = serde_json::to_string(&Snapshot::of(&state, position)).expect("a snapshot is JSON");
            store.compact(&lease, store::Snapshot { next_seq, taken_at: now, data }).await?;
        }
    }
    store.release(&lease, repo::attention(&state, &settings)).await
}

/// Folds an event in, as the daemon's worker does.
fn moved(state: &mut RepoState, repo: &RepoId, event: &Event, at: Timestamp) -> Vec<Row> {
    if !repo::moves_runs(event) {
        repo::apply(state, event, at);
        return Vec::new();
    }
    let before = state.open_runs(repo, at);
    repo::apply(state, event, at);
    let moves = repo::runs_moved(&before, event, state, repo, at);
    let rows = moves.into_iter().flat_map(|moved| {
        let steps = moved.steps.into_iter().map(|step| Row::Step(Box::new(step)));
        [Row::Run(Box::new(moved.run))].into_iter().chain(steps)
    });
    rows.collect()
}

/// Rows, and of each the last.
#[derive(Default)]
struct Latest {
    places: HashMap<String, usize>,
    rows: Vec<Row>,
}

impl Latest {
    fn put(&mut self, rows: Vec<Row>) {
        for row in rows {
            let name = match &row {
                Row::Run(run) => format!("run {}", run.id),
                Row::Step(step) => format!("step {} {}", step.run_id, step.step_id),
                Row::Checkpoint(checkpoint) => format!("checkpoint {} {}", checkpoint.run_id, checkpoint.id),
                Row::Workspace(workspace) => format!("workspace {}", workspace.id),
                Row::Session(session) => format!("session {}", session.id),
                Row::Transition(transition) => format!("transition {}", transition.id),
            };
            match self.places.get(&name) {
                Some(place) => self.rows[*place] = row,
                None => {
                    self.places.insert(name, self.rows.len());
                    self.rows.push(row);
                }
            }
        }
    }

    fn into_rows(self) -> Vec<Row> {
        self.rows
    }
}

fn workflow() -> Workflow {
    let step = |id: &str, kind: StepKind| StepPlan {
        id: id.to_owned(),
        kind,
        resumable: true,
        idempotent: true,
        retry: RetryPolicy::default(),
        compensate: None,
    };
    let agent = || StepKind::Agent(Program { command: vec!["nothing".to_owned()], timeout_ms: 60_000 });
    let gate = Gate { by: Vec::new(), need: ApprovalNeed::Any, timeout_ms: None, on_expiry: OnExpiry::Fail };
    let wait = SignalWait { event: "deployed".to_owned(), correlation: None, timeout_ms: 60 * 24 * 3_600_000 };
    let steps = vec![
        step("gather", agent()),
        step("agree", StepKind::Approval(gate)),
        step("deploy", StepKind::Wait(wait)),
        step("tell", agent()),
    ];
    let description = "Gathers what landed, and tells of it once it is deployed.".to_owned();
    Workflow { name: WORKFLOW.to_owned(), description, on: Vec::new(), inputs: Map::new(), steps }
}

/// A run of a workflow, as far as its number says: most have ended, some wait at a gate or for something outside.
async fn workflow_run(store: &dyn Store, number: usize, now: Timestamp) -> store::Result<()> {
    let mut rng = fastrand::Rng::with_seed(number as u64);
    let repo = repo(number % REPOS);
    let ago = if number % 20 < 2 { rng.i64(3600..86_400) } else { rng.i64(86_400..25 * 86_400) };
    let mut at = now - SignedDuration::from_secs(ago);
    let id = RunId::parse(format!("run-{:032x}", rng.u128(..))).expect("letters, digits and a dash");
    let created = workflow::RunCreation {
        run: id.clone(),
        tenant: repo.tenant(),
        workflow: workflow(),
        inputs: Map::from_iter([("version".to_owned(), json!(format!("1.{number}.0")))]),
        repo: Some(repo.clone()),
        pr: None,
        pr_url: None,
        trigger: Trigger { source: TriggerSource::Api, user_id: Some("api:ops".to_owned()), webhook_event_id: None },
        idempotency_key: None,
    };
    let done = |step: usize| Input::StepEnded {
        step,
        attempt: 1,
        result: Ok(CommandOutput { value: json!({ "found": (0..20).collect::<Vec<_>>() }), tokens_used: None }),
    };
    let agreed = Request::Decide { by: "api:ops".to_owned(), decision: Decision::Approved, reason: None, step: None };
    let deployed = workflow::Signal {
        event: "deployed".to_owned(),
        correlation: None,
        source: None,
        event_id: None,
        payload: json!({ "where": "production" }),
    };
    let failed = Input::StepEnded { step: 3, attempt: 1, result: Err("it ended with exit code 1".to_owned()) };
    let cancel = Request::Cancel { initiator: Initiator::User, by: Some("api:ops".to_owned()), reason: None };
    let (agreed, deployed, cancel) =
        (Input::Asked(agreed), Input::Asked(Request::Signal(deployed)), Input::Asked(cancel));
    let inputs = match number % 20 {
        0 => vec![done(0)],
        1 => vec![done(0), agreed],
        2..4 => vec![done(0), agreed, deployed, failed],
        4 => vec![done(0), cancel],
        _ => vec![done(0), agreed, deployed, done(3)],
    };
    let mut rows = Latest::default();
    let mut events = vec![(at, workflow::Event::RunCreated(Box::new(created.clone())))];
    let mut state = RunState::new(Box::new(created), at);
    let mut plan = workflow::begin(&state, at);
    for input in inputs.iter().map(Some).chain([None]) {
        for event in plan.events.drain(..) {
            state.apply(&event, at);
            rows.put(state.checkpoint(&event).into_iter().map(|it| Row::Checkpoint(Box::new(it))).collect());
            events.push((at, event));
        }
        let Some(input) = input else { break };
        at += SignedDuration::from_secs(rng.i64(5..600));
        plan = workflow::decide(&state, input, at).expect("it is in order");
    }
    rows.put(vec![Row::Run(Box::new(state.document()))]);
    let steps = (0..state.steps.len()).filter_map(|step| state.step_document(step));
    rows.put(steps.map(|step| Row::Step(Box::new(step))).collect());
    let lease = acquire(store, StreamId::Run(id), &repo, now).await?;
    let data = |event: &workflow::Event| serde_json::to_string(event).expect("an event is JSON");
    let batch = Batch {
        expected_next_seq: lease.next_seq,
        events: events.iter().map(|(ts, event)| NewEvent { ts: *ts, data: data(event) }).collect(),
        settled: Vec::new(),
        rows: rows.into_rows(),
        wake_at: workflow::next_wake(&state),
        lets_go: true,
        now,
    };
    store.append(&lease, batch).await
}
