//! What comes in for a run, and what whoever sent it is told.

use jiff::Timestamp;
use merge_train_core::workflow::{
    self, Effect, Event, Input, Request, RunCreation, RunErrorCode, RunRequestRefusal, RunState,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{Entry, Outcome};

/// What the inbox keeps of a request about a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredRunRequest {
    Create(Box<RunCreation>),
    Ask(Request),
}

pub struct RunRequestAnswer {
    pub events: Vec<Event>,
    pub effects: Vec<Effect>,
    pub outcome: Outcome,
}

/// Decides on an entry. What cannot be done is an answer, too.
pub fn answer(state: Option<&RunState>, entry: &Entry, now: Timestamp) -> RunRequestAnswer {
    let nothing = |outcome: Outcome| RunRequestAnswer { events: Vec::new(), effects: Vec::new(), outcome };
    let order = match serde_json::from_slice::<StoredRunRequest>(&entry.body) {
        Ok(order) => order,
        Err(error) => return nothing(Outcome::Failed { error: format!("it cannot be read: {error}") }),
    };
    match (state, order) {
        (None, StoredRunRequest::Create(created)) => {
            let state = RunState::new(created.clone(), now);
            let plan = workflow::begin(&state, now);
            let mut events = vec![Event::RunCreated(created)];
            events.extend(plan.events);
            RunRequestAnswer { outcome: told(&state), events, effects: plan.effects }
        }
        // It was created before, by the same request.
        (Some(state), StoredRunRequest::Create(created)) if state.created == created => nothing(told(state)),
        // The inbox has forgotten the request, but not the run: it is neither this one nor begun twice.
        (Some(state), StoredRunRequest::Create(_)) => nothing(Outcome::Completed {
            response: json!({ "refused": StoredRefusal::expired(state) }),
            run_id: Some(state.created.run.clone()),
        }),
        (None, StoredRunRequest::Ask(_)) => nothing(Outcome::Failed { error: "there is no such run".to_owned() }),
        (Some(state), StoredRunRequest::Ask(_)) if state.created.tenant != entry.tenant => {
            nothing(Outcome::Failed { error: "there is no such run".to_owned() })
        }
        (Some(state), StoredRunRequest::Ask(request)) => {
            let input = Input::Asked(request);
            match workflow::decide(state, &input, now) {
                Ok(plan) => RunRequestAnswer { events: plan.events, effects: plan.effects, outcome: told(state) },
                Err(refusal) => nothing(Outcome::Completed {
                    response: json!({ "refused": StoredRefusal::of(&refusal) }),
                    run_id: Some(state.created.run.clone()),
                }),
            }
        }
    }
}

fn told(state: &RunState) -> Outcome {
    let run = state.created.run.clone();
    Outcome::Completed { response: json!({ "runId": run }), run_id: Some(run) }
}

/// A refusal, as it is remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredRefusal {
    pub code: String,
    pub detail: String,
}

impl StoredRefusal {
    fn expired(state: &RunState) -> Self {
        let (run, at) = (&state.created.run, state.created_at);
        let detail = format!(
            "the key was already used for another request, which started {run} at {at}. That answer is no longer \
             stored; send this request with a new key"
        );
        Self { code: RunErrorCode::IdempotencyExpired.as_str().to_owned(), detail }
    }

    fn of(refusal: &RunRequestRefusal) -> Self {
        let code = match (refusal, refusal.code()) {
            (_, Some(code)) => code.as_str(),
            (RunRequestRefusal::NotEntitled { .. }, None) => "FORBIDDEN",
            (_, None) => "CONFLICT",
        };
        Self { code: code.to_owned(), detail: refusal.to_string() }
    }
}
