//! What is wanted of the run that a fixer is, as what it means for the fixer.

use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{self, Attribution};
use merge_train_core::workflow::{Decision, Request, Run, RunStatus};
use store::Priority;

use super::trains::{conflict, illegal};
use crate::daemon::driver::StoredRefusal;

/// Whom the order is for, and what it is there.
pub fn meant(run: &Run, request: &Request) -> Result<(RepoId, repo::Request, Priority), StoredRefusal> {
    let repo = run.repo_id.parse::<RepoId>().map_err(|_| conflict("the fixer's repository has no name"))?;
    let nobody = |_| conflict("the fixer's pull request is no longer known");
    let pr = run.pr_id.parse().map(PrNumber::new).map_err(nobody)?;
    let at = run.created_at;
    let decide = |by, reason, decision| {
        let behest = Attribution { by: Some(by), reason, decision: Some(decision), delivery: None };
        repo::Request::DecideFix { pr, at, behest }
    };
    Ok(match request.clone() {
        Request::Decide { by, reason, decision, .. } => (repo, decide(by, reason, decision), Priority::Normal),
        Request::Resume { by, reason } if run.status == RunStatus::AwaitingApproval => {
            (repo, decide(by, reason, Decision::Approved), Priority::Normal)
        }
        Request::Resume { .. } => return Err(conflict("a fixer continues by itself; there is nothing to resume")),
        Request::Cancel { by, reason, .. } => {
            let behest = Attribution { by, reason, decision: None, delivery: None };
            (repo, repo::Request::StopFix { pr, at, behest }, Priority::Stop)
        }
        Request::Signal(_) => return Err(conflict("a fixer accepts no signals")),
    })
}

/// What need not wait for the repository's worker to be refused.
pub fn check(run: &Run, request: &Request) -> Result<(), StoredRefusal> {
    let to = match request {
        Request::Decide { decision: Decision::Rejected, .. } => RunStatus::Failed,
        Request::Cancel { .. } => RunStatus::Cancelled,
        Request::Decide { .. } | Request::Resume { .. } | Request::Signal(_) => RunStatus::Running,
    };
    let is_decision = matches!(request, Request::Decide { .. });
    if is_decision && run.status != RunStatus::AwaitingApproval && !run.status.is_terminal() {
        return Err(conflict(&format!("the run is {} and does not wait for a decision", run.status)));
    }
    run.status.check(to).map_err(illegal)
}
