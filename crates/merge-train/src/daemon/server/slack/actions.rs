//! What somebody in Slack wants: whether they may, and where it is put so that it is not lost.

use merge_train_core::ids::{RunId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::TRAIN;
use merge_train_core::workflow::{Decision, Initiator, Request, Trigger, TriggerSource};
use serde_json::{Map, Value, json};
use store::{Admission, Arrival, Route};

use super::follow_up::{self, FollowUp};
use super::texts::{self, SlackMessage};
use crate::clock;
use crate::daemon::run_orders::{self, AcceptedOrder, OrderError, OrderOrigin};
use crate::daemon::server::App;

/// The member of a stored answer that has what Slack was told.
const ANSWER: &str = "slack";

/// What somebody wants, and who it is.
pub struct SlackRequest {
    pub tenant: TenantId,
    pub user: String,
    pub role: SlackRole,
    pub key: Key,
    pub hash: RequestHash,
    /// The name of the command, for hints.
    pub slash: String,
    pub action: SlackAction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlackRole {
    Operator,
    Viewer,
}

pub enum SlackAction {
    Run {
        workflow: String,
        inputs: Map<String, Value>,
    },
    List,
    Show(RunId),
    /// The gate is named where a button was made for it.
    Decide {
        run: RunId,
        gate: Option<String>,
        decision: Decision,
        reason: Option<String>,
    },
    Cancel {
        run: RunId,
        reason: Option<String>,
    },
}

/// What came of accepting a request.
pub enum SlackResponse {
    /// It is answered, and that is all.
    Answered(Value),
    /// It is answered as it was before.
    Repeated(Value),
    /// It is answered, and there will be more to tell.
    Begun(Value, FollowUp),
}

impl SlackRequest {
    /// As gates and runs name whoever wants it.
    pub fn actor(&self) -> String {
        format!("slack:{}", self.user)
    }

    fn origin(&self) -> OrderOrigin {
        OrderOrigin { source: Source::Slack, key: self.key.clone(), hash: self.hash.clone() }
    }

    /// Puts it where it is not lost, or says why not. What came before gets what it got then.
    pub async fn accept(&self, app: &App) -> Result<SlackResponse, OrderError> {
        if let Some(record) = app.store.record(&self.tenant, &self.key).await? {
            if record.request_hash != self.hash {
                return Err(OrderError::Conflict { key: self.key.clone() });
            }
            if let Some(answer) = record.response.as_ref().and_then(|response| response.get(ANSWER)) {
                return Ok(SlackResponse::Repeated(answer.clone()));
            }
            if let SlackAction::Decide { run, .. } | SlackAction::Cancel { run, .. } = &self.action {
                return Ok(SlackResponse::Repeated(texts::taken_in(run).json()));
            }
        }
        match &self.action {
            SlackAction::Run { workflow, inputs } => self.run(app, workflow, inputs).await,
            SlackAction::List => self.store_answer(app, texts::looking(), Some(FollowUp::List)).await,
            SlackAction::Show(run) => self.store_answer(app, texts::looking(), Some(FollowUp::Show(run.clone()))).await,
            SlackAction::Decide { run, gate, decision, reason } => {
                self.decide(app, run, gate.as_deref(), *decision, reason.clone()).await
            }
            SlackAction::Cancel { run, reason } => self.cancel(app, run, reason.clone()).await,
        }
    }

    async fn run(&self, app: &App, workflow: &str, inputs: &Map<String, Value>) -> Result<SlackResponse, OrderError> {
        if self.role == SlackRole::Viewer {
            return self.refuse(app, texts::for_operators(&self.user)).await;
        }
        let wanted = run_orders::NewRun {
            workflow: workflow.to_owned(),
            inputs: inputs.clone(),
            tenant: self.tenant.clone(),
            repo: None,
            pr: None,
            // Somebody typed it into a window, be it not ours.
            trigger: Trigger { source: TriggerSource::Ui, user_id: Some(self.actor()), webhook_event_id: None },
        };
        match app.orders.create(wanted, self.origin()).await {
            Ok(placed) if placed.is_repeated => {
                Ok(SlackResponse::Repeated(texts::started(&placed.run, workflow).json()))
            }
            Ok(placed) => {
                Ok(SlackResponse::Begun(texts::started(&placed.run, workflow).json(), FollowUp::Started(placed)))
            }
            Err(failed @ (OrderError::UnknownWorkflow { .. } | OrderError::Inputs { .. })) => {
                self.refuse(app, texts::refused(&failed.to_string())).await
            }
            Err(failed) => Err(failed),
        }
    }

    async fn decide(
        &self,
        app: &App,
        id: &RunId,
        meant: Option<&str>,
        decision: Decision,
        reason: Option<String>,
    ) -> Result<SlackResponse, OrderError> {
        let Some(run) = app.store.run(Some(&self.tenant), id).await? else {
            return self.refuse(app, texts::no_such_run(id)).await;
        };
        if run.kind == TRAIN {
            return self.refuse(app, texts::is_a_train(&run)).await;
        }
        let Some((step, gate)) = follow_up::gate_of(app, &run).await? else {
            return self.refuse(app, texts::nothing_to_decide(&run)).await;
        };
        // Where people are named, the run itself knows whether this is one of them.
        if gate.by.is_empty() && self.role == SlackRole::Viewer {
            return self.refuse(app, texts::for_operators(&self.user)).await;
        }
        // Whoever may decide here may not at another gate, and whoever pressed a button has seen only one.
        let step = meant.map_or(step, str::to_owned);
        let request = Request::Decide { by: self.actor(), decision, reason: reason.clone(), step: Some(step.clone()) };
        let placed = app.orders.ask(&self.tenant, id, request, self.origin()).await?;
        let (run, gate) = (Box::new(run), Box::new(gate));
        Ok(self.placed(placed, |placed| FollowUp::Decided { placed, run, step, gate, decision, reason }))
    }

    async fn cancel(&self, app: &App, id: &RunId, reason: Option<String>) -> Result<SlackResponse, OrderError> {
        if self.role == SlackRole::Viewer {
            return self.refuse(app, texts::for_operators(&self.user)).await;
        }
        match app.store.run(Some(&self.tenant), id).await? {
            None => return self.refuse(app, texts::no_such_run(id)).await,
            Some(run) if run.kind == TRAIN => return self.refuse(app, texts::is_a_train(&run)).await,
            Some(_) => {}
        }
        let request = Request::Cancel { initiator: Initiator::User, by: Some(self.actor()), reason };
        let placed = app.orders.ask(&self.tenant, id, request, self.origin()).await?;
        Ok(self.placed(placed, FollowUp::Cancelled))
    }

    fn placed(&self, placed: AcceptedOrder, then: impl FnOnce(AcceptedOrder) -> FollowUp) -> SlackResponse {
        let answer = texts::taken_in(&placed.run).json();
        if placed.is_repeated { SlackResponse::Repeated(answer) } else { SlackResponse::Begun(answer, then(placed)) }
    }

    async fn refuse(&self, app: &App, message: SlackMessage) -> Result<SlackResponse, OrderError> {
        self.store_answer(app, message, None).await
    }

    /// Remembers what was answered, for nothing but that: whoever sends it again must not get more out of it.
    async fn store_answer(
        &self,
        app: &App,
        message: SlackMessage,
        then: Option<FollowUp>,
    ) -> Result<SlackResponse, OrderError> {
        let OrderOrigin { source, key, hash } = self.origin();
        let (answer, tenant) = (message.json(), self.tenant.clone());
        let route = Route::Done { response: json!({ ANSWER: answer }) };
        let arrival = Arrival { tenant, key: key.clone(), source, hash, received_at: clock::now(), route };
        let admission = app.store.admit(arrival).await?;
        run_orders::count(source, &key, &admission);
        match (admission, then) {
            (Admission::Accepted, Some(then)) => Ok(SlackResponse::Begun(answer, then)),
            (Admission::Accepted, None) => Ok(SlackResponse::Answered(answer)),
            (Admission::Conflict, _) => Err(OrderError::Conflict { key }),
            _ => Ok(SlackResponse::Repeated(answer)),
        }
    }
}
