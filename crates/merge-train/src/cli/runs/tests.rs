//! Runs to tell of, made by what decides about runs.

mod lists;

use jiff::Timestamp;
use merge_train_core::ids::{PrNumber, RepoId, RunId, TenantId};
use merge_train_core::workflow::{
    self, ApprovalNeed, CommandOutput, Decision, Effect, Event, Gate, Initiator, Input, OnExpiry, Plan, Program,
    Request, RetryPolicy, Run, RunCreation, RunState, Signal, SignalWait, StepKind, StepPlan, Trigger, TriggerSource,
    Workflow,
};
use serde_json::{Value, json};

use super::detail::RunDetail;

pub fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

pub fn now() -> Timestamp {
    at("2026-11-15T12:00:00Z")
}

/// Compares with what was told when somebody last looked at it.
pub fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

pub fn agent(id: &str) -> StepPlan {
    let program = Program { command: vec![format!("/opt/agents/{id}.sh")], timeout_ms: 60_000 };
    StepPlan {
        id: id.to_owned(),
        kind: StepKind::Agent(program),
        resumable: true,
        idempotent: false,
        retry: RetryPolicy { times: 1, backoff_ms: 300_000 },
        compensate: Some(Program { command: vec!["/opt/agents/undo.sh".to_owned()], timeout_ms: 1_000 }),
    }
}

fn plain(id: &str, kind: StepKind) -> StepPlan {
    StepPlan { kind, retry: RetryPolicy::default(), compensate: None, ..agent(id) }
}

pub fn gate(id: &str, by: &[&str], need: ApprovalNeed) -> StepPlan {
    let by = by.iter().map(|name| (*name).to_owned()).collect();
    plain(id, StepKind::Approval(Gate { by, need, timeout_ms: Some(7_200_000), on_expiry: OnExpiry::Cancel }))
}

pub fn wait(id: &str) -> StepPlan {
    let (event, correlation) = ("landed".to_owned(), Some("{inputs.pr}".to_owned()));
    plain(id, StepKind::Wait(SignalWait { event, correlation, timeout_ms: 7_200_000 }))
}

/// A run whose commands are in the hands of the test, begun at eleven.
pub struct Trial {
    pub run_state: RunState,
    log: Vec<(Event, Timestamp)>,
    under_way: Option<Effect>,
}

impl Trial {
    pub fn of(steps: Vec<StepPlan>) -> Self {
        let workflow = Workflow {
            name: "deploy".to_owned(),
            description: String::new(),
            on: Vec::new(),
            inputs: serde_json::Map::new(),
            steps,
        };
        let created = Box::new(RunCreation {
            run: RunId::parse("run-5d41402abc4b2a76b9719d91").expect("an id"),
            tenant: TenantId::parse("octocat").expect("a tenant"),
            workflow,
            inputs: json!({ "pr": 12, "note": "it's urgent" }).as_object().cloned().expect("an object"),
            repo: Some(RepoId::new("octocat", "hello").expect("a repository")),
            pr: Some(PrNumber::new(12)),
            pr_url: Some("https://github.com/octocat/hello/pull/12".to_owned()),
            trigger: Trigger {
                source: TriggerSource::Cli,
                user_id: Some("api:ops".to_owned()),
                webhook_event_id: None,
            },
            idempotency_key: None,
        });
        let begun = at("2026-11-15T11:00:00Z");
        let run_state = RunState::new(created.clone(), begun);
        let mut trial = Self { run_state, log: vec![(Event::RunCreated(created), begun)], under_way: None };
        let plan = workflow::begin(&trial.run_state, begun);
        trial.take(plan, begun);
        trial
    }

    fn take(&mut self, plan: Plan, at: Timestamp) {
        for event in plan.events {
            self.run_state.apply(&event, at);
            self.log.push((event, at));
        }
        self.under_way = plan.effects.into_iter().last().or(self.under_way.take());
    }

    pub fn feed(mut self, time: &str, input: &Input) -> Self {
        let at = at(&format!("2026-11-15T{time}Z"));
        let plan = workflow::decide(&self.run_state, input, at).expect("it is allowed");
        self.take(plan, at);
        self
    }

    /// The command that is under way ends.
    pub fn ends(mut self, time: &str, result: Result<Value, &str>) -> Self {
        let input = match self.under_way.take().expect("something is under way") {
            Effect::Agent { step, attempt, .. } => {
                let result = result.map(|value| CommandOutput { value, tokens_used: None }).map_err(str::to_owned);
                Input::StepEnded { step, attempt, result }
            }
            Effect::Compensate { step, .. } => {
                Input::CompensationEnded { step, result: result.map(drop).map_err(str::to_owned) }
            }
            Effect::Stop => {
                let (step, attempt) = (self.run_state.position, self.run_state.steps[self.run_state.position].attempts);
                Input::StepEnded { step, attempt, result: Err("it was stopped".to_owned()) }
            }
        };
        self.feed(time, &input)
    }

    pub fn asked(self, time: &str, request: Request) -> Self {
        self.feed(time, &Input::Asked(request))
    }

    pub fn decides(self, time: &str, by: &str, decision: Decision, reason: Option<&str>) -> Self {
        let (by, reason) = (by.to_owned(), reason.map(str::to_owned));
        self.asked(time, Request::Decide { by, decision, reason, step: None })
    }

    pub fn cancelled(self, time: &str) -> Self {
        let (by, reason) = (Some("api:ops".to_owned()), Some("enough".to_owned()));
        self.asked(time, Request::Cancel { initiator: Initiator::User, by, reason })
    }

    pub fn hears(self, time: &str) -> Self {
        let (event, correlation) = ("landed".to_owned(), Some("12".to_owned()));
        let source = Some("github".to_owned());
        self.asked(time, Request::Signal(Signal { event, correlation, source, event_id: None, payload: Value::Null }))
    }

    pub fn document(&self) -> Run {
        self.run_state.document()
    }

    /// As `runs show` gets it: only steps that have begun have a document.
    pub fn detail(&self) -> RunDetail {
        let begun = (0..self.run_state.steps.len()).filter(|step| self.run_state.steps[*step].attempts > 0);
        let steps = begun.filter_map(|step| self.run_state.step_document(step)).collect();
        RunDetail { run: self.document(), steps, run_state: Some(self.run_state.clone()) }
    }

    /// As the API tells them.
    pub fn events(&self) -> Vec<Value> {
        let shown = |(index, (event, at)): (usize, &(Event, Timestamp))| {
            let mut shown = json!({ "seq": index + 1, "ts": at });
            let data = serde_json::to_value(event).expect("an event is JSON");
            shown.as_object_mut().expect("an object").extend(data.as_object().cloned().expect("an object"));
            shown
        };
        self.log.iter().enumerate().map(shown).collect()
    }
}

/// A run that is a train, in this state.
pub fn train(status: &str, more: Value) -> Run {
    let mut run = json!({
        "id": "train-7d793037a0760186574b0282", "schemaVersion": 1, "tenantId": "octocat", "repoId": "octocat/hello",
        "prId": "12", "prUrl": "", "type": "train", "status": status, "currentStep": "pr-13",
        "trigger": { "source": "webhook" }, "createdAt": "2026-11-15T10:30:00Z", "updatedAt": "2026-11-15T11:48:00Z",
        "result": { "phase": "idle", "landed": [12] },
    });
    run.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    serde_json::from_value(run).expect("a run")
}
