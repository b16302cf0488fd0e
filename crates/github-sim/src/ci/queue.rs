//! What a push or a pull request puts into the queue.

use super::{DEFAULT_WORKFLOW_NAME, report};
use crate::checks::{self, NewRun, NewWorkflowRun};
use crate::http::ApiError;
use crate::policy::fnmatch;
use crate::setup::ACTIONS_APP_ID;
use crate::world::{CheckReport, CiCheck, CiDefinition, CiJob, Id, IssueState, World};

/// A commit that was pushed to a branch.
pub struct Pushed<'a> {
    pub repo: Id,
    pub branch: &'a str,
    pub sha: &'a str,
    pub before: Option<&'a str>,
    pub actor: Id,
}

/// Queues the repository's checks for a pushed commit. In the same transaction as the push, so none is ever missed.
pub fn enqueue(world: &mut World, pushed: &Pushed<'_>) {
    checks::open_for_apps(world, pushed.repo, pushed.branch, pushed.sha, pushed.before, pushed.actor);
    if is_ignored(world, pushed.repo, pushed.branch) || was_taken(world, pushed) {
        return;
    }
    queue(world, pushed, "push");
}

/// Queues them for the head of a pull request that no push to this repository has brought, as a fork's.
pub fn enqueue_for_pull(world: &mut World, repo: Id, number: u64, actor: Id) {
    let Some(pull) = world.pulls.get(repo, number).cloned() else { return };
    if knows(world, repo, &pull.head_sha) {
        return;
    }
    let pushed = Pushed { repo, branch: &pull.head_ref, sha: &pull.head_sha, before: None, actor };
    queue(world, &pushed, "pull_request");
}

/// Queues them for the heads of the default branch and of every open pull request, whether they have run or not.
pub fn enqueue_for_heads(world: &mut World, repo: Id) {
    let Some((owner, default)) = world.repo(repo).map(|repo| (repo.owner, repo.default_branch.clone())) else { return };
    if let Some(sha) = world.branch(repo, &default).cloned() {
        queue(world, &Pushed { repo, branch: &default, sha: &sha, before: None, actor: owner }, "push");
    }
    let open = |number| world.issues.get(repo, number).is_some_and(|issue| issue.state == IssueState::Open);
    let pulls: Vec<_> = world.pulls.within(repo).filter(|pull| open(pull.number)).cloned().collect();
    for pull in pulls {
        let actor = world.issues.get(repo, pull.number).map_or(owner, |issue| issue.author);
        let pushed = Pushed { repo, branch: &pull.head_ref, sha: &pull.head_sha, before: None, actor };
        queue(world, &pushed, "pull_request");
    }
}

/// A definition that could not mean anything is refused before it is stored.
pub fn check_definition(definition: &CiDefinition) -> Result<(), ApiError> {
    let refuse = |message: String| Err(ApiError::validation_message("CiDefinition", message));
    for (at, check) in definition.checks.iter().enumerate() {
        if check.name.trim().is_empty() {
            return refuse(format!("checks[{at}].name is empty"));
        }
        if definition.checks[..at].iter().any(|other| other.name == check.name) {
            return refuse(format!("two checks are named {:?}", check.name));
        }
        if check.timeout_ms == 0 {
            return refuse(format!("checks[{at}].timeout_ms must be more than 0"));
        }
        if check.command.as_ref().is_some_and(|command| command.contains('\0')) {
            return refuse(format!("checks[{at}].command holds a NUL byte"));
        }
    }
    Ok(())
}

fn is_ignored(world: &World, repo: Id, branch: &str) -> bool {
    let Some(ci) = world.repo(repo).and_then(|repo| repo.ci.as_ref()) else { return true };
    let is_head_of_open_pull = || {
        world
            .pulls
            .within(repo)
            .filter(|pull| pull.head_ref == branch && !pull.is_fork())
            .any(|pull| world.issues.get(repo, pull.number).is_some_and(|issue| issue.state == IssueState::Open))
    };
    ci.ignore_branches.iter().any(|pattern| fnmatch(pattern, branch)) && !is_head_of_open_pull()
}

/// Whether this very push was taken before: the branch's newest run is for the same commit after the same one.
fn was_taken(world: &World, pushed: &Pushed<'_>) -> bool {
    let Pushed { repo, branch, sha, before, .. } = *pushed;
    if world.ci_jobs.within(repo).any(|job| job.branch == branch && job.sha == sha && job.event == "push") {
        return true;
    }
    let newest = world.workflow_runs.within(repo).rev().find(|run| run.head_branch.as_deref() == Some(branch));
    newest.is_some_and(|run| {
        let suite = world.check_suites.get(repo, run.suite);
        run.head_sha == sha && suite.is_some_and(|suite| suite.before.as_deref() == before)
    })
}

/// Whether the CI has said anything about a commit.
fn knows(world: &World, repo: Id, sha: &str) -> bool {
    let bot = report::actions_bot(world);
    world.workflow_runs.within(repo).any(|run| run.head_sha == sha)
        || world.ci_jobs.within(repo).any(|job| job.sha == sha)
        || world.statuses.within(repo).any(|status| status.sha == sha && status.creator == bot)
}

fn queue(world: &mut World, pushed: &Pushed<'_>, event: &'static str) {
    let Some(ci) = world.repo(pushed.repo).and_then(|repo| repo.ci.clone()) else { return };
    let reports_runs = ci.checks.iter().any(|check| check.report != CheckReport::Status);
    let workflow_run = reports_runs.then(|| {
        let new = NewWorkflowRun {
            name: ci.name.clone().unwrap_or_else(|| DEFAULT_WORKFLOW_NAME.to_owned()),
            branch: pushed.branch.to_owned(),
            sha: pushed.sha.to_owned(),
            before: pushed.before.map(str::to_owned),
            event,
            actor: pushed.actor,
        };
        checks::create_workflow_run(world, pushed.repo, new)
    });
    for check in ci.checks {
        let job = CiJob {
            repo: pushed.repo,
            id: 0,
            check,
            sha: pushed.sha.to_owned(),
            branch: pushed.branch.to_owned(),
            event: event.to_owned(),
            workflow_run,
            actor: pushed.actor,
        };
        add_job(world, job, 1);
    }
}

/// Reports a job as queued, and queues it if there is something to run.
pub(super) fn add_job(world: &mut World, mut job: CiJob, run_attempt: u64) {
    let suite = job.workflow_run.and_then(|run| world.workflow_runs.get(job.repo, run)).map(|run| run.suite);
    job.id = match suite.filter(|_| job.check.report != CheckReport::Status) {
        Some(suite) => {
            let new = NewRun {
                name: job.check.name.clone(),
                workflow_run: job.workflow_run,
                run_attempt,
                ci: Some(job.check.clone()),
                ..NewRun::default()
            };
            checks::create_run(world, job.repo, suite, new, job.actor)
        }
        None => {
            job.workflow_run = None;
            world.next_id()
        }
    };
    report::queued(world, &job);
    if let CiCheck { command: Some(_), .. } = job.check {
        world.ci_jobs.insert(job);
    }
}

/// The newest workflow run for a commit.
pub(super) fn workflow_run_of(world: &World, repo: Id, sha: &str) -> Option<Id> {
    let suite = checks::suite_of(world, repo, ACTIONS_APP_ID, sha)?;
    world.workflow_runs.within(repo).rev().find(|run| run.suite == suite).map(|run| run.id)
}
