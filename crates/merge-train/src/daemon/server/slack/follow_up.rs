//! What comes of a request, told to whoever made it once it is known. A courtesy: no run depends on it.

use std::time::Duration;

use merge_train_core::ids::{RunId, StreamId, TenantId};
use merge_train_core::workflow::{Decision, Gate, Run, RunStatus, StepKind};
use store::{RunQuery, Since};
use tokio::time::Instant;

use super::SlackIntegration;
use super::reply::ReplyAddress;
use super::texts::{self, GateDecision, SlackMessage};
use crate::clock;
use crate::daemon::driver::replay_run;
use crate::daemon::run_orders::{AcceptedOrder, OrderError, RequestProgress};
use crate::daemon::server::App;

/// How long a run is watched: Slack takes replies for half an hour.
const WATCHED_FOR: Duration = Duration::from_mins(25);
/// When a run is looked at first; each wait is half as long again as the one before.
const FIRST_LOOK: Duration = Duration::from_millis(200);
const LONGEST_LOOK: Duration = Duration::from_secs(15);
/// How many runs a list has: what Slack shows of a text is no more.
const LISTED: usize = 10;

/// What is to be told once a request has been answered.
pub enum FollowUp {
    List,
    Show(RunId),
    Started(AcceptedOrder),
    Decided {
        placed: AcceptedOrder,
        run: Box<Run>,
        step: String,
        gate: Box<Gate>,
        decision: Decision,
        reason: Option<String>,
    },
    Cancelled(AcceptedOrder),
}

/// Who is told, and where.
pub struct FollowUpSender<'a> {
    pub app: &'a App,
    pub slack: &'a SlackIntegration,
    pub tenant: &'a TenantId,
    /// As runs name whoever asked.
    pub actor: &'a str,
    /// The name of the command, for hints.
    pub slash: &'a str,
    /// Whether a message with buttons is there to be replaced.
    pub by: SlackInput,
    pub address: ReplyAddress,
}

/// How a request was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlackInput {
    Typing,
    Pressing,
}

/// Where a run was when it was looked at last.
enum WatchedRun {
    /// Where it was to come.
    There(Box<Run>),
    /// Somewhere else still, when there was no more time.
    Elsewhere(Option<RunStatus>),
    /// The daemon stops.
    Nothing,
}

impl FollowUpSender<'_> {
    pub async fn tell(mut self, then: FollowUp) {
        let told = match then {
            FollowUp::List => self.list().await,
            FollowUp::Show(run) => self.show(&run).await,
            FollowUp::Started(placed) => self.started(&placed).await,
            FollowUp::Decided { placed, run, step, gate, decision, reason } => {
                let at = clock::now();
                let decided = GateDecision { by: self.actor, decision, reason: reason.as_deref(), at, step: &step };
                self.decided(&placed, &run, &gate, decided).await
            }
            FollowUp::Cancelled(placed) => self.cancelled(&placed).await,
        };
        if let Err(failed) = told {
            self.say(&texts::refused(&failed.to_string())).await;
        }
    }

    async fn say(&mut self, message: &SlackMessage) {
        self.slack.replies.send(&mut self.address, &message.json()).await;
    }

    async fn list(&mut self) -> Result<(), OrderError> {
        let tenant = Some(self.tenant.clone());
        let query = RunQuery { tenant, limit: LISTED, ..RunQuery::default() };
        let runs = self.app.store.runs(&query).await?;
        self.say(&texts::listed(&runs, self.slash)).await;
        Ok(())
    }

    async fn show(&mut self, id: &RunId) -> Result<(), OrderError> {
        let message = match self.app.store.run(Some(self.tenant), id).await? {
            None => texts::no_such_run(id),
            Some(run) => {
                let gate = gate_of(self.app, &run).await?;
                texts::shown(&run, gate.as_ref().map(|(step, gate)| (step.as_str(), gate)))
            }
        };
        self.say(&message).await;
        Ok(())
    }

    async fn started(&mut self, placed: &AcceptedOrder) -> Result<(), OrderError> {
        match self.settled(placed).await? {
            RequestProgress::Done => self.go_on(&placed.run).await,
            RequestProgress::UnderWay => Ok(()),
        }
    }

    /// Tells of the next gate, or of the end.
    async fn go_on(&mut self, run: &RunId) -> Result<(), OrderError> {
        let stands = |run: &Run| run.status.is_terminal() || run.status == RunStatus::AwaitingApproval;
        match self.watch(run, stands).await {
            WatchedRun::There(run) => {
                let message = match gate_of(self.app, &run).await? {
                    Some((step, gate)) => texts::asked(&run, &step, &gate),
                    None if run.status.is_terminal() => texts::ended(&run),
                    None => texts::shown(&run, None),
                };
                self.say(&message.for_all()).await;
            }
            WatchedRun::Elsewhere(status) => self.say(&texts::still_going(run, status, self.slash)).await,
            WatchedRun::Nothing => {}
        }
        Ok(())
    }

    async fn decided(
        &mut self,
        placed: &AcceptedOrder,
        run: &Run,
        gate: &Gate,
        said: GateDecision<'_>,
    ) -> Result<(), OrderError> {
        if self.settled(placed).await? == RequestProgress::UnderWay {
            return Ok(());
        }
        let now = self.app.store.run(Some(self.tenant), &run.id).await?;
        let is_at_gate =
            |run: &Run| run.status == RunStatus::AwaitingApproval && run.current_step.as_deref() == Some(said.step);
        let is_enough = !now.as_ref().is_some_and(is_at_gate);
        let message = if is_enough { texts::decided(run, &said) } else { texts::not_enough_yet(run, &said, gate) };
        let message = match self.by {
            SlackInput::Pressing => message.instead(),
            SlackInput::Typing => message.for_all(),
        };
        self.say(&message).await;
        if is_enough && said.decision == Decision::Approved { self.go_on(&run.id).await } else { Ok(()) }
    }

    async fn cancelled(&mut self, placed: &AcceptedOrder) -> Result<(), OrderError> {
        if self.settled(placed).await? == RequestProgress::UnderWay {
            return Ok(());
        }
        match self.watch(&placed.run, |run| run.status.is_terminal()).await {
            WatchedRun::There(run) => self.say(&texts::ended(&run)).await,
            WatchedRun::Elsewhere(status) => self.say(&texts::still_going(&placed.run, status, self.slash)).await,
            WatchedRun::Nothing => {}
        }
        Ok(())
    }

    /// Waits until an order was carried out. What takes too long is told.
    async fn settled(&mut self, placed: &AcceptedOrder) -> Result<RequestProgress, OrderError> {
        let deadline = Instant::now() + WATCHED_FOR;
        while self.app.orders.outcome(placed).await? == RequestProgress::UnderWay {
            if self.slack.stopping.is_cancelled() {
                return Ok(RequestProgress::UnderWay);
            }
            if Instant::now() >= deadline {
                self.say(&texts::still_going(&placed.run, None, self.slash)).await;
                return Ok(RequestProgress::UnderWay);
            }
        }
        Ok(RequestProgress::Done)
    }

    /// Watches a run until it is where it should be.
    async fn watch(&self, run: &RunId, is_there: impl Fn(&Run) -> bool) -> WatchedRun {
        let deadline = Instant::now() + WATCHED_FOR;
        let mut wait = FIRST_LOOK;
        let mut status = None;
        loop {
            match self.app.store.run(Some(self.tenant), run).await {
                Ok(Some(run)) if is_there(&run) => return WatchedRun::There(Box::new(run)),
                Ok(run) => status = run.map(|run| run.status),
                Err(error) => tracing::info!(%error, %run, "a run that somebody in Slack waits for could not be read"),
            }
            if Instant::now() + wait >= deadline {
                return WatchedRun::Elsewhere(status);
            }
            tokio::select! {
                () = self.slack.stopping.cancelled() => return WatchedRun::Nothing,
                () = tokio::time::sleep(wait) => {}
            }
            wait = LONGEST_LOOK.min(wait * 3 / 2);
        }
    }
}

/// The gate that a run stands at, as the run itself has it: the configuration may have changed since.
pub async fn gate_of(app: &App, run: &Run) -> store::Result<Option<(String, Gate)>> {
    let Some(step) = run.current_step.clone().filter(|_| run.status == RunStatus::AwaitingApproval) else {
        return Ok(None);
    };
    let stream = StreamId::Run(run.id.clone());
    let state = replay_run(&stream, &app.store.load(&stream, Since::Newest).await?)?;
    let steps = state.map(|state| state.created.workflow.steps).unwrap_or_default();
    Ok(steps.into_iter().find(|plan| plan.id == step).and_then(|plan| match plan.kind {
        StepKind::Approval(gate) => Some((step, gate)),
        StepKind::Agent(_) | StepKind::Wait(_) => None,
    }))
}
