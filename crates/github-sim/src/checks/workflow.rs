//! Workflow runs of GitHub Actions.

use super::suites::{NewSuite, add_up, create_suite, newest_by_name, reopen};
use crate::present::WORKFLOW_PATH;
use crate::setup::ACTIONS_APP_ID;
use crate::webhooks::emit::{self, WorkflowRunAction};
use crate::world::{CheckRun, Id, RunConclusion, RunStatus, Sha, WorkflowRun, World};

pub struct NewWorkflowRun {
    pub name: String,
    pub branch: String,
    pub sha: Sha,
    pub before: Option<Sha>,
    /// `push` or `pull_request`.
    pub event: &'static str,
    pub actor: Id,
}

/// A run with its own suite and no jobs yet.
pub fn create_workflow_run(world: &mut World, repo: Id, new: NewWorkflowRun) -> Id {
    let NewWorkflowRun { name, branch, sha, before, event, actor } = new;
    let suite = NewSuite { app: ACTIONS_APP_ID, head_sha: sha.clone(), head_branch: Some(branch.clone()), before };
    let suite = create_suite(world, repo, suite, actor);
    let last = world.workflow_runs.within(repo).map(|run| run.run_number).max().unwrap_or(0);
    let (id, now) = (world.next_id(), world.now);
    world.workflow_runs.insert(WorkflowRun {
        repo,
        id,
        name,
        path: WORKFLOW_PATH.to_owned(),
        workflow_id: repo,
        head_branch: Some(branch),
        head_sha: sha,
        event: event.to_owned(),
        run_number: last + 1,
        run_attempt: 1,
        suite,
        status: RunStatus::Queued,
        conclusion: None,
        actor,
        triggering_actor: actor,
        created_at: now,
        updated_at: now,
        run_started_at: now,
    });
    emit::workflow_run(world, repo, id, actor, WorkflowRunAction::Requested);
    id
}

/// The jobs of a run as they stood at an attempt: of each name the newest up to it.
pub fn jobs_of(world: &World, repo: Id, run: Id, attempt: u64) -> Vec<&CheckRun> {
    let jobs = world.check_runs.within(repo).filter(|job| job.workflow_run == Some(run));
    newest_by_name(jobs.filter(|job| job.run_attempt <= attempt))
}

/// Begins the next attempt; its number.
pub fn reopen_workflow_run(world: &mut World, repo: Id, run: Id, actor: Id) -> u64 {
    let now = world.now;
    let run = world.workflow_runs.edit(repo, run).expect("the caller found the run");
    run.run_attempt += 1;
    run.status = RunStatus::Queued;
    run.conclusion = None;
    run.triggering_actor = actor;
    run.updated_at = now;
    run.run_started_at = now;
    let (id, suite, attempt) = (run.id, run.suite, run.run_attempt);
    reopen(world, repo, suite);
    emit::workflow_run(world, repo, id, actor, WorkflowRunAction::Requested);
    attempt
}

/// Brings a run in line with its jobs.
pub(super) fn refresh(world: &mut World, repo: Id, id: Id, sender: Id) {
    let Some(run) = world.workflow_runs.get(repo, id) else { return };
    let before = (run.status, run.conclusion);
    let (status, conclusion) = add_up(&jobs_of(world, repo, id, run.run_attempt));
    let now = world.now;
    let run = world.workflow_runs.edit(repo, id).expect("found above");
    run.status = status;
    run.conclusion = conclusion;
    if before == (status, conclusion) {
        return;
    }
    run.updated_at = now;
    match status {
        RunStatus::Completed => emit::workflow_run(world, repo, id, sender, WorkflowRunAction::Completed),
        RunStatus::InProgress if before.0 != RunStatus::InProgress => {
            emit::workflow_run(world, repo, id, sender, WorkflowRunAction::InProgress);
        }
        _ => {}
    }
}

/// How an attempt stands or ended.
pub fn attempt_outcome(world: &World, repo: Id, run: Id, attempt: u64) -> (RunStatus, Option<RunConclusion>) {
    add_up(&jobs_of(world, repo, run, attempt))
}
