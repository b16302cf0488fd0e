//! What is wanted of the run that a train is, as what it means for the train.

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{self, Attribution};
use merge_train_core::workflow::{Decision, IllegalTransition, Request, Run, RunStatus};
use store::Priority;

use crate::daemon::driver::StoredRefusal;

/// What it means for the train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrainRunAction {
    Start,
    Stop,
    Retry,
}

impl TrainRunAction {
    fn of(run: &Run, request: &Request) -> Result<Self, StoredRefusal> {
        match request {
            Request::Cancel { .. } | Request::Decide { decision: Decision::Rejected, .. } => Ok(Self::Stop),
            Request::Decide { decision: Decision::Approved, .. } => Ok(Self::Start),
            Request::Resume { .. } if run.status == RunStatus::AwaitingApproval => Ok(Self::Start),
            Request::Resume { .. } => Ok(Self::Retry),
            Request::Signal(_) => Err(conflict("a train gets its events from GitHub; it accepts no other signals")),
        }
    }

    fn leads_to(self) -> RunStatus {
        match self {
            Self::Start | Self::Retry => RunStatus::Running,
            Self::Stop => RunStatus::Cancelled,
        }
    }
}

/// Whom the order is for, and what it is there.
pub fn meant(run: &Run, request: &Request) -> Result<(RepoId, repo::Request, Priority), StoredRefusal> {
    let nobody = |_| conflict("the train's pull request is no longer known");
    let repo = run.repo_id.parse::<RepoId>().map_err(|_| conflict("the train's repository has no name"))?;
    let pr = run.pr_id.parse().map(PrNumber::new).map_err(nobody)?;
    let wish = TrainRunAction::of(run, request)?;
    let behest = behest(wish, request);
    Ok(match wish {
        TrainRunAction::Start => (repo, repo::Request::StartTrain { pr, behest }, Priority::Normal),
        TrainRunAction::Stop => (repo, repo::Request::StopTrain { pr, behest }, Priority::Stop),
        TrainRunAction::Retry => (repo, repo::Request::RetryTrain { pr, behest }, Priority::Normal),
    })
}

fn behest(wish: TrainRunAction, request: &Request) -> Attribution {
    let (by, reason, decision) = match request.clone() {
        Request::Cancel { by, reason, .. } => (by, reason, None),
        Request::Decide { by, reason, decision, .. } => (Some(by), reason, Some(decision)),
        // Past a gate is past the person who was to decide.
        Request::Resume { by, reason } => {
            (Some(by), reason, (wish == TrainRunAction::Start).then_some(Decision::Approved))
        }
        Request::Signal(_) => (None, None, None),
    };
    Attribution { by, reason, decision, delivery: None }
}

/// What need not wait for the repository's worker to be refused.
pub fn check(run: &Run, request: &Request) -> Result<(), StoredRefusal> {
    let to = TrainRunAction::of(run, request)?.leads_to();
    let is_decision = matches!(request, Request::Decide { .. });
    if is_decision && run.status != RunStatus::AwaitingApproval && !run.status.is_terminal() {
        let detail = format!("the run is {} and does not wait for a decision", run.status);
        return Err(StoredRefusal { detail, ..illegal(IllegalTransition::InvalidTransition { from: run.status, to }) });
    }
    // To have a train look again that runs already is no transition.
    if run.status != to || to.is_terminal() {
        run.status.check(to).map_err(illegal)?;
    }
    Ok(())
}

pub(super) fn conflict(detail: &str) -> StoredRefusal {
    StoredRefusal { code: "CONFLICT".to_owned(), detail: detail.to_owned() }
}

pub(super) fn illegal(illegal: IllegalTransition) -> StoredRefusal {
    StoredRefusal { code: illegal.code().to_string(), detail: illegal.to_string() }
}

#[cfg(test)]
mod tests {
    use merge_train_core::workflow::{Initiator, Signal};
    use serde_json::{Value, json};

    use super::*;

    fn train(status: RunStatus) -> Run {
        let document = json!({
            "id": "train-1", "schemaVersion": 1, "tenantId": "octocat", "repoId": "octocat/hello", "prId": "7",
            "prUrl": "", "type": "train", "status": status, "trigger": { "source": "webhook" },
            "createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z",
        });
        serde_json::from_value(document).expect("a run")
    }

    fn decide(decision: Decision) -> Request {
        Request::Decide { by: "api:ops".to_owned(), decision, reason: Some("so".to_owned()), step: None }
    }

    fn resume() -> Request {
        Request::Resume { by: "api:ops".to_owned(), reason: None }
    }

    fn cancel() -> Request {
        let (by, reason) = (Some("api:ops".to_owned()), Some("off".to_owned()));
        Request::Cancel { initiator: Initiator::User, by, reason }
    }

    #[test]
    fn what_is_wanted_of_the_run_is_said_to_the_train_with_who_wants_it_and_why() {
        use RunStatus::{AwaitingApproval, WaitingExternal};
        let said = |status, request: &Request| {
            let (repo, request, priority) = meant(&train(status), request).expect("it means something");
            assert_eq!(repo.to_string(), "octocat/hello");
            (serde_json::to_value(request).expect("JSON"), priority)
        };
        let about = |more: Value| {
            let mut all = json!({ "pr": 7, "by": "api:ops" });
            all.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            all
        };
        let approved = json!({ "start_train": about(json!({ "reason": "so", "decision": "approved" })) });
        assert_eq!(said(AwaitingApproval, &decide(Decision::Approved)), (approved, Priority::Normal));
        let rejected = json!({ "stop_train": about(json!({ "reason": "so", "decision": "rejected" })) });
        assert_eq!(said(AwaitingApproval, &decide(Decision::Rejected)), (rejected, Priority::Stop));
        let cancelled = json!({ "stop_train": about(json!({ "reason": "off" })) });
        assert_eq!(said(AwaitingApproval, &cancel()), (cancelled, Priority::Stop));
        let let_go_on = json!({ "start_train": about(json!({ "decision": "approved" })) });
        assert_eq!(said(AwaitingApproval, &resume()), (let_go_on, Priority::Normal));
        assert_eq!(said(WaitingExternal, &resume()), (json!({ "retry_train": about(json!({})) }), Priority::Normal));
        let signal =
            Signal { event: "ci".to_owned(), correlation: None, source: None, event_id: None, payload: Value::Null };
        let refused = meant(&train(WaitingExternal), &Request::Signal(signal)).expect_err("it has ears of its own");
        assert_eq!(refused.code, "CONFLICT");
    }

    #[test]
    fn what_the_table_of_transitions_forbids_is_refused_by_its_code() {
        use RunStatus::{AwaitingApproval, Cancelled, Completed, Running, WaitingExternal};
        let code = |status, request: &Request| check(&train(status), request).map_err(|refused| refused.code);
        let (invalid, over) = (Err("RUN_INVALID_TRANSITION".to_owned()), Err("RUN_TERMINAL_STATE".to_owned()));
        let decisions = [decide(Decision::Approved), decide(Decision::Rejected)];
        for request in &decisions {
            assert_eq!(code(AwaitingApproval, request), Ok(()));
            assert_eq!(code(WaitingExternal, request), invalid);
            assert_eq!(code(Running, request), invalid);
        }
        for request in decisions.iter().chain([&resume(), &cancel()]) {
            assert_eq!(code(Completed, request), over);
            assert_eq!(code(Cancelled, request), over);
        }
        for status in [AwaitingApproval, WaitingExternal, Running] {
            assert_eq!((code(status, &resume()), code(status, &cancel())), (Ok(()), Ok(())));
        }
    }
}
