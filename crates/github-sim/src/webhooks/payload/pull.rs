//! Pull requests, their reviews and review threads.

use serde_json::{Value, json};

use super::merging_repository;
use super::talk::label;
use crate::present;
use crate::webhooks::emit::{CommentAction, PullAction, ReviewAction};
use crate::world::{NodeKind, Pull, Review, ReviewComment, ReviewThread, World, node_id};

pub fn pull_request(world: &World, found: &Pull, action: &PullAction) -> Value {
    let mut payload = json!({ "number": found.number });
    match action {
        PullAction::Edited { changes } => payload["changes"] = changes.clone(),
        PullAction::Synchronize { before, after } => {
            payload["before"] = before.as_str().into();
            payload["after"] = after.as_str().into();
        }
        _ => {}
    }
    payload["pull_request"] = with_repositories(world, found, present::pull(world, found));
    if action.unsettles() {
        let pull = &mut payload["pull_request"];
        pull["mergeable"] = Value::Null;
        pull["rebaseable"] = Value::Null;
        pull["mergeable_state"] = "unknown".into();
    }
    match action {
        PullAction::Labeled { label: id } | PullAction::Unlabeled { label: id } => {
            payload["label"] = label(world, found.repo, *id);
        }
        PullAction::Assigned { assignee } | PullAction::Unassigned { assignee } => {
            payload["assignee"] = present::simple_user(world, *assignee);
        }
        PullAction::ReviewRequested { reviewer } | PullAction::ReviewRequestRemoved { reviewer } => {
            payload["requested_reviewer"] = present::simple_user(world, *reviewer);
        }
        _ => {}
    }
    payload
}

pub fn review(world: &World, pull: &Pull, found: &Review, action: &ReviewAction) -> Value {
    let mut payload = json!({});
    if let ReviewAction::Edited { body_from } = action {
        payload["changes"] = json!({ "body": { "from": body_from } });
    }
    let mut review = present::review(world, found);
    // Webhooks alone write it in small letters.
    review["state"] = found.state.as_str().to_ascii_lowercase().into();
    review["submitted_at"] = found.submitted_at.map(crate::http::iso).into();
    payload["review"] = review;
    payload["pull_request"] = simple(world, pull);
    payload
}

pub fn review_comment(world: &World, pull: &Pull, found: &ReviewComment, action: &CommentAction) -> Value {
    let mut payload = json!({});
    if let CommentAction::Edited { body_from } = action {
        payload["changes"] = json!({ "body": { "from": body_from } });
    }
    payload["comment"] = present::review_comment(world, found);
    payload["pull_request"] = simple(world, pull);
    payload
}

pub fn review_thread(world: &World, pull: &Pull, found: &ReviewThread) -> Value {
    let comments = world.review_comments.within(found.repo).filter(|comment| comment.thread == found.id);
    json!({
        "pull_request": simple(world, pull),
        "thread": {
            "node_id": node_id(NodeKind::ReviewThread, found.repo, found.id),
            "comments": comments.map(|comment| present::review_comment(world, comment)).collect::<Vec<_>>(),
        },
    })
}

fn simple(world: &World, pull: &Pull) -> Value {
    with_repositories(world, pull, present::simple_pull(world, pull))
}

/// A webhook shows at both ends how the repository merges.
fn with_repositories(world: &World, pull: &Pull, mut value: Value) -> Value {
    for (end, repo) in [("head", pull.head_repo), ("base", Some(pull.repo))] {
        if let Some(repo) = repo.and_then(|id| world.repo(id)) {
            value[end]["repo"] = merging_repository(world, repo);
        }
    }
    value
}
