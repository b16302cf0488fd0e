//! Every table and every rule of the run specification that is decided here.

mod execution;
mod gates;
mod properties;
mod resume;
mod stored;
mod transitions;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::ids::{PrNumber, RepoId, RunId, TenantId};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn agent(id: &str) -> StepPlan {
    let program = Program { command: vec![format!("/opt/agents/{id}")], timeout_ms: 60_000 };
    StepPlan {
        id: id.to_owned(),
        kind: StepKind::Agent(program),
        resumable: true,
        idempotent: false,
        retry: RetryPolicy::default(),
        compensate: None,
    }
}

fn gate(id: &str, by: &[&str]) -> StepPlan {
    let by = by.iter().map(|name| (*name).to_owned()).collect();
    let gate = Gate { by, need: ApprovalNeed::Any, timeout_ms: Some(600_000), on_expiry: OnExpiry::Fail };
    StepPlan { kind: StepKind::Approval(gate), ..agent(id) }
}

fn wait(id: &str, event: &str, correlation: Option<&str>) -> StepPlan {
    let wait = SignalWait { event: event.to_owned(), correlation: correlation.map(str::to_owned), timeout_ms: 600_000 };
    StepPlan { kind: StepKind::Wait(wait), ..agent(id) }
}

fn undone_by(command: &str, step: StepPlan) -> StepPlan {
    StepPlan { compensate: Some(Program { command: vec![command.to_owned()], timeout_ms: 1_000 }), ..step }
}

/// A run whose commands are in the hands of the test.
struct Trial {
    state: RunState,
    log: Vec<(Event, Timestamp)>,
    under_way: Vec<Effect>,
    clock: i64,
}

impl Trial {
    fn of(steps: Vec<StepPlan>) -> Self {
        let workflow = Workflow {
            name: "trial".to_owned(),
            description: String::new(),
            on: Vec::new(),
            inputs: serde_json::Map::new(),
            steps,
        };
        assert_eq!(workflow.problems(), [] as [String; 0]);
        let created = RunCreation {
            run: RunId::parse("run-1").unwrap(),
            tenant: TenantId::parse("acme").unwrap(),
            workflow,
            inputs: json!({ "pr": 7 }).as_object().unwrap().clone(),
            repo: Some(RepoId::new("acme", "widgets").unwrap()),
            pr: Some(PrNumber::new(7)),
            pr_url: None,
            trigger: Trigger {
                source: TriggerSource::Api,
                user_id: Some("api:ops".to_owned()),
                webhook_event_id: None,
            },
            idempotency_key: None,
        };
        let created = Box::new(created);
        let state = RunState::new(created.clone(), at(0));
        let mut trial = Self { log: vec![(Event::RunCreated(created), at(0))], state, under_way: Vec::new(), clock: 0 };
        let plan = begin(&trial.state, at(0));
        trial.take(plan);
        trial
    }

    fn take(&mut self, plan: Plan) {
        for event in plan.events {
            self.state.apply(&event, at(self.clock));
            self.log.push((event, at(self.clock)));
        }
        for effect in plan.effects {
            match effect {
                Effect::Stop => assert!(!self.under_way.is_empty(), "there is something to stop"),
                effect => self.under_way.push(effect),
            }
        }
        assert!(self.under_way.len() <= 1, "one command at a time: {:?}", self.under_way);
        let replayed = RunState::replay(self.log.iter().map(|(event, at)| (event, *at)));
        assert_eq!(replayed.as_ref(), Some(&self.state), "the log tells all");
    }

    fn feed(&mut self, input: &Input) -> Result<(), RunRequestRefusal> {
        let plan = decide(&self.state, input, at(self.clock))?;
        self.take(plan);
        Ok(())
    }

    fn ask(&mut self, request: Request) -> Result<(), RunRequestRefusal> {
        self.feed(&Input::Asked(request))
    }

    fn approve(&mut self, by: &str) -> Result<(), RunRequestRefusal> {
        self.ask(Request::Decide { by: by.to_owned(), decision: Decision::Approved, reason: None, step: None })
    }

    fn cancel(&mut self) -> Result<(), RunRequestRefusal> {
        self.ask(Request::Cancel { initiator: Initiator::User, by: Some("api:ops".to_owned()), reason: None })
    }

    fn signal(&mut self, event: &str, correlation: Option<&str>) -> Result<(), RunRequestRefusal> {
        self.ask(Request::Signal(Signal {
            event: event.to_owned(),
            correlation: correlation.map(str::to_owned),
            source: Some("github".to_owned()),
            event_id: Some("delivery-1".to_owned()),
            payload: json!({ "seen": true }),
        }))
    }

    /// The command that is under way ends so.
    fn ends(&mut self, result: Result<Value, &str>) {
        let input = match self.under_way.remove(0) {
            Effect::Agent { step, attempt, .. } => {
                let result = result.map(|value| CommandOutput { value, tokens_used: None }).map_err(str::to_owned);
                Input::StepEnded { step, attempt, result }
            }
            Effect::Compensate { step, .. } => {
                Input::CompensationEnded { step, result: result.map(|_| ()).map_err(str::to_owned) }
            }
            Effect::Stop => unreachable!("it is not kept"),
        };
        self.feed(&input).unwrap();
    }

    fn done(&mut self) {
        let position = self.state.position;
        self.ends(Ok(json!({ "made_by": position })));
    }

    /// The process ends, and another takes the run up.
    fn crash(&mut self) {
        self.under_way.clear();
        self.clock += 400;
        self.feed(&Input::Resume { is_orphan: false }).unwrap();
    }

    fn passes(&mut self, seconds: i64) {
        self.clock += seconds;
        self.feed(&Input::Tick).unwrap();
    }

    /// The step whose command is under way.
    fn doing(&self) -> Option<&str> {
        let step = match self.under_way.first()? {
            Effect::Agent { step, .. } | Effect::Compensate { step, .. } => *step,
            Effect::Stop => return None,
        };
        self.state.plan(step).map(|plan| plan.id.as_str())
    }

    fn status(&self) -> RunStatus {
        self.state.status
    }

    fn error(&self) -> String {
        self.state.document().error.unwrap_or_default()
    }
}
