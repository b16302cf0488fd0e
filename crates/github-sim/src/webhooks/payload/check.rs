//! What is said about commits. What only git knows of the commit is added before it is sent.

use serde_json::{Value, json};

use super::{old_app, without};
use crate::present;
use crate::webhooks::emit::CheckSuiteAction;
use crate::world::{CheckRun, CheckSuite, CommitStatus, Repo, WorkflowRun, World};

pub fn check_run(world: &World, repo: &Repo, run: &CheckRun) -> Value {
    let mut value = present::check_run(world, repo, run);
    old_app(&mut value["app"]);
    if value["details_url"].is_null() {
        value["details_url"] = value["html_url"].clone();
    }
    if value["started_at"].is_null() {
        value["started_at"] = crate::http::iso(run.created_at).into();
    }
    if let Some(suite) = world.check_suites.get(repo.id, run.suite) {
        let unknown =
            ["head_commit", "check_runs_url", "latest_check_runs_count", "rerequestable", "runs_rerequestable"];
        value["check_suite"] = without(suite_value(world, repo, suite), &unknown);
    }
    json!({ "check_run": value })
}

pub fn check_suite(world: &World, repo: &Repo, suite: &CheckSuite, action: CheckSuiteAction) -> Value {
    let value = suite_value(world, repo, suite);
    let unknown: &[&str] = match action {
        CheckSuiteAction::Rerequested => &["rerequestable", "runs_rerequestable"],
        CheckSuiteAction::Requested | CheckSuiteAction::Completed => &[],
    };
    json!({ "check_suite": without(value, unknown) })
}

fn suite_value(world: &World, repo: &Repo, suite: &CheckSuite) -> Value {
    let mut value = without(present::check_suite(world, repo, suite), &["repository"]);
    old_app(&mut value["app"]);
    value
}

pub fn status(world: &World, repo: &Repo, status: &CommitStatus) -> Value {
    let shown = present::status(world, repo, status);
    let mut payload = json!({ "id": status.id, "sha": status.sha, "name": world.full_name(repo) });
    for name in ["avatar_url", "target_url", "context", "description", "state"] {
        payload[name] = shown[name].clone();
    }
    payload["commit"] = Value::Null;
    payload["branches"] = json!([]);
    payload["created_at"] = shown["created_at"].clone();
    payload["updated_at"] = shown["updated_at"].clone();
    payload
}

pub fn workflow_run(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    json!({ "workflow_run": present::workflow_run(world, repo, run), "workflow": present::workflow(world, repo) })
}
