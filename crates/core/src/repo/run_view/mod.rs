//! Trains and fixers as runs: each is one from its start to its end, and changes its state in no other moment than it does.

mod fixers;

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::ids::{PrNumber, RepoId, RunId};
use crate::repo::event::{Attribution, Event};
use crate::repo::mirror;
use crate::repo::state::{PrState, RepoState};
use crate::repo::trains::detail::{TrainDetail, TrainRunMark};
use crate::repo::trains::status::WaitParty;
use crate::repo::trains::{self, TrainRecord, TrainState};
use crate::workflow::{
    Approval, Cancellation, Decision, ExternalEvent, Initiator, Run, RunStatus, RunStep, SCHEMA_VERSION, StepStatus,
    TransitionContext, Trigger,
};

/// What the runs of trains are called, and those of fixers.
pub const TRAIN: &str = "train";
pub const FIXER: &str = "fixer";
/// Who does their steps, for lists.
const AGENT: &str = "merge-train";

/// A run that is new, or is not what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct RunChange {
    pub run: Run,
    pub steps: Vec<RunStep>,
    /// The states that it went through, the one that it had before first.
    pub path: Vec<RunStatus>,
    /// Whether it was not there before.
    pub is_new: bool,
}

/// Whether an event can begin, change or end a train or a fixer.
pub fn moves_runs(event: &Event) -> bool {
    match event {
        Event::Trains(_) | Event::Ratchet(_) => true,
        // What the pull request is called may have changed.
        Event::Mirror(event) => matches!(event, mirror::Event::PrObserved { .. }),
        Event::Settings(_) | Event::Commands(_) | Event::Outbox(_) => false,
    }
}

/// What an event made of the runs that were open before it.
pub fn runs_moved(
    before: &BTreeMap<RunId, Run>,
    event: &Event,
    after: &RepoState,
    repo: &RepoId,
    now: Timestamp,
) -> Vec<RunChange> {
    let open = after.open_runs(repo, now);
    let ended = before.iter().filter(|(id, _)| !open.contains_key(*id)).map(|(_, run)| {
        let ended = match run.kind.as_str() {
            FIXER => fixers::ended(run, event, now),
            _ => ended(run, event, after, now),
        };
        let (steps, path) = (after.steps_of(&ended), path(Some(run.status), ended.status));
        RunChange { run: ended, steps, path, is_new: false }
    });
    let is_news = |(id, run): &(&RunId, &Run)| before.get(*id).is_none_or(|old| run_differs(old, run));
    let moved = open.iter().filter(is_news).map(|(id, run)| {
        let path = path(before.get(id).map(|old| old.status), run.status);
        RunChange { run: run.clone(), steps: after.steps_of(run), path, is_new: !before.contains_key(id) }
    });
    ended.chain(moved).collect()
}

/// Whether a run is not what it was: also where it is in the same state, but for another reason.
pub fn run_differs(old: &Run, new: &Run) -> bool {
    old.status != new.status
        || old.current_step != new.current_step
        || old.resume_count != new.resume_count
        || old.result != new.result
        || old.error != new.error
        || old.last_transition != new.last_transition
}

/// From one state to another by the table of transitions: what is not allowed at once goes through `running`.
fn path(from: Option<RunStatus>, to: RunStatus) -> Vec<RunStatus> {
    let from = from.unwrap_or(RunStatus::Pending);
    let through = (from != to && from.check(to).is_err()).then_some(RunStatus::Running);
    [from].into_iter().chain(through).chain((from != to).then_some(to)).collect()
}

impl RepoState {
    /// The trains and fixers that are under way or wait for a person, as runs.
    pub fn open_runs(&self, repo: &RepoId, now: Timestamp) -> BTreeMap<RunId, Run> {
        let open = self.active_trains.values().filter(|train| !train.state.as_run().is_terminal());
        let trains = open.map(|train| self.run_of(train, repo, now));
        let fixers = self.workspaces.iter().filter_map(|(pr, workspace)| Some((*pr, workspace.fix.as_ref()?)));
        let fixers = fixers.map(|(pr, fix)| fixers::run_of(pr, self.title_of(pr), fix, repo, now));
        trains.chain(fixers).map(|run| (run.id.clone(), run)).collect()
    }

    /// The id of the run that a train is; of one that has ended, none.
    pub fn run_id_of(&self, train: &TrainRecord, repo: &RepoId) -> Option<RunId> {
        let is_open = !train.state.as_run().is_terminal();
        is_open.then(|| run_id(repo, train.original_root_pr, &self.mark_of(train)))
    }

    fn mark_of(&self, train: &TrainRecord) -> TrainRunMark {
        let mark = self.details.get(&train.original_root_pr).and_then(|detail| detail.run.clone());
        // A train of a version that knew no runs.
        mark.unwrap_or(TrainRunMark { moved_at: train.started_at, ..TrainRunMark::new(train.started_at, 0) })
    }

    fn run_of(&self, train: &TrainRecord, repo: &RepoId, now: Timestamp) -> Run {
        let detail = self.details.get(&train.original_root_pr);
        let mark = self.mark_of(train);
        let id = run_id(repo, train.original_root_pr, &mark);
        let landed = detail.map(|detail| detail.landed.clone()).unwrap_or_default();
        Run {
            schema_version: SCHEMA_VERSION,
            tenant_id: repo.tenant(),
            repo_id: repo.to_string(),
            pr_id: train.original_root_pr.to_string(),
            pr_url: String::new(),
            kind: TRAIN.to_owned(),
            status: train.state.as_run(),
            current_step: Some(step_id(train.current_pr)),
            trigger: Trigger {
                source: mark.source,
                user_id: mark.set_off.by.clone(),
                webhook_event_id: mark.set_off.delivery.as_ref().map(ToString::to_string),
            },
            idempotency_key: None,
            a2a_correlation_id: None,
            last_heartbeat_at: Some(now),
            result: Some(json!({
                "title": self.title_of(train.original_root_pr),
                "phase": train.cascade_phase.name(),
                "landed": landed,
                "waited": mark.waited,
            })),
            error: train.error.as_ref().map(|error| error.message.clone()),
            cancellation: None,
            compensation_log: Vec::new(),
            last_transition: Some(context(&id, train, detail, &mark)),
            resumed_from: None,
            resume_count: 0,
            created_at: mark.since,
            updated_at: now,
            completed_at: None,
            duration_ms: None,
            id,
        }
    }

    fn title_of(&self, pr: PrNumber) -> &str {
        self.prs.get(&pr).map(|pr| pr.title.as_str()).unwrap_or_default()
    }

    /// Each pull request that the train has dealt with is a step of it.
    fn steps_of(&self, run: &Run) -> Vec<RunStep> {
        if run.kind == FIXER {
            return fixers::steps_of(run);
        }
        let landed = run.result.as_ref().and_then(|result| result.get("landed")?.as_array());
        let landed: Vec<PrNumber> = landed.into_iter().flatten().filter_map(Value::as_u64).map(PrNumber::new).collect();
        let current = current_pull(run).filter(|current| !landed.contains(current));
        let at_it = match run.status {
            RunStatus::Failed => StepStatus::Failed,
            RunStatus::Cancelled => StepStatus::Skipped,
            RunStatus::Pending
            | RunStatus::Running
            | RunStatus::AwaitingApproval
            | RunStatus::WaitingExternal
            | RunStatus::Completed => StepStatus::Running,
        };
        let all = landed.iter().map(|pr| (*pr, StepStatus::Completed)).chain(current.map(|pr| (pr, at_it)));
        // Each is begun when the one before it has landed.
        let mut begun = Some(run.created_at);
        let step = |(position, (pr, status)): (usize, (PrNumber, StepStatus))| {
            let (sha, at) = match self.prs.get(&pr).map(|pr| &pr.state) {
                Some(PrState::Merged { merge_commit_sha, closed_at }) => (merge_commit_sha.clone(), *closed_at),
                Some(PrState::Open | PrState::Closed { .. }) | None => (None, run.completed_at),
            };
            let started_at = std::mem::replace(&mut begun, at);
            let step = RunStep {
                tenant_id: run.tenant_id.clone(),
                run_id: run.id.clone(),
                step_id: step_id(pr),
                position: u32::try_from(position).unwrap_or(u32::MAX),
                agent: AGENT.to_owned(),
                status,
                input: Some(json!({ "pr": pr })),
                output: sha.map(|sha| json!({ "mergeCommitSha": sha })),
                error: run.error.clone().filter(|_| status == StepStatus::Failed),
                attempts: 1,
                started_at,
                completed_at: at,
                duration_ms: None,
            };
            step.timed()
        };
        all.enumerate().map(step).collect()
    }
}

const STEP_PREFIX: &str = "pr-";

/// The pull request that a step landed, and when. None of a step that is no train's, or has landed nothing yet.
pub fn landing(step: &RunStep) -> Option<(PrNumber, Timestamp)> {
    let is_trains = step.run_id.as_str().strip_prefix(TRAIN).is_some_and(|rest| rest.starts_with('-'));
    let has_landed = is_trains && step.status == StepStatus::Completed;
    let pr = pull_of(&step.step_id).filter(|_| has_landed)?;
    Some((pr, step.completed_at?))
}

/// The pull request that the run of a train is at.
pub fn current_pull(run: &Run) -> Option<PrNumber> {
    run.current_step.as_deref().and_then(pull_of)
}

fn pull_of(step: &str) -> Option<PrNumber> {
    step.strip_prefix(STEP_PREFIX)?.parse().ok().map(PrNumber::new)
}

fn step_id(pr: PrNumber) -> String {
    format!("{STEP_PREFIX}{pr}")
}

fn run_id(repo: &RepoId, root: PrNumber, mark: &TrainRunMark) -> RunId {
    let name =
        format!("{}\n{root}\n{}\n{}", repo.to_string().to_ascii_lowercase(), mark.since.as_millisecond(), mark.seq);
    let digest = digest(&SHA256, name.as_bytes());
    let hex = hex::encode(&digest.as_ref()[..12]);
    RunId::parse(format!("{TRAIN}-{hex}")).expect("letters, digits and a dash")
}

/// Why the run is in the state that it is in.
fn context(run: &RunId, train: &TrainRecord, detail: Option<&TrainDetail>, mark: &TrainRunMark) -> TransitionContext {
    let base = brought_about(run, mark.set_off.by.as_ref(), &mark.moved, mark.moved_at);
    match train.state {
        TrainState::WaitingCi => {
            let why = detail.and_then(|detail| detail.why.as_ref());
            let told = why.map(|why| {
                let told = [("blocker", &why.blocker), ("who", &why.who), ("next", &why.next)];
                let party = ("party".to_owned(), json!(why.party));
                told.into_iter().map(|(key, text)| (key.to_owned(), json!(text))).chain([party]).collect::<Map<_, _>>()
            });
            let event = ExternalEvent {
                event_type: "ci".to_owned(),
                source: Some("github".to_owned()),
                event_id: None,
                expected_at: None,
                timeout_ms: None,
            };
            TransitionContext { metadata: told, external_event: Some(event), ..base }
        }
        TrainState::NeedsManualReview => {
            let reason = train.error.as_ref().map(|error| error.message.clone());
            let approval = Approval { reason, ..review(mark.set_off.by.as_ref()) };
            TransitionContext { initiator: Some(Initiator::Policy), approval: Some(approval), ..base }
        }
        TrainState::Running | TrainState::Stopped | TrainState::Aborted => base,
    }
}

/// What a train waits for, as its run tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingFor {
    pub blocker: String,
    pub who: String,
    pub party: WaitParty,
}

impl WaitingFor {
    /// None where the run does not say.
    pub fn of(run: &Run) -> Option<Self> {
        let told = run.last_transition.as_ref()?.metadata.as_ref()?;
        let text = |key: &str| told.get(key)?.as_str();
        let (blocker, who) = (text("blocker")?.to_owned(), text("who")?.to_owned());
        // Rows of older versions have no party.
        let party = told.get("party").and_then(|party| WaitParty::deserialize(party).ok());
        let party = party.unwrap_or_else(|| WaitParty::of_older_text(&who));
        Some(Self { blocker, who, party })
    }
}

/// Who brought a run into its state, and what they said to it.
fn brought_about(run: &RunId, set_off_by: Option<&String>, behest: &Attribution, at: Timestamp) -> TransitionContext {
    let Attribution { by, reason, decision, .. } = behest;
    let approval = decision.map(|decision| Approval {
        decision: Some(decision),
        decided_at: Some(at),
        decided_by: by.clone(),
        reason: reason.clone(),
        ..review(set_off_by)
    });
    let said = reason.as_ref().filter(|_| approval.is_none());
    TransitionContext {
        run_id: Some(run.clone()),
        user_id: by.clone(),
        initiator: Some(match (by, decision) {
            (_, Some(_)) => Initiator::Approval,
            (Some(_), None) => Initiator::User,
            (None, None) => Initiator::System,
        }),
        timestamp: Some(at),
        metadata: said.map(|reason| Map::from_iter([("reason".to_owned(), json!(reason))])),
        approval,
        external_event: None,
    }
}

/// What a person is asked for who has to look at a train.
fn review(requested_by: Option<&String>) -> Approval {
    Approval {
        action: "manual_review".to_owned(),
        requested_by: requested_by.cloned(),
        decision: None,
        decided_at: None,
        decided_by: None,
        reason: None,
    }
}

/// How a run ended whose train is not under way any more.
struct TrainRunEnd {
    status: RunStatus,
    /// Who wanted it.
    behest: Attribution,
    /// None: the run itself, or whoever wanted it.
    initiator: Option<Initiator>,
    why: Option<String>,
}

impl TrainRunEnd {
    fn by_itself(status: RunStatus, why: Option<String>) -> Self {
        Self { status, behest: Attribution::default(), initiator: Some(Initiator::System), why }
    }

    fn of(event: &Event, after: &RepoState) -> Self {
        if let Event::Trains(event) = event
            && let Some(early) = Self::early(event, after)
        {
            return early;
        }
        Self::by_itself(RunStatus::Completed, None)
    }

    /// It did not come to where it was to go.
    fn early(event: &trains::Event, after: &RepoState) -> Option<Self> {
        if let trains::Event::TrainStopped { behest, .. } = event {
            return Some(Self {
                status: RunStatus::Cancelled,
                // Also where nobody knows any more who it was.
                initiator: behest.by.is_none().then_some(Initiator::User),
                why: behest.reason.clone().or_else(|| Some("the train was stopped".to_owned())),
                behest: behest.clone(),
            });
        }
        if let trains::Event::TrainStarted { root_pr, behest, .. } = event {
            return Some(Self {
                status: RunStatus::Cancelled,
                initiator: None,
                why: Some(format!("the train of #{root_pr} continues in its place")),
                // Only what waited for a person gives way, to what one starts.
                behest: Attribution { decision: behest.by.as_ref().map(|_| Decision::Approved), ..behest.clone() },
            });
        }
        if let trains::Event::TrainAborted { error, .. } = event {
            return Some(Self::by_itself(RunStatus::Failed, error.as_ref().map(|error| error.message.clone())));
        }
        if let trains::Event::TrainForgotten { reason, root_pr } = event {
            let is_lost = !after.has_landed(*root_pr);
            return is_lost.then(|| Self::by_itself(RunStatus::Cancelled, Some(reason.clone())));
        }
        // What GitHub shows of a train can be that it was stopped or had failed.
        if let trains::Event::TrainRecovered { record, .. } = event {
            let status = Some(record.state.as_run()).filter(|status| status.is_terminal())?;
            return Some(Self::by_itself(status, record.error.as_ref().map(|error| error.message.clone())));
        }
        None
    }
}

fn ended(run: &Run, event: &Event, after: &RepoState, now: Timestamp) -> Run {
    let TrainRunEnd { status, behest, initiator, why } = TrainRunEnd::of(event, after);
    let mut result = run.result.clone();
    if let (Event::Trains(trains::Event::FanOutCompleted { new_roots, .. }), Some(Value::Object(members))) =
        (event, &mut result)
    {
        members.insert("newTrains".to_owned(), json!(new_roots));
    }
    let context = brought_about(&run.id, run.trigger.user_id.as_ref(), &behest, now);
    let context = TransitionContext { initiator: initiator.or(context.initiator), ..context };
    let cancellation = (status == RunStatus::Cancelled).then(|| Cancellation {
        initiator: context.initiator.unwrap_or(Initiator::System),
        user_id: behest.by.clone(),
        reason: why.clone(),
        cancelled_at: now,
    });
    Run {
        status,
        result,
        error: if status == RunStatus::Failed { why.or_else(|| run.error.clone()) } else { None },
        cancellation,
        last_transition: Some(context),
        last_heartbeat_at: Some(now),
        updated_at: now,
        completed_at: Some(now),
        duration_ms: u64::try_from(now.duration_since(run.created_at).as_millis()).ok(),
        ..run.clone()
    }
}
