//! What a run has come to, and the only place where that changes.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::definition::{StepKind, StepPlan};
use super::document::{
    Approval, Cancellation, Checkpoint, Compensation, Decision, ExternalEvent, Run, RunStep, StepStatus, TokensUsed,
    TransitionContext,
};
use super::event::{Event, RunCreation, RunError, Signal};
use super::status::RunStatus;

/// The form of the documents.
pub const SCHEMA_VERSION: u32 = 1;
/// How many events from outside are kept for steps that have not begun to wait for them; the oldest give way.
pub const MOST_SIGNALS: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    pub created: Box<RunCreation>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub status: RunStatus,
    /// The step that is next, or under way; the number of steps when all are done.
    pub position: usize,
    pub steps: Vec<StepState>,
    /// What people said at the gate that the run stands at.
    pub decisions: Vec<RecordedDecision>,
    /// When the gate closes, or the wait ends.
    pub expires_at: Option<Timestamp>,
    /// Which event the run waits for.
    pub correlation: Option<String>,
    /// What came before anybody waited for it.
    pub signals: Vec<Signal>,
    pub cancellation: Option<Cancellation>,
    pub compensations: Vec<Compensation>,
    /// The steps that were undone, or are being.
    pub undone: Vec<usize>,
    pub undoing: Option<usize>,
    pub resumed_from: Option<String>,
    pub resume_count: u32,
    pub last_transition: Option<TransitionContext>,
    pub error: Option<RunError>,
    pub completed_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedDecision {
    pub by: String,
    pub decision: Decision,
    pub reason: Option<String>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StepState {
    pub status: StepStatus,
    pub attempts: u32,
    pub input: Value,
    pub output: Option<Value>,
    pub error: Option<String>,
    pub retry_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub tokens_used: Option<TokensUsed>,
}

impl StepState {
    const NEW: Self = Self {
        status: StepStatus::Pending,
        attempts: 0,
        input: Value::Null,
        output: None,
        error: None,
        retry_at: None,
        started_at: None,
        completed_at: None,
        tokens_used: None,
    };

    fn ended(&mut self, status: StepStatus, at: Timestamp) {
        self.status = status;
        self.completed_at = Some(at);
    }

    fn duration_ms(&self) -> Option<u64> {
        Some(millis(self.completed_at?.duration_since(self.started_at?)))
    }
}

fn millis(duration: SignedDuration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or_default()
}

impl RunState {
    pub fn new(created: Box<RunCreation>, at: Timestamp) -> Self {
        Self {
            steps: vec![StepState::NEW; created.workflow.steps.len()],
            created,
            created_at: at,
            updated_at: at,
            status: RunStatus::Pending,
            position: 0,
            decisions: Vec::new(),
            expires_at: None,
            correlation: None,
            signals: Vec::new(),
            cancellation: None,
            compensations: Vec::new(),
            undone: Vec::new(),
            undoing: None,
            resumed_from: None,
            resume_count: 0,
            last_transition: None,
            error: None,
            completed_at: None,
        }
    }

    pub fn plan(&self, step: usize) -> Option<&StepPlan> {
        self.created.workflow.steps.get(step)
    }

    /// What steps can refer to, and agents are told.
    pub fn known(&self) -> Value {
        let outputs: Map<String, Value> = (self.created.workflow.steps.iter().zip(&self.steps))
            .filter_map(|(plan, step)| Some((plan.id.clone(), step.output.clone()?)))
            .collect();
        json!({ "inputs": self.created.inputs, "steps": outputs })
    }

    /// Folds one event in. A stream begins with `RunCreated`.
    pub fn replay<'a>(events: impl IntoIterator<Item = (&'a Event, Timestamp)>) -> Option<Self> {
        let mut state = None;
        for (event, at) in events {
            match (&mut state, event) {
                (None, Event::RunCreated(created)) => state = Some(Self::new(created.clone(), at)),
                (None, _) => return None,
                (Some(state), event) => state.apply(event, at),
            }
        }
        state
    }

    pub fn apply(&mut self, event: &Event, at: Timestamp) {
        self.updated_at = at;
        match event {
            Event::RunCreated(_) => {}
            Event::RunTransition { to, context, error, .. } => self.transition(*to, context, error.clone(), at),
            Event::StepStarted { step, input, .. } => {
                self.begin(*step, at);
                let Some(step) = self.steps.get_mut(*step) else { return };
                step.input = input.clone();
                (step.retry_at, step.completed_at) = (None, None);
            }
            Event::StepCompleted { step, output, tokens_used } => self.completed(*step, output, *tokens_used, at),
            Event::StepFailed { step, error, retry_at } => {
                let Some(step) = self.steps.get_mut(*step) else { return };
                step.error = Some(error.clone());
                step.retry_at = *retry_at;
                step.ended(StepStatus::Failed, at);
            }
            Event::StepReplayed { step: index } => {
                let Some(step) = self.steps.get_mut(*index) else { return };
                step.status = StepStatus::Pending;
                self.position = *index;
            }
            Event::RunResumed { from } => {
                self.resumed_from = Some(from.clone());
                self.resume_count += 1;
            }
            Event::ApprovalRequested { step, expires_at } => {
                self.begin(*step, at);
                self.expires_at = *expires_at;
                self.decisions.clear();
            }
            Event::ApprovalDecided { by, decision, reason, .. } => {
                let (by, reason) = (by.clone(), reason.clone());
                self.decisions.push(RecordedDecision { by, decision: *decision, reason, at });
            }
            Event::WaitBegan { step, correlation, expires_at } => {
                self.begin(*step, at);
                self.expires_at = Some(*expires_at);
                self.correlation = correlation.clone();
            }
            Event::SignalReceived { signal } => {
                if self.signals.len() == MOST_SIGNALS {
                    self.signals.remove(0);
                }
                self.signals.push(signal.clone());
            }
            Event::CancelRequested { initiator, by, reason } => {
                self.cancellation = Some(Cancellation {
                    initiator: *initiator,
                    user_id: by.clone(),
                    reason: reason.clone(),
                    cancelled_at: at,
                });
            }
            Event::CompensationStarted { step } => {
                self.undoing = Some(*step);
                self.undone.push(*step);
            }
            Event::CompensationEnded { step, error } => {
                self.undoing = None;
                let action = self.plan(*step).map(|plan| plan.id.clone()).unwrap_or_default();
                self.compensations.push(Compensation { action, error: error.clone(), at });
            }
        }
    }

    fn transition(&mut self, to: RunStatus, context: &TransitionContext, error: Option<RunError>, at: Timestamp) {
        self.status = to;
        self.last_transition = Some(context.clone());
        self.error = error.or(self.error.take());
        if to.is_terminal() {
            self.completed_at = Some(at);
        }
        if !to.can_resume() {
            self.expires_at = None;
        }
    }

    fn begin(&mut self, step: usize, at: Timestamp) {
        if let Some(step) = self.steps.get_mut(step) {
            step.status = StepStatus::Running;
            step.attempts += 1;
            step.started_at = Some(at);
        }
    }

    fn completed(&mut self, index: usize, output: &Value, tokens_used: Option<TokensUsed>, at: Timestamp) {
        // What one step waited for is not there for the next.
        if let Some(came) = self.matching().and_then(|came| self.signals.iter().position(|it| it == came)) {
            self.signals.remove(came);
        }
        self.correlation = None;
        let Some(step) = self.steps.get_mut(index) else { return };
        step.output = Some(output.clone());
        step.tokens_used = tokens_used;
        step.error = None;
        step.ended(StepStatus::Completed, at);
        self.position = index + 1;
    }

    /// The run as it is stored and shown.
    pub fn document(&self) -> Run {
        let RunCreation { run, tenant, workflow, repo, pr, pr_url, trigger, idempotency_key, .. } = &*self.created;
        let current = self.plan(self.position).filter(|_| !self.status.is_terminal());
        let is_over = |at: Timestamp| millis(at.duration_since(self.created_at));
        Run {
            id: run.clone(),
            schema_version: SCHEMA_VERSION,
            tenant_id: tenant.clone(),
            repo_id: repo.as_ref().map(ToString::to_string).unwrap_or_default(),
            pr_id: pr.map(|pr| pr.to_string()).unwrap_or_default(),
            pr_url: pr_url.clone().unwrap_or_default(),
            kind: workflow.name.clone(),
            status: self.status,
            current_step: current.map(|plan| plan.id.clone()),
            trigger: trigger.clone(),
            idempotency_key: idempotency_key.clone(),
            a2a_correlation_id: None,
            last_heartbeat_at: Some(self.updated_at),
            result: self.result(),
            error: self.error.as_ref().map(|error| match error.code {
                Some(code) => format!("{code}: {}", error.message),
                None => error.message.clone(),
            }),
            cancellation: self.cancellation.clone(),
            compensation_log: self.compensations.clone(),
            last_transition: self.last_transition.clone(),
            resumed_from: self.resumed_from.clone(),
            resume_count: self.resume_count,
            created_at: self.created_at,
            updated_at: self.updated_at,
            completed_at: self.completed_at,
            duration_ms: self.completed_at.map(is_over),
        }
    }

    /// What the last step left, once all are done.
    fn result(&self) -> Option<Value> {
        let is_done = self.status == RunStatus::Completed;
        self.steps.last().and_then(|step| step.output.clone()).filter(|_| is_done)
    }

    /// A step as it is stored and shown.
    pub fn step_document(&self, index: usize) -> Option<RunStep> {
        let (plan, step) = (self.plan(index)?, self.steps.get(index)?);
        Some(RunStep {
            tenant_id: self.created.tenant.clone(),
            run_id: self.created.run.clone(),
            step_id: plan.id.clone(),
            position: u32::try_from(index).unwrap_or(u32::MAX),
            agent: plan.agent().to_owned(),
            status: step.status,
            input: Some(step.input.clone()).filter(|input| !input.is_null()),
            output: step.output.clone(),
            error: step.error.clone(),
            attempts: step.attempts,
            started_at: step.started_at,
            completed_at: step.completed_at,
            duration_ms: step.duration_ms(),
        })
    }

    /// The checkpoint that an event is, as it is stored and shown. The state is the one after the event.
    pub fn checkpoint(&self, event: &Event) -> Option<Checkpoint> {
        let (index, when) = match event {
            Event::StepStarted { step, .. } | Event::ApprovalRequested { step, .. } | Event::WaitBegan { step, .. } => {
                (*step, "begun")
            }
            Event::StepCompleted { step, .. } | Event::StepFailed { step, .. } => (*step, "ended"),
            Event::RunCreated(_)
            | Event::RunTransition { .. }
            | Event::StepReplayed { .. }
            | Event::RunResumed { .. }
            | Event::ApprovalDecided { .. }
            | Event::SignalReceived { .. }
            | Event::CancelRequested { .. }
            | Event::CompensationStarted { .. }
            | Event::CompensationEnded { .. } => return None,
        };
        let (plan, step) = (self.plan(index)?, self.steps.get(index)?);
        Some(Checkpoint {
            tenant_id: self.created.tenant.clone(),
            run_id: self.created.run.clone(),
            // In the order of their making, also where several were made at once.
            id: format!("{index:03}-{}-{:03}-{when}", plan.id, step.attempts),
            step_id: plan.id.clone(),
            agent: plan.agent().to_owned(),
            status: step.status,
            input: Some(step.input.clone()).filter(|input| !input.is_null()),
            output: step.output.clone(),
            error: step.error.clone(),
            timestamp: self.updated_at,
            resumable: plan.resumable,
            idempotent: plan.idempotent,
            tokens_used: step.tokens_used,
            duration_ms: step.duration_ms(),
        })
    }

    /// What is asked of people, and what they said, for the context of a transition.
    pub fn approval(&self) -> Option<Approval> {
        let plan = self.plan(self.position).filter(|plan| matches!(plan.kind, StepKind::Approval(_)))?;
        let last = self.decisions.last();
        Some(Approval {
            action: plan.id.clone(),
            requested_by: self.created.trigger.user_id.clone(),
            decision: last.map(|said| said.decision),
            decided_at: last.map(|said| said.at),
            decided_by: last.map(|said| said.by.clone()),
            reason: last.and_then(|said| said.reason.clone()),
        })
    }

    /// What is waited for, for the context of a transition.
    pub fn external_event(&self) -> Option<ExternalEvent> {
        let plan = self.plan(self.position)?;
        let StepKind::Wait(wait) = &plan.kind else { return None };
        let came = self.matching();
        Some(ExternalEvent {
            event_type: wait.event.clone(),
            source: came.and_then(|signal| signal.source.clone()),
            event_id: came.and_then(|signal| signal.event_id.clone()),
            expected_at: self.expires_at,
            timeout_ms: Some(wait.timeout_ms),
        })
    }

    /// Which of the events that a run waits for is meant.
    pub fn awaited(&self) -> Option<Map<String, Value>> {
        self.plan(self.position).filter(|plan| matches!(plan.kind, StepKind::Wait(_)))?;
        let correlation = self.correlation.clone()?;
        Some(Map::from_iter([("correlation".to_owned(), Value::String(correlation))]))
    }

    /// What came of that which the run waits for.
    pub fn matching(&self) -> Option<&Signal> {
        let StepKind::Wait(wait) = &self.plan(self.position)?.kind else { return None };
        let is_it = |signal: &&Signal| {
            signal.event == wait.event && (self.correlation.is_none() || signal.correlation == self.correlation)
        };
        self.signals.iter().find(is_it)
    }
}
