//! How a job tells what becomes of it: as a check run, as a status, or as both.

use jiff::Timestamp;

use crate::checks::{self, NewStatus, RunChange};
use crate::setup::ACTIONS_APP_ID;
use crate::world::{Annotation, CheckReport, CiJob, Id, JobStep, Output, RunConclusion, RunStatus, StatusState, World};

/// How a job ended.
pub struct Outcome {
    pub conclusion: RunConclusion,
    /// One line: `Exit code 1`.
    pub title: String,
    pub summary: String,
    pub annotations: Vec<Annotation>,
}

pub fn actions_bot(world: &World) -> Id {
    world.apps.get(0, ACTIONS_APP_ID).expect("GitHub's own app is made with the data directory").bot
}

pub fn queued(world: &mut World, job: &CiJob) {
    say(world, job, StatusState::Pending, "Queued");
}

pub fn started(world: &mut World, job: &CiJob) {
    let now = world.now;
    if job.workflow_run.is_none() {
        return;
    }
    if let Some(run) = world.check_runs.edit(job.repo, job.id) {
        run.steps = steps(job, now);
    }
    let change = RunChange { status: Some(RunStatus::InProgress), started_at: Some(now), ..RunChange::default() };
    checks::update_run(world, job.repo, job.id, change, job.actor);
}

pub fn finished(world: &mut World, job: &CiJob, outcome: Outcome) {
    let Outcome { conclusion, title, summary, annotations } = outcome;
    if job.workflow_run.is_some() {
        let now = world.now;
        if let Some(run) = world.check_runs.edit(job.repo, job.id) {
            run.output.annotations.clear();
            end_steps(&mut run.steps, conclusion, now);
        }
        let output = Output { title: Some(title.clone()), summary: Some(summary), text: None, annotations };
        let change = RunChange { conclusion: Some(conclusion), output: Some(output), ..RunChange::default() };
        checks::update_run(world, job.repo, job.id, change, job.actor);
    }
    say(world, job, state_of(conclusion), &title);
}

fn say(world: &mut World, job: &CiJob, state: StatusState, description: &str) {
    if job.check.report == CheckReport::CheckRun {
        return;
    }
    let target_url = world.repo(job.repo).map(|repo| match job.workflow_run {
        Some(run) => world.urls.web(format!("/{}/actions/runs/{run}/job/{}", world.full_name(repo), job.id)),
        None => log_url(world, job.id),
    });
    let status = NewStatus {
        sha: job.sha.clone(),
        context: job.check.name.clone(),
        state,
        description: Some(description.to_owned()),
        target_url,
        creator: actions_bot(world),
    };
    checks::set_status(world, job.repo, status);
}

/// Where a job's log is served as text, without credentials, as GitHub's signed links are.
pub fn log_url(world: &World, job: Id) -> String {
    format!("{}/logs/{job}", world.urls.control())
}

/// Where the logs of all jobs of an attempt are served, likewise.
pub fn run_logs_url(world: &World, repo: Id, run: Id, attempt: u64) -> String {
    format!("{}/logs/{repo}/{run}/{attempt}.zip", world.urls.control())
}

/// The status that says the same as a conclusion.
pub fn state_of(conclusion: RunConclusion) -> StatusState {
    match conclusion {
        RunConclusion::Success | RunConclusion::Neutral | RunConclusion::Skipped => StatusState::Success,
        RunConclusion::Failure | RunConclusion::TimedOut => StatusState::Failure,
        RunConclusion::Cancelled
        | RunConclusion::ActionRequired
        | RunConclusion::Stale
        | RunConclusion::StartupFailure => StatusState::Error,
    }
}

fn steps(job: &CiJob, now: Timestamp) -> Vec<JobStep> {
    let command = job.check.command.as_deref().unwrap_or_default();
    let run = format!("Run {}", command.lines().next().unwrap_or_default());
    let names = ["Set up job", "Check out the commit", run.as_str(), "Complete job"];
    (1..)
        .zip(names)
        .map(|(number, name)| JobStep {
            name: name.to_owned(),
            number,
            status: if number == 1 { RunStatus::InProgress } else { RunStatus::Queued },
            conclusion: None,
            started_at: (number == 1).then_some(now),
            completed_at: None,
        })
        .collect()
}

/// The command's step ends as the job does, those around it succeed.
fn end_steps(steps: &mut [JobStep], conclusion: RunConclusion, now: Timestamp) {
    for step in steps {
        step.status = RunStatus::Completed;
        step.conclusion = Some(if step.number == 3 { conclusion } else { RunConclusion::Success });
        step.started_at.get_or_insert(now);
        step.completed_at = Some(now);
    }
}
