//! What an input means for a run, and what the run does next.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::{ApprovalNeed, Gate, OnExpiry, Program, StepKind, fill};
use super::document::{Decision, Initiator, StepStatus, TokensUsed, TransitionContext};
use super::event::{Event, RunError, Signal};
use super::state::{RunState, StepState};
use super::status::{IllegalTransition, RunErrorCode, RunStatus};

/// Why a command ended of which nothing more was heard.
const PROCESS_ENDED: &str = "the process that ran it stopped";

/// What comes to a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Somebody takes the run up who did not begin it, or who forgot.
    Resume {
        /// Nobody has been at work on it for too long.
        is_orphan: bool,
    },
    /// A step's command ended.
    StepEnded {
        step: usize,
        attempt: u32,
        result: Result<CommandOutput, String>,
    },
    CompensationEnded {
        step: usize,
        result: Result<(), String>,
    },
    Asked(Request),
    /// Time has passed.
    Tick,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Decide {
        by: String,
        decision: Decision,
        reason: Option<String>,
        /// The gate that is meant, by the id of its step. None: whichever the run stands at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<String>,
    },
    Signal(Signal),
    Cancel {
        initiator: Initiator,
        by: Option<String>,
        reason: Option<String>,
    },
    /// To go on: past a gate, without what is waited for, or at once instead of after a pause.
    Resume {
        by: String,
        reason: Option<String>,
    },
}

/// What a command left.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOutput {
    pub value: Value,
    pub tokens_used: Option<TokensUsed>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The command of a step, with what it reads.
    Agent { step: usize, attempt: u32, program: Program, input: Value },
    /// The command that undoes a step.
    Compensate { step: usize, program: Program, input: Value },
    /// Ends the command that is under way, and all that it started.
    Stop,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
}

/// Why something is not done that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunRequestRefusal {
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    #[error("{by} may not decide this; these may: {}", named(.entitled))]
    NotEntitled { by: String, entitled: Vec<String> },
    #[error("{by} has already decided")]
    DecidedAlready { by: String },
    #[error("the run is already being cancelled")]
    CancelledAlready,
    #[error("the run no longer waits for {meant:?}, but for {stands_at:?}")]
    AnotherGate { meant: String, stands_at: String },
}

impl RunRequestRefusal {
    /// Where the specification has a code for it.
    pub fn code(&self) -> Option<RunErrorCode> {
        match self {
            Self::Illegal(illegal) => Some(illegal.code()),
            Self::NotEntitled { .. }
            | Self::DecidedAlready { .. }
            | Self::CancelledAlready
            | Self::AnotherGate { .. } => None,
        }
    }
}

fn named(people: &[String]) -> String {
    people.join(", ")
}

/// Decides what to record and what to do.
pub fn decide(state: &RunState, input: &Input, now: Timestamp) -> Result<Plan, RunRequestRefusal> {
    let mut draft = RunTransaction { state: state.clone(), plan: Plan::default(), now };
    // What is over is over before anybody says anything else.
    draft.expire();
    match input {
        Input::Resume { is_orphan } => draft.resume(*is_orphan),
        Input::StepEnded { step, attempt, result } => draft.step_ended(*step, *attempt, result),
        Input::CompensationEnded { step, result } => draft.compensated(*step, result),
        Input::Asked(request) => draft.asked(request)?,
        Input::Tick => {}
    }
    draft.advance();
    Ok(draft.plan)
}

/// What a run that was just created does at once.
pub fn begin(state: &RunState, now: Timestamp) -> Plan {
    let mut draft = RunTransaction { state: state.clone(), plan: Plan::default(), now };
    draft.advance();
    draft.plan
}

/// When a run must be looked at although nothing comes in. None: it can wait for what comes in.
pub fn next_wake(state: &RunState) -> Option<Timestamp> {
    let step = state.steps.get(state.position);
    let retry_at = step.and_then(|step| step.retry_at).filter(|_| state.status == RunStatus::Running);
    retry_at.into_iter().chain(state.expires_at).min()
}

/// Whether somebody has to be at it, even if nothing comes in.
pub fn needs_a_worker(state: &RunState) -> bool {
    let is_waiting = state.status.can_resume() && state.cancellation.is_none();
    !state.status.is_terminal() && !is_waiting
}

struct RunTransaction {
    state: RunState,
    plan: Plan,
    now: Timestamp,
}

impl RunTransaction {
    fn record(&mut self, event: Event) {
        self.state.apply(&event, self.now);
        self.plan.events.push(event);
    }

    fn effect(&mut self, effect: Effect) {
        self.plan.effects.push(effect);
    }

    fn transition(&mut self, to: RunStatus, initiator: Initiator, by: Option<String>, error: Option<RunError>) {
        let from = self.state.status;
        debug_assert_eq!(from.check(to), Ok(()), "what the run does itself is allowed");
        if matches!(to, RunStatus::Failed | RunStatus::Cancelled) {
            let why = error.as_ref().map_or("the run was cancelled", |error| &error.message);
            self.cut_off(why.to_owned());
        }
        let context = TransitionContext {
            run_id: Some(self.state.created.run.clone()),
            user_id: by,
            initiator: Some(initiator),
            timestamp: Some(self.now),
            metadata: self.state.awaited(),
            approval: self.state.approval(),
            external_event: self.state.external_event(),
        };
        self.record(Event::RunTransition { from, to, context: Box::new(context), error });
    }

    /// The step that a run stands at ends with it.
    fn cut_off(&mut self, error: String) {
        let step = self.state.position;
        if self.state.steps.get(step).is_some_and(|step| step.status == StepStatus::Running) {
            self.record(Event::StepFailed { step, error, retry_at: None });
        }
    }

    fn fail(&mut self, initiator: Initiator, code: Option<RunErrorCode>, message: String) {
        self.transition(RunStatus::Failed, initiator, None, Some(RunError { code, message }));
    }

    /// Goes on as far as it can by itself.
    fn advance(&mut self) {
        // Each turn makes the run go on by at least a step, or stands.
        while !self.state.status.is_terminal() && self.turn() {}
    }

    /// Whether anything was done.
    fn turn(&mut self) -> bool {
        if self.state.cancellation.is_some() {
            return self.wind_up();
        }
        match self.state.status {
            RunStatus::Pending => {
                self.transition(RunStatus::Running, Initiator::System, None, None);
                true
            }
            RunStatus::Running => self.go_on(),
            RunStatus::AwaitingApproval => self.judge(),
            RunStatus::WaitingExternal => self.hear(),
            RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => false,
        }
    }

    fn go_on(&mut self) -> bool {
        let position = self.state.position;
        let Some((plan, step)) = self.state.plan(position).cloned().zip(self.state.steps.get(position)) else {
            self.transition(RunStatus::Completed, Initiator::System, None, None);
            return true;
        };
        match step.status {
            StepStatus::Pending => {}
            // It will be heard of.
            StepStatus::Running => return false,
            StepStatus::Failed if step.retry_at.is_some_and(|at| at > self.now) => return false,
            StepStatus::Failed if step.retry_at.is_none() => {
                let why = step.error.clone().unwrap_or_default();
                self.fail(Initiator::System, None, format!("step {:?} failed: {why}", plan.id));
                return true;
            }
            StepStatus::Failed => {}
            StepStatus::Completed | StepStatus::Skipped => unreachable!("the position is behind what is done"),
        }
        let attempt = step.attempts + 1;
        match plan.kind {
            StepKind::Agent(program) => {
                let input = self.input(&plan.id, attempt);
                self.record(Event::StepStarted { step: position, attempt, input: input.clone() });
                self.effect(Effect::Agent { step: position, attempt, program, input });
                false
            }
            StepKind::Approval(gate) => {
                let expires_at = gate.timeout_ms.map(|timeout| later(self.now, timeout));
                self.record(Event::ApprovalRequested { step: position, expires_at });
                self.transition(RunStatus::AwaitingApproval, Initiator::Policy, None, None);
                true
            }
            StepKind::Wait(wait) => {
                let correlation = wait.correlation.as_deref().map(|template| fill(template, &self.state.known()));
                match correlation.transpose() {
                    Ok(correlation) => {
                        let expires_at = later(self.now, wait.timeout_ms);
                        self.record(Event::WaitBegan { step: position, correlation, expires_at });
                        self.transition(RunStatus::WaitingExternal, Initiator::System, None, None);
                    }
                    Err(why) => self.record(Event::StepFailed { step: position, error: why, retry_at: None }),
                }
                true
            }
        }
    }

    /// What a command reads.
    fn input(&self, step: &str, attempt: u32) -> Value {
        let created = &self.state.created;
        let mut input = self.state.known();
        input["run"] = json!({
            "id": created.run,
            "workflow": created.workflow.name,
            "repo": created.repo,
            "pr": created.pr,
            "prUrl": created.pr_url,
            "trigger": created.trigger,
        });
        input["step"] = json!({ "id": step, "attempt": attempt });
        input
    }

    /// Whether those who were asked have decided.
    fn judge(&mut self) -> bool {
        let Some(gate) = self.gate() else { return false };
        let said = &self.state.decisions;
        if let Some(no) = said.iter().find(|said| said.decision == Decision::Rejected).cloned() {
            let reason = no.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let error = RunError { code: None, message: format!("rejected by {}{reason}", no.by) };
            self.transition(RunStatus::Failed, Initiator::Approval, Some(no.by), Some(error));
            return true;
        }
        let has_said_yes = |name: &String| said.iter().any(|said| is_named(name, &said.by));
        let is_enough = match gate.need {
            ApprovalNeed::Any => !said.is_empty(),
            ApprovalNeed::All => gate.by.iter().all(has_said_yes),
        };
        if is_enough {
            let by = said.last().map(|said| said.by.clone());
            self.pass_gate(Initiator::Approval, by);
        }
        is_enough
    }

    fn pass_gate(&mut self, initiator: Initiator, by: Option<String>) {
        let said =
            self.state.decisions.iter().map(|said| json!({ "by": said.by, "at": said.at, "reason": said.reason }));
        let output = json!({ "approved": true, "decisions": said.collect::<Vec<_>>() });
        self.transition(RunStatus::Running, initiator, by, None);
        self.record(Event::StepCompleted { step: self.state.position, output, tokens_used: None });
    }

    /// Whether what is waited for has come.
    fn hear(&mut self) -> bool {
        let Some(signal) = self.state.matching().cloned() else { return false };
        self.transition(RunStatus::Running, Initiator::Webhook, None, None);
        let output = json!({ "event": signal.event, "eventId": signal.event_id, "payload": signal.payload });
        self.record(Event::StepCompleted { step: self.state.position, output, tokens_used: None });
        true
    }

    fn gate(&self) -> Option<Gate> {
        match &self.state.plan(self.state.position)?.kind {
            StepKind::Approval(gate) => Some(gate.clone()),
            StepKind::Agent(_) | StepKind::Wait(_) => None,
        }
    }

    /// What was not decided, or has not come, in time.
    fn expire(&mut self) {
        let is_over = self.state.expires_at.is_some_and(|at| at <= self.now) && self.state.cancellation.is_none();
        if !is_over {
            return;
        }
        match (self.state.status, self.gate()) {
            (RunStatus::AwaitingApproval, Some(gate)) => match gate.on_expiry {
                OnExpiry::Approve => self.pass_gate(Initiator::Timeout, None),
                OnExpiry::Fail => self.fail(Initiator::Timeout, None, "nobody decided in time".to_owned()),
                OnExpiry::Cancel => self.record(Event::CancelRequested {
                    initiator: Initiator::Timeout,
                    by: None,
                    reason: Some("nobody decided in time".to_owned()),
                }),
            },
            (RunStatus::WaitingExternal, _) if self.state.matching().is_none() => {
                let awaited = self.state.external_event().map(|event| event.event_type).unwrap_or_default();
                self.fail(Initiator::Timeout, None, format!("{awaited} did not come in time"));
            }
            (RunStatus::AwaitingApproval, None) | (RunStatus::WaitingExternal, _) => {}
            (
                RunStatus::Pending
                | RunStatus::Running
                | RunStatus::Completed
                | RunStatus::Failed
                | RunStatus::Cancelled,
                _,
            ) => {}
        }
    }

    fn step_ended(&mut self, step: usize, attempt: u32, result: &Result<CommandOutput, String>) {
        let is_it = |state: &&StepState| state.status == StepStatus::Running && state.attempts == attempt;
        if self.state.position != step || self.state.steps.get(step).filter(is_it).is_none() {
            return;
        }
        let is_cancelled = self.state.cancellation.is_some();
        match result {
            Ok(CommandOutput { value, tokens_used }) => {
                self.record(Event::StepCompleted { step, output: value.clone(), tokens_used: *tokens_used });
            }
            Err(error) => {
                let wait = self.state.plan(step).and_then(|plan| plan.retry.wait_ms(attempt));
                let retry_at = wait.filter(|_| !is_cancelled).map(|wait| later(self.now, wait));
                self.record(Event::StepFailed { step, error: error.clone(), retry_at });
            }
        }
    }

    fn compensated(&mut self, step: usize, result: &Result<(), String>) {
        if self.state.undoing == Some(step) {
            self.record(Event::CompensationEnded { step, error: result.clone().err() });
        }
    }

    fn asked(&mut self, request: &Request) -> Result<(), RunRequestRefusal> {
        let status = self.state.status;
        match request {
            Request::Decide { by, decision, reason, step } => {
                if status != RunStatus::AwaitingApproval || self.state.cancellation.is_some() {
                    // What an approval makes of a run follows from nowhere else.
                    let to = if *decision == Decision::Approved { RunStatus::Running } else { RunStatus::Failed };
                    status.check(to)?;
                    return Err(IllegalTransition::InvalidTransition { from: status, to }.into());
                }
                let stands_at = self.state.plan(self.state.position).map(|plan| plan.id.clone()).unwrap_or_default();
                if let Some(meant) = step.clone().filter(|meant| *meant != stands_at) {
                    return Err(RunRequestRefusal::AnotherGate { meant, stands_at });
                }
                let entitled = self.gate().map(|gate| gate.by).unwrap_or_default();
                if !entitled.is_empty() && !entitled.iter().any(|name| is_named(name, by)) {
                    return Err(RunRequestRefusal::NotEntitled { by: by.clone(), entitled });
                }
                if self.state.decisions.iter().any(|said| said.by == *by) {
                    return Err(RunRequestRefusal::DecidedAlready { by: by.clone() });
                }
                let (by, reason) = (by.clone(), reason.clone());
                self.record(Event::ApprovalDecided { step: self.state.position, by, decision: *decision, reason });
            }
            Request::Signal(signal) => {
                if status.is_terminal() {
                    return Err(IllegalTransition::TerminalState { status }.into());
                }
                self.record(Event::SignalReceived { signal: signal.clone() });
            }
            Request::Resume { by, reason } => self.go_on_at_once(by, reason.as_ref())?,
            Request::Cancel { initiator, by, reason } => {
                status.check(RunStatus::Cancelled)?;
                if self.state.cancellation.is_some() {
                    return Err(RunRequestRefusal::CancelledAlready);
                }
                let (by, reason) = (by.clone(), reason.clone());
                self.record(Event::CancelRequested { initiator: *initiator, by, reason });
                if self.is_under_way() {
                    self.effect(Effect::Stop);
                }
            }
        }
        Ok(())
    }

    fn go_on_at_once(&mut self, by: &str, reason: Option<&String>) -> Result<(), RunRequestRefusal> {
        let status = self.state.status;
        match status {
            RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => {
                Err(IllegalTransition::TerminalState { status }.into())
            }
            _ if self.state.cancellation.is_some() => {
                Err(IllegalTransition::InvalidTransition { from: status, to: RunStatus::Running }.into())
            }
            RunStatus::AwaitingApproval => {
                let (by, reason) = (by.to_owned(), reason.cloned());
                self.asked(&Request::Decide { by, decision: Decision::Approved, reason, step: None })
            }
            RunStatus::WaitingExternal => {
                self.transition(RunStatus::Running, Initiator::User, Some(by.to_owned()), None);
                let output = json!({ "event": null, "resumedBy": by, "reason": reason });
                self.record(Event::StepCompleted { step: self.state.position, output, tokens_used: None });
                Ok(())
            }
            RunStatus::Pending | RunStatus::Running => {
                let step = self.state.position;
                let pauses = |step: &StepState| step.status == StepStatus::Failed && step.retry_at.is_some();
                if !self.state.steps.get(step).is_some_and(pauses) {
                    return Err(IllegalTransition::InvalidTransition { from: status, to: RunStatus::Running }.into());
                }
                self.record(Event::StepReplayed { step });
                Ok(())
            }
        }
    }

    /// Whether a command runs, or ran when the process ended.
    fn is_under_way(&self) -> bool {
        let position = self.state.position;
        let is_agent = self.state.plan(position).is_some_and(|plan| matches!(plan.kind, StepKind::Agent(_)));
        is_agent && self.state.steps.get(position).is_some_and(|step| step.status == StepStatus::Running)
    }

    /// Undoes what was begun, the last first, and ends.
    fn wind_up(&mut self) -> bool {
        if self.is_under_way() || self.state.undoing.is_some() {
            return false;
        }
        let begun = (0..self.state.steps.len()).rev().filter(|index| self.state.steps[*index].attempts > 0);
        let is_left = |index: &usize| !self.state.undone.contains(index);
        let next = begun.filter(is_left).find_map(|index| Some((index, self.state.plan(index)?.compensate.clone()?)));
        match next {
            Some((step, program)) => {
                self.record(Event::CompensationStarted { step });
                self.compensate(step, program);
                false
            }
            None => {
                let (initiator, by) = match &self.state.cancellation {
                    Some(cancellation) => (cancellation.initiator, cancellation.user_id.clone()),
                    None => (Initiator::System, None),
                };
                self.transition(RunStatus::Cancelled, initiator, by, None);
                true
            }
        }
    }

    fn compensate(&mut self, step: usize, program: Program) {
        let id = self.state.plan(step).map(|plan| plan.id.clone()).unwrap_or_default();
        let mut input = self.input(&id, self.state.steps[step].attempts);
        input["input"] = self.state.steps[step].input.clone();
        input["output"] = self.state.steps[step].output.clone().unwrap_or_default();
        self.effect(Effect::Compensate { step, program, input });
    }

    /// Goes on from the last checkpoint. What was under way died with the process that began it.
    fn resume(&mut self, is_orphan: bool) {
        if let Some(step) = self.state.undoing {
            if let Some(program) = self.state.plan(step).and_then(|plan| plan.compensate.clone()) {
                self.compensate(step, program);
            }
            return;
        }
        if self.state.status != RunStatus::Running {
            return;
        }
        let position = self.state.position;
        if self.is_under_way() {
            if self.state.cancellation.is_some() {
                return self.cut_off(PROCESS_ENDED.to_owned());
            }
            return self.take_up(position, "was running", is_orphan);
        }
        let is_between = self.state.steps.get(position).is_none_or(|step| step.status == StepStatus::Pending);
        if let Some(last) = position.checked_sub(1).filter(|_| is_between && self.state.cancellation.is_none()) {
            self.take_up(last, "was the last completed step", is_orphan);
        }
    }

    /// The specification's decision tree. Nothing is skipped that has left no output, and nobody is asked twice.
    fn take_up(&mut self, index: usize, how: &str, is_orphan: bool) {
        let Some(plan) = self.state.plan(index).cloned() else { return };
        let is_done = self.state.steps[index].status == StepStatus::Completed;
        let can_skip = is_done && (plan.resumable || !matches!(plan.kind, StepKind::Agent(_)));
        if can_skip {
            self.record(Event::RunResumed { from: plan.id });
        } else if plan.idempotent {
            self.record(Event::RunResumed { from: plan.id });
            self.record(Event::StepReplayed { step: index });
        } else {
            let message = format!(
                "step {:?} {how} when the process stopped; it is neither resumable{} nor idempotent, so the run cannot \
                 continue",
                plan.id,
                if is_done { "" } else { " (it has left no output)" },
            );
            let code = if is_orphan { RunErrorCode::Orphaned } else { RunErrorCode::ResumeFailed };
            self.cut_off(PROCESS_ENDED.to_owned());
            self.fail(Initiator::System, Some(code), message);
        }
    }
}

/// Whether a name in the configuration means somebody: `octocat` means `github:octocat` and `api:octocat`.
pub fn is_named(name: &str, who: &str) -> bool {
    let bare = who.split_once(':').map_or(who, |(_, bare)| bare);
    name.eq_ignore_ascii_case(who) || name.eq_ignore_ascii_case(bare)
}

fn later(now: Timestamp, millis: u64) -> Timestamp {
    let wait = SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX));
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}
