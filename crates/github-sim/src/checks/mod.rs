//! What is said about a commit: statuses, check runs, check suites, workflow runs. REST, the CI and the control API all
//! say it here, so the consequences (suites, workflow runs, webhooks) are the same whoever says it.

mod runs;
mod statuses;
mod suites;
mod workflow;

pub use runs::{NewRun, RunChange, create_run, update_run};
pub use statuses::{NewStatus, set_status};
pub use suites::{NewSuite, create_suite, latest_runs, open_for_apps, reopen, suite_of};
pub use workflow::{NewWorkflowRun, attempt_outcome, create_workflow_run, jobs_of, reopen_workflow_run};

use crate::world::{Id, IssueState, RunConclusion, World};

/// What several conclusions add up to: the worst of them.
fn conclude(conclusions: impl Iterator<Item = Option<RunConclusion>>) -> Option<RunConclusion> {
    const WORST_FIRST: [RunConclusion; 9] = [
        RunConclusion::Failure,
        RunConclusion::TimedOut,
        RunConclusion::StartupFailure,
        RunConclusion::ActionRequired,
        RunConclusion::Cancelled,
        RunConclusion::Stale,
        RunConclusion::Success,
        RunConclusion::Neutral,
        RunConclusion::Skipped,
    ];
    conclusions.flatten().min_by_key(|one| WORST_FIRST.iter().position(|listed| listed == one))
}

/// The branch that a commit is the head of: a pull request's before the default one before any other.
pub fn branch_of(world: &World, repo: Id, sha: &str) -> Option<String> {
    let of_pull = world
        .pulls
        .within(repo)
        .filter(|pull| pull.head_sha == sha && !pull.is_fork())
        .find(|pull| world.issues.get(repo, pull.number).is_some_and(|issue| issue.state == IssueState::Open));
    if let Some(pull) = of_pull {
        return Some(pull.head_ref.clone());
    }
    let default = world.repo(repo).map(|repo| repo.default_branch.clone())?;
    if world.branch(repo, &default).is_some_and(|head| head == sha) {
        return Some(default);
    }
    let refs = &world.refs(repo).refs;
    refs.iter().find(|(_, head)| *head == sha).and_then(|(name, _)| name.strip_prefix("refs/heads/")).map(str::to_owned)
}
