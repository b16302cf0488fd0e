//! What happened to an issue or pull request, event by event.

use serde_json::{Value, json};

use super::issue::{issue, issue_comment, via_app};
use super::review::review;
use super::user::{merge, simple_user};
use crate::http::iso;
use crate::world::{IssueEvent, NodeKind, ReviewState, World, node_id};

/// `issue-event-for-issue`. Why an issue was closed stands only in the timeline, who assigned someone only here.
pub fn issue_event(world: &World, event: &IssueEvent) -> Value {
    without(entry(world, event), "state_reason")
}

fn timeline_event(world: &World, event: &IssueEvent) -> Value {
    without(entry(world, event), "assigner")
}

fn without(mut event: Value, member: &str) -> Value {
    if let Value::Object(members) = &mut event {
        members.remove(member);
    }
    event
}

fn entry(world: &World, event: &IssueEvent) -> Value {
    let full_name = world.repo(event.repo).map(|repo| world.full_name(repo)).unwrap_or_default();
    let mut value = json!({
        "id": event.id,
        "node_id": node_id(NodeKind::IssueEvent, event.repo, event.id),
        "url": world.urls.api(format!("/repos/{full_name}/issues/events/{}", event.id)),
        "actor": simple_user(world, event.actor),
        "event": event.event,
        "commit_id": null,
        "commit_url": null,
        "created_at": iso(event.created_at),
        "performed_via_github_app": via_app(world, event.actor),
    });
    let mut details = event.details.clone();
    if let Some(details) = details.as_object_mut() {
        // Only GraphQL tells the commit before a force-push.
        details.remove("before");
    }
    merge(&mut value, details);
    for person in ["assignee", "assigner", "review_requester", "requested_reviewer"] {
        if let Some(id) = value.get(person).and_then(Value::as_u64) {
            value[person] = simple_user(world, id);
        }
    }
    if let Some(sha) = value["commit_id"].as_str() {
        value["commit_url"] = world.urls.api(format!("/repos/{full_name}/commits/{sha}")).into();
    }
    value
}

/// `issue-event`: the same with the issue it happened to.
pub fn issue_event_with_issue(world: &World, event: &IssueEvent) -> Value {
    let mut value = issue_event(world, event);
    value["issue"] = world.issues.get(event.repo, event.number).map(|found| issue(world, found)).into();
    value
}

/// Everything about one issue or pull request, oldest first: its events, comments and reviews.
pub fn timeline(world: &World, repo: crate::world::Id, number: u64) -> Vec<Value> {
    let mut entries = Vec::new();
    for event in world.issue_events.within(repo).filter(|event| event.number == number) {
        entries.push((event.created_at, event.id, timeline_event(world, event)));
    }
    for comment in world.comments.within(repo).filter(|comment| comment.number == number) {
        let mut value = issue_comment(world, comment);
        value["event"] = "commented".into();
        value["actor"] = value["user"].clone();
        entries.push((comment.created_at, comment.id, value));
    }
    for found in world.reviews.within(repo).filter(|review| review.number == number) {
        let Some(at) = found.submitted_at.filter(|_| found.state != ReviewState::Pending) else { continue };
        let mut value = review(world, found);
        value["event"] = "reviewed".into();
        value["state"] = found.state.as_str().to_lowercase().into();
        entries.push((at, found.id, value));
    }
    entries.sort_by_key(|(at, id, _)| (*at, *id));
    entries.into_iter().map(|(_, _, value)| value).collect()
}
