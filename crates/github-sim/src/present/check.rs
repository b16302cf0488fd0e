//! Statuses, check runs and check suites.

use serde_json::{Value, json};

use super::{app, minimal_repo, simple_user};
use crate::checks;
use crate::git::CommitObject;
use crate::http::iso;
use crate::rollup;
use crate::world::{
    Annotation, CheckRun, CheckSuite, CommitStatus, Id, IssueState, NodeKind, Pull, Repo, StatusState, World, node_id,
};

/// `check-run`.
pub fn check_run(world: &World, repo: &Repo, run: &CheckRun) -> Value {
    let full_name = world.full_name(repo);
    let api = |path: &str| world.urls.api(format!("/repos/{full_name}/check-runs/{}{path}", run.id));
    json!({
        "id": run.id,
        "node_id": node_id(NodeKind::CheckRun, repo.id, run.id),
        "name": run.name,
        "head_sha": run.head_sha,
        "external_id": run.external_id,
        "url": api(""),
        "html_url": world.urls.web(format!("/{full_name}/runs/{}", run.id)),
        "details_url": run.details_url,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": run.started_at.map(iso),
        "completed_at": run.completed_at.map(iso),
        "output": {
            "title": run.output.title,
            "summary": run.output.summary,
            "text": run.output.text,
            "annotations_count": run.output.annotations.len(),
            "annotations_url": api("/annotations"),
        },
        "check_suite": { "id": run.suite },
        "app": app_of(world, run.app),
        "pull_requests": pull_requests(world, repo, &run.head_sha),
    })
}

/// `check-annotation`.
pub fn annotation(world: &World, repo: &Repo, run: &CheckRun, annotation: &Annotation) -> Value {
    let blob = format!("/{}/blob/{}/{}", world.full_name(repo), run.head_sha, annotation.path);
    json!({
        "path": annotation.path,
        "blob_href": world.urls.web(blob),
        "start_line": annotation.start_line,
        "end_line": annotation.end_line,
        "start_column": annotation.start_column,
        "end_column": annotation.end_column,
        "annotation_level": annotation.annotation_level,
        "title": annotation.title,
        "message": annotation.message,
        "raw_details": annotation.raw_details,
    })
}

/// `check-suite`, but for `head_commit`, which only git knows: see [`with_head_commit`].
pub fn check_suite(world: &World, repo: &Repo, suite: &CheckSuite) -> Value {
    let url = world.urls.api(format!("/repos/{}/check-suites/{}", world.full_name(repo), suite.id));
    json!({
        "id": suite.id,
        "node_id": node_id(NodeKind::CheckSuite, repo.id, suite.id),
        "head_branch": suite.head_branch,
        "head_sha": suite.head_sha,
        "status": suite.status,
        "conclusion": suite.conclusion,
        "url": url,
        "before": suite.before,
        "after": suite.head_sha,
        "pull_requests": pull_requests(world, repo, &suite.head_sha),
        "app": app_of(world, suite.app),
        "created_at": iso(suite.created_at),
        "updated_at": iso(suite.updated_at),
        "rerequestable": true,
        "runs_rerequestable": true,
        "latest_check_runs_count": checks::latest_runs(world, suite).len(),
        "check_runs_url": format!("{url}/check-runs"),
        "head_commit": null,
        "repository": minimal_repo(world, repo),
    })
}

/// Adds what only git knows of the commit that a check suite or a workflow run is about.
pub fn with_head_commit(mut value: Value, commit: &CommitObject) -> Value {
    value["head_commit"] = super::simple_commit(commit);
    if value["display_title"].is_null() && value.get("display_title").is_some() {
        value["display_title"] = commit.title().into();
    }
    value
}

/// `status`.
pub fn status(world: &World, repo: &Repo, status: &CommitStatus) -> Value {
    let mut value = simple_commit_status(world, repo, status);
    value["creator"] = simple_user(world, status.creator);
    value
}

/// `simple-commit-status`.
pub fn simple_commit_status(world: &World, repo: &Repo, status: &CommitStatus) -> Value {
    json!({
        "url": world.urls.api(format!("/repos/{}/statuses/{}", world.full_name(repo), status.sha)),
        "avatar_url": simple_user(world, status.creator)["avatar_url"],
        "id": status.id,
        "node_id": node_id(NodeKind::StatusContext, repo.id, status.id),
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": iso(status.created_at),
        "updated_at": iso(status.updated_at),
    })
}

/// `combined-commit-status`, with `shown` of the newest statuses of each context.
pub fn combined_commit_status(
    world: &World,
    repo: &Repo,
    sha: &str,
    latest: &[&CommitStatus],
    shown: &[&CommitStatus],
) -> Value {
    let api = |path: String| world.urls.api(format!("/repos/{}{path}", world.full_name(repo)));
    json!({
        "state": combined_state(latest),
        "statuses": shown.iter().map(|status| simple_commit_status(world, repo, status)).collect::<Vec<_>>(),
        "sha": sha,
        "total_count": latest.len(),
        "repository": minimal_repo(world, repo),
        "commit_url": api(format!("/commits/{sha}")),
        "url": api(format!("/commits/{sha}/status")),
    })
}

/// Nothing said counts as pending.
fn combined_state(latest: &[&CommitStatus]) -> StatusState {
    let any = |state| latest.iter().any(|status| status.state == state);
    if any(StatusState::Failure) || any(StatusState::Error) {
        StatusState::Failure
    } else if latest.is_empty() || any(StatusState::Pending) {
        StatusState::Pending
    } else {
        StatusState::Success
    }
}

/// The newest status of each context.
pub fn latest_statuses<'w>(world: &'w World, repo: Id, sha: &str) -> Vec<&'w CommitStatus> {
    rollup::contexts(world, repo, sha)
        .into_iter()
        .filter_map(|context| match context {
            rollup::Context::Status(status) => Some(status),
            rollup::Context::Run(_) => None,
        })
        .collect()
}

pub(super) fn app_of(world: &World, id: Id) -> Value {
    world.apps.get(0, id).map_or(Value::Null, |found| app(world, found))
}

/// `pull-request-minimal` of every open pull request of this repository whose head is `sha`; a fork's are not shown.
pub(super) fn pull_requests(world: &World, repo: &Repo, sha: &str) -> Vec<Value> {
    let is_open =
        |pull: &&Pull| world.issues.get(repo.id, pull.number).is_some_and(|issue| issue.state == IssueState::Open);
    world
        .pulls
        .within(repo.id)
        .filter(|pull| pull.head_sha == sha && !pull.is_fork())
        .filter(is_open)
        .map(|pull| {
            let url = world.urls.api(format!("/repos/{}", world.full_name(repo)));
            let brief = json!({ "id": repo.id, "url": url, "name": repo.name });
            json!({
                "url": format!("{url}/pulls/{}", pull.number),
                "id": pull.id,
                "number": pull.number,
                "head": { "ref": pull.head_ref, "sha": pull.head_sha, "repo": brief },
                "base": { "ref": pull.base_ref, "sha": pull.base_sha, "repo": brief },
            })
        })
        .collect()
}
