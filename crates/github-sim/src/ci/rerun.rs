//! Running again, and calling off.

use super::queue::add_job;
use super::report::{self, Outcome};
use crate::checks;
use crate::http::ApiError;
use crate::world::{CheckReport, CheckRun, CiCheck, CiJob, Id, RunConclusion, RunStatus, WorkflowRun, World};

/// Which jobs of a workflow run to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    Failed,
    One(Id),
}

/// Begins another attempt of a workflow run that has ended.
pub fn rerun(world: &mut World, repo: Id, run: Id, which: Which, actor: Id) -> Result<(), ApiError> {
    let found = world.workflow_runs.get(repo, run).ok_or_else(ApiError::not_found)?.clone();
    if found.status != RunStatus::Completed {
        return Err(ApiError::forbidden("This workflow is already running"));
    }
    let chosen: Vec<CheckRun> = checks::jobs_of(world, repo, run, found.run_attempt)
        .into_iter()
        .filter(|job| match which {
            Which::All => true,
            Which::Failed => !job.conclusion.is_some_and(RunConclusion::passes),
            Which::One(id) => job.id == id,
        })
        .cloned()
        .collect();
    if chosen.is_empty() {
        return Err(ApiError::forbidden("The workflow run cannot be retried: it has no jobs that could be run again."));
    }
    // Queued before the attempt begins, so that the run never looks half done.
    for job in &chosen {
        add_job(world, job_of(&found, job, actor), found.run_attempt + 1);
    }
    checks::reopen_workflow_run(world, repo, run, actor);
    Ok(())
}

/// Ends every job of a run that has not ended.
pub fn cancel(world: &mut World, repo: Id, run: Id, actor: Id) -> Result<(), ApiError> {
    let found = world.workflow_runs.get(repo, run).ok_or_else(ApiError::not_found)?.clone();
    if found.status == RunStatus::Completed {
        return Err(ApiError::conflict("Cannot cancel a workflow run that is completed."));
    }
    let open: Vec<CheckRun> = checks::jobs_of(world, repo, run, found.run_attempt)
        .into_iter()
        .filter(|job| job.status != RunStatus::Completed)
        .cloned()
        .collect();
    for job in open {
        // Without its place in the queue a job that runs is stopped.
        world.ci_jobs.remove(repo, job.id);
        let outcome = Outcome {
            conclusion: RunConclusion::Cancelled,
            title: "Cancelled".into(),
            summary: "The run was canceled.".into(),
            annotations: Vec::new(),
        };
        report::finished(world, &job_of(&found, &job, actor), outcome);
    }
    Ok(())
}

/// The job as it stands in the queue. One that was set by hand has no definition: it waits to be set again.
pub(super) fn job_of(run: &WorkflowRun, job: &CheckRun, actor: Id) -> CiJob {
    let by_hand =
        || CiCheck { name: job.name.clone(), command: None, report: CheckReport::CheckRun, delay_ms: 0, timeout_ms: 1 };
    CiJob {
        repo: run.repo,
        id: job.id,
        check: job.ci.clone().unwrap_or_else(by_hand),
        sha: job.head_sha.clone(),
        branch: run.head_branch.clone().unwrap_or_default(),
        event: run.event.clone(),
        workflow_run: Some(run.id),
        actor,
    }
}
