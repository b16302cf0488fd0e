//! Issues and their comments.

use serde_json::{Value, json};

use super::{with_old_app, without};
use crate::present;
use crate::webhooks::emit::{CommentAction, IssueAction};
use crate::world::{Comment, Id, Issue, World};

pub fn issues(world: &World, found: &Issue, action: &IssueAction) -> Value {
    let mut payload = json!({ "issue": issue(world, found) });
    match action {
        IssueAction::Edited { changes } => payload["changes"] = changes.clone(),
        IssueAction::Labeled { label: id } | IssueAction::Unlabeled { label: id } => {
            payload["label"] = label(world, found.repo, *id);
        }
        IssueAction::Assigned { assignee } | IssueAction::Unassigned { assignee } => {
            payload["assignee"] = present::simple_user(world, *assignee);
        }
        IssueAction::Opened
        | IssueAction::Closed
        | IssueAction::Reopened
        | IssueAction::Locked
        | IssueAction::Unlocked => {}
    }
    payload
}

pub fn issue_comment(world: &World, found: &Issue, comment: &Comment, action: &CommentAction) -> Value {
    let mut payload = json!({});
    if let CommentAction::Edited { body_from } = action {
        payload["changes"] = json!({ "body": { "from": body_from } });
    }
    payload["issue"] = issue(world, found);
    payload["comment"] = with_old_app(present::issue_comment(world, comment));
    payload
}

pub fn label_changed(world: &World, repo: Id, id: Id, changes: Option<Value>) -> Value {
    let mut payload = json!({ "label": label(world, repo, id) });
    if let Some(changes) = changes {
        payload["changes"] = changes;
    }
    payload
}

pub fn label(world: &World, repo: Id, label: Id) -> Value {
    world.labels.get(repo, label).map_or(Value::Null, |label| present::label(world, label))
}

fn issue(world: &World, issue: &Issue) -> Value {
    with_old_app(without(present::issue(world, issue), &["closed_by"]))
}
