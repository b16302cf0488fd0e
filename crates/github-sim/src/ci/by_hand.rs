//! Checks that are set instead of run.

use super::DEFAULT_WORKFLOW_NAME;
use super::queue::workflow_run_of;
use super::report::{actions_bot, log_url};
use crate::checks::{self, NewRun, NewStatus, NewWorkflowRun, RunChange};
use crate::world::{CheckReport, Id, Output, RunConclusion, RunStatus, Sha, StatusState, World};

pub struct HandSet {
    pub repo: Id,
    pub sha: Sha,
    pub branch: String,
    pub name: String,
    pub verdict: Verdict,
    /// None: as the repository's definition of that check says, or as a check run.
    pub report: Option<CheckReport>,
    pub output: Output,
    pub actor: Id,
}

/// What is said, in the words of both.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    pub status: RunStatus,
    pub conclusion: Option<RunConclusion>,
    pub state: StatusState,
}

/// What became of it.
pub struct Set {
    pub check_run: Option<Id>,
    pub status: Option<Id>,
    /// Where its log belongs.
    pub log: Id,
}

/// Says it through GitHub Actions. What runs under that name is stopped. A run that has ended is left as it is, and a
/// new one made.
pub fn set_by_hand(world: &mut World, set: HandSet) -> Set {
    stop(world, &set);
    let definition = world.repo(set.repo).and_then(|repo| repo.ci.as_ref());
    let defined = definition.and_then(|ci| ci.checks.iter().find(|check| check.name == set.name));
    let report = set.report.or(defined.map(|check| check.report)).unwrap_or_default();
    let check_run = (report != CheckReport::Status).then(|| set_run(world, &set));
    let log = check_run.unwrap_or_else(|| world.next_id());
    let status = (report != CheckReport::CheckRun).then(|| {
        let page = check_run.and_then(|run| world.check_runs.get(set.repo, run)?.details_url.clone());
        let status = NewStatus {
            sha: set.sha,
            context: set.name,
            state: set.verdict.state,
            description: set.output.title,
            target_url: page.or_else(|| Some(log_url(world, log))),
            creator: actions_bot(world),
        };
        checks::set_status(world, set.repo, status)
    });
    Set { check_run, status, log }
}

fn stop(world: &mut World, set: &HandSet) {
    let running: Vec<Id> = world
        .ci_jobs
        .within(set.repo)
        .filter(|job| job.sha == set.sha && job.check.name == set.name)
        .map(|job| job.id)
        .collect();
    for job in running {
        world.ci_jobs.remove(set.repo, job);
    }
}

fn set_run(world: &mut World, set: &HandSet) -> Id {
    let workflow_run = workflow_run_of(world, set.repo, &set.sha).unwrap_or_else(|| {
        let ci = world.repo(set.repo).and_then(|repo| repo.ci.as_ref());
        let new = NewWorkflowRun {
            name: ci.and_then(|ci| ci.name.clone()).unwrap_or_else(|| DEFAULT_WORKFLOW_NAME.to_owned()),
            branch: set.branch.clone(),
            sha: set.sha.clone(),
            before: None,
            event: "push",
            actor: set.actor,
        };
        checks::create_workflow_run(world, set.repo, new)
    });
    let run = world.workflow_runs.get(set.repo, workflow_run).expect("found or just made").clone();
    let jobs = checks::jobs_of(world, set.repo, workflow_run, run.run_attempt);
    let same_name = jobs.into_iter().find(|job| job.name == set.name);
    let (known, ci) = (same_name.map(|job| (job.id, job.status)), same_name.and_then(|job| job.ci.clone()));
    let change = RunChange {
        status: Some(set.verdict.status),
        conclusion: set.verdict.conclusion,
        output: Some(set.output.clone()),
        ..RunChange::default()
    };
    match known {
        Some((id, status)) if status != RunStatus::Completed => {
            checks::update_run(world, set.repo, id, change, set.actor);
            id
        }
        _ => {
            let new = NewRun {
                name: set.name.clone(),
                change,
                workflow_run: Some(workflow_run),
                run_attempt: run.run_attempt,
                ci,
                ..NewRun::default()
            };
            checks::create_run(world, set.repo, run.suite, new, set.actor)
        }
    }
}
