//! Check runs.

use jiff::Timestamp;

use super::suites::{self, Cause};
use super::workflow;
use crate::webhooks::emit::{self, CheckRunAction};
use crate::world::{CheckRun, CiCheck, Id, Output, RunConclusion, RunStatus, World};

#[derive(Default)]
pub struct NewRun {
    pub name: String,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    /// What is said about it from the start.
    pub change: RunChange,
    /// The workflow run it is a job of, and the definition it runs by.
    pub workflow_run: Option<Id>,
    pub run_attempt: u64,
    pub ci: Option<CiCheck>,
}

/// What changes about a run; what is left out stays.
#[derive(Default)]
pub struct RunChange {
    pub name: Option<String>,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub status: Option<RunStatus>,
    /// Implies that the run is completed.
    pub conclusion: Option<RunConclusion>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Its annotations are added to those there are.
    pub output: Option<Output>,
}

/// Adds a run to a suite.
pub fn create_run(world: &mut World, repo: Id, suite: Id, new: NewRun, sender: Id) -> Id {
    let (id, now) = (world.next_id(), world.now);
    let suite = world.check_suites.get(repo, suite).expect("the caller found or made the suite").clone();
    let details_url = new.details_url.or_else(|| default_details_url(world, repo, suite.app, new.workflow_run, id));
    let mut run = CheckRun {
        repo,
        id,
        suite: suite.id,
        app: suite.app,
        name: new.name,
        head_sha: suite.head_sha,
        external_id: new.external_id.unwrap_or_default(),
        details_url,
        status: RunStatus::Queued,
        conclusion: None,
        started_at: Some(now),
        completed_at: None,
        output: Output::default(),
        workflow_run: new.workflow_run,
        steps: Vec::new(),
        run_attempt: new.run_attempt.max(1),
        ci: new.ci,
        created_at: now,
    };
    apply(&mut run, new.change, now);
    let finished = run.status == RunStatus::Completed;
    world.check_runs.insert(run);
    emit::check_run(world, repo, id, sender, CheckRunAction::Created);
    tell(world, repo, id, sender, finished);
    id
}

pub fn update_run(world: &mut World, repo: Id, id: Id, change: RunChange, sender: Id) {
    let now = world.now;
    let Some(run) = world.check_runs.edit(repo, id) else { return };
    let before = (run.status, run.conclusion);
    apply(run, change, now);
    let finished = run.status == RunStatus::Completed && before != (run.status, run.conclusion);
    tell(world, repo, id, sender, finished);
}

/// An app's own page, or the job's.
fn default_details_url(world: &World, repo: Id, app: Id, workflow_run: Option<Id>, id: Id) -> Option<String> {
    match workflow_run {
        Some(run) => {
            let full_name = world.full_name(world.repo(repo)?);
            Some(world.urls.web(format!("/{full_name}/actions/runs/{run}/job/{id}")))
        }
        None => world.apps.get(0, app).map(|app| app.external_url.clone()),
    }
}

/// A run is completed exactly when it has a conclusion and a time of completion.
fn apply(run: &mut CheckRun, change: RunChange, now: Timestamp) {
    run.name = change.name.unwrap_or_else(|| std::mem::take(&mut run.name));
    run.external_id = change.external_id.unwrap_or_else(|| std::mem::take(&mut run.external_id));
    run.details_url = change.details_url.or_else(|| run.details_url.take());
    run.started_at = change.started_at.or(run.started_at);
    if let Some(conclusion) = change.conclusion {
        run.status = RunStatus::Completed;
        run.conclusion = Some(conclusion);
        run.completed_at = change.completed_at.or(run.completed_at).or(Some(now));
    } else if let Some(status) = change.status
        && status != RunStatus::Completed
    {
        run.status = status;
        run.conclusion = None;
        run.completed_at = None;
    } else if run.status == RunStatus::Completed {
        run.completed_at = change.completed_at.or(run.completed_at);
    }
    if let Some(mut output) = change.output {
        let mut annotations = std::mem::take(&mut run.output.annotations);
        annotations.append(&mut output.annotations);
        run.output = Output {
            title: output.title.or_else(|| run.output.title.take()),
            summary: output.summary.or_else(|| run.output.summary.take()),
            text: output.text.or_else(|| run.output.text.take()),
            annotations,
        };
    }
}

/// What follows from a run having changed.
fn tell(world: &mut World, repo: Id, id: Id, sender: Id, finished: bool) {
    let Some((suite, workflow_run)) = world.check_runs.get(repo, id).map(|run| (run.suite, run.workflow_run)) else {
        return;
    };
    if finished {
        emit::check_run(world, repo, id, sender, CheckRunAction::Completed);
    }
    suites::refresh(world, repo, suite, sender, if finished { Cause::RunFinished } else { Cause::RunChanged });
    if let Some(workflow_run) = workflow_run {
        workflow::refresh(world, repo, workflow_run, sender);
    }
}
