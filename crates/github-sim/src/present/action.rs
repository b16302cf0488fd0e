//! GitHub Actions: workflows, their runs and jobs.

use serde_json::{Value, json};

use super::check::pull_requests;
use super::{minimal_repo, simple_user};
use crate::http::iso;
use crate::world::{CheckRun, NodeKind, Repo, RunStatus, WorkflowRun, World, node_id};

/// Where a workflow would be, had the simulator read it from there.
pub const WORKFLOW_PATH: &str = ".github/workflows/ci.yml";

/// `workflow`. A repository has one, as it has one CI definition, and they share their id.
pub fn workflow(world: &World, repo: &Repo) -> Value {
    let full_name = world.full_name(repo);
    let name = repo.ci.as_ref().and_then(|ci| ci.name.clone());
    let name = name.or_else(|| world.workflow_runs.within(repo.id).next_back().map(|run| run.name.clone()));
    let html = world.urls.web(format!("/{full_name}"));
    json!({
        "id": repo.id,
        "node_id": node_id(NodeKind::Workflow, 0, repo.id),
        "name": name.unwrap_or_else(|| crate::ci::DEFAULT_WORKFLOW_NAME.to_owned()),
        "path": WORKFLOW_PATH,
        "state": if repo.ci.is_some() { "active" } else { "deleted" },
        "created_at": iso(repo.created_at),
        "updated_at": iso(repo.updated_at),
        "url": world.urls.api(format!("/repos/{full_name}/actions/workflows/{}", repo.id)),
        "html_url": format!("{html}/blob/{}/{WORKFLOW_PATH}", repo.default_branch),
        "badge_url": format!("{html}/workflows/CI/badge.svg"),
    })
}

/// `workflow-run`, but for what only git knows of its commit: see [`super::with_head_commit`].
pub fn workflow_run(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    let full_name = world.full_name(repo);
    let api = |path: String| world.urls.api(format!("/repos/{full_name}{path}"));
    let url = api(format!("/actions/runs/{}", run.id));
    let attempt_before = (run.run_attempt > 1).then(|| format!("{url}/attempts/{}", run.run_attempt - 1));
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": node_id(NodeKind::WorkflowRun, repo.id, run.id),
        "check_suite_id": run.suite,
        "check_suite_node_id": node_id(NodeKind::CheckSuite, repo.id, run.suite),
        "head_branch": run.head_branch,
        "head_sha": run.head_sha,
        "path": run.path,
        "run_number": run.run_number,
        "run_attempt": run.run_attempt,
        "referenced_workflows": [],
        "event": run.event,
        "display_title": title_of_pull(world, run),
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.workflow_id,
        "url": url,
        "html_url": world.urls.web(format!("/{full_name}/actions/runs/{}", run.id)),
        "pull_requests": pull_requests(world, repo, &run.head_sha),
        "created_at": iso(run.created_at),
        "updated_at": iso(run.updated_at),
        "actor": simple_user(world, run.actor),
        "triggering_actor": simple_user(world, run.triggering_actor),
        "run_started_at": iso(run.run_started_at),
        "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"),
        "check_suite_url": api(format!("/check-suites/{}", run.suite)),
        "artifacts_url": format!("{url}/artifacts"),
        "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"),
        "previous_attempt_url": attempt_before,
        "workflow_url": api(format!("/actions/workflows/{}", run.workflow_id)),
        "head_commit": null,
        "repository": minimal_repo(world, repo),
        "head_repository": minimal_repo(world, repo),
    })
}

/// A run for a pull request carries its title; one for a push carries the commit's, which only git knows.
fn title_of_pull<'w>(world: &'w World, run: &WorkflowRun) -> Option<&'w str> {
    if run.event != "pull_request" {
        return None;
    }
    let pull = world.pulls.within(run.repo).find(|pull| pull.head_sha == run.head_sha)?;
    world.issues.get(run.repo, pull.number).map(|issue| issue.title.as_str())
}

/// `job`.
pub fn job(world: &World, repo: &Repo, workflow_run: &WorkflowRun, run: &CheckRun) -> Value {
    let full_name = world.full_name(repo);
    let api = |path: String| world.urls.api(format!("/repos/{full_name}{path}"));
    let taken = run.status != RunStatus::Queued;
    json!({
        "id": run.id,
        "run_id": workflow_run.id,
        "run_url": api(format!("/actions/runs/{}", workflow_run.id)),
        "run_attempt": run.run_attempt,
        "node_id": node_id(NodeKind::CheckRun, repo.id, run.id),
        "head_sha": run.head_sha,
        "head_branch": workflow_run.head_branch,
        "workflow_name": workflow_run.name,
        "url": api(format!("/actions/jobs/{}", run.id)),
        "html_url": world.urls.web(format!("/{full_name}/actions/runs/{}/job/{}", workflow_run.id, run.id)),
        "status": run.status,
        "conclusion": run.conclusion,
        "created_at": iso(run.created_at),
        "started_at": iso(run.started_at.unwrap_or(run.created_at)),
        "completed_at": run.completed_at.map(iso),
        "name": run.name,
        "steps": run.steps.iter().map(|step| json!({
            "name": step.name,
            "status": step.status,
            "conclusion": step.conclusion,
            "number": step.number,
            "started_at": step.started_at.map(iso),
            "completed_at": step.completed_at.map(iso),
        })).collect::<Vec<_>>(),
        "check_run_url": api(format!("/check-runs/{}", run.id)),
        "labels": ["ubuntu-latest"],
        "runner_id": taken.then_some(1),
        "runner_name": taken.then_some("GitHub Actions 1"),
        "runner_group_id": taken.then_some(0),
        "runner_group_name": taken.then_some("GitHub Actions"),
    })
}
