//! Issues (a pull request is one too), comments, labels and reactions.

use serde_json::{Value, json};

use super::app::app;
use super::user::simple_user;
use crate::conversation::reactions::CONTENTS;
use crate::http::iso;
use crate::world::{Comment, Id, Issue, Label, NodeKind, Reaction, ReactionSubject, Repo, World, node_id};

/// `issue`. One that is a pull request has a `pull_request` member.
pub fn issue(world: &World, issue: &Issue) -> Value {
    let number = issue.number;
    let full_name = full_name(world, issue.repo);
    let api = world.urls.api(format!("/repos/{full_name}/issues/{number}"));
    let node = if issue.is_pull { NodeKind::PullRequest } else { NodeKind::Issue };
    let mut value = json!({
        "url": api,
        "repository_url": world.urls.api(format!("/repos/{full_name}")),
        "labels_url": format!("{api}/labels{{/name}}"),
        "comments_url": format!("{api}/comments"),
        "events_url": format!("{api}/events"),
        "timeline_url": format!("{api}/timeline"),
        "html_url": issue_html_url(world, issue),
        "id": issue.id,
        "node_id": node_id(node, issue.repo, number),
        "number": number,
        "title": issue.title,
        "body": issue.body,
        "user": simple_user(world, issue.author),
        "labels": labels_of(world, issue),
        "state": issue.state,
        "state_reason": issue.state_reason,
        "locked": issue.locked,
        "active_lock_reason": lock_reason(world, issue),
        "assignee": issue.assignees.first().map(|id| simple_user(world, *id)),
        "assignees": issue.assignees.iter().map(|id| simple_user(world, *id)).collect::<Vec<_>>(),
        "milestone": null,
        "comments": world.comments.within(issue.repo).filter(|comment| comment.number == number).count(),
        "created_at": iso(issue.created_at),
        "updated_at": iso(issue.updated_at),
        "closed_at": issue.closed_at.map(iso),
        "closed_by": issue.closed_by.map(|id| simple_user(world, id)),
        "author_association": author_association(world, issue.repo, issue.author),
        "reactions": reaction_rollup(world, issue.repo, ReactionSubject::Issue(number)),
        "performed_via_github_app": via_app(world, issue.author),
    });
    if let Some(pull) = world.pulls.get(issue.repo, number) {
        let html = issue_html_url(world, issue);
        value["draft"] = pull.draft.into();
        value["pull_request"] = json!({
            "url": world.urls.api(format!("/repos/{full_name}/pulls/{number}")),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "merged_at": pull.merged.as_ref().map(|merged| iso(merged.at)),
        });
    }
    value
}

/// The labels of an issue or pull request, as they stand in both.
pub fn labels_of(world: &World, issue: &Issue) -> Vec<Value> {
    let labels = issue.labels.iter().filter_map(|id| world.labels.get(issue.repo, *id));
    labels.map(|found| label(world, found)).collect()
}

/// Why the conversation is locked, if a reason was given: the timeline remembers.
pub fn lock_reason<'w>(world: &'w World, issue: &Issue) -> Option<&'w str> {
    if !issue.locked {
        return None;
    }
    let locked = world
        .issue_events
        .within(issue.repo)
        .rev()
        .find(|event| event.number == issue.number && event.event == "locked")?;
    locked.details["lock_reason"].as_str()
}

/// `issue-comment`.
pub fn issue_comment(world: &World, comment: &Comment) -> Value {
    let full_name = full_name(world, comment.repo);
    let html = match world.issues.get(comment.repo, comment.number) {
        Some(issue) => issue_html_url(world, issue),
        None => world.urls.web(format!("/{full_name}/issues/{}", comment.number)),
    };
    json!({
        "url": world.urls.api(format!("/repos/{full_name}/issues/comments/{}", comment.id)),
        "html_url": format!("{html}#issuecomment-{}", comment.id),
        "issue_url": world.urls.api(format!("/repos/{full_name}/issues/{}", comment.number)),
        "id": comment.id,
        "node_id": node_id(NodeKind::IssueComment, comment.repo, comment.id),
        "user": simple_user(world, comment.author),
        "created_at": iso(comment.created_at),
        "updated_at": iso(comment.updated_at),
        "author_association": author_association(world, comment.repo, comment.author),
        "body": comment.body,
        "reactions": reaction_rollup(world, comment.repo, ReactionSubject::Comment(comment.id)),
        "performed_via_github_app": comment.via_app.and_then(|id| world.apps.get(0, id)).map(|via| app(world, via)),
    })
}

/// `label`.
pub fn label(world: &World, label: &Label) -> Value {
    let full_name = full_name(world, label.repo);
    json!({
        "id": label.id,
        "node_id": node_id(NodeKind::Label, label.repo, label.id),
        "url": world.urls.api(format!("/repos/{full_name}/labels/{}", path_segment(&label.name))),
        "name": label.name,
        "color": label.color,
        "default": DEFAULT_LABELS.contains(&label.name.as_str()),
        "description": label.description,
    })
}

/// The labels GitHub gives to a new repository.
const DEFAULT_LABELS: [&str; 9] = [
    "bug",
    "documentation",
    "duplicate",
    "enhancement",
    "good first issue",
    "help wanted",
    "invalid",
    "question",
    "wontfix",
];

/// `reaction`.
pub fn reaction(world: &World, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id,
        "node_id": node_id(NodeKind::Reaction, reaction.repo, reaction.id),
        "user": simple_user(world, reaction.user),
        "content": reaction.content,
        "created_at": iso(reaction.created_at),
    })
}

/// `reaction-rollup`.
pub fn reaction_rollup(world: &World, repo: Id, subject: ReactionSubject) -> Value {
    let subject_path = match subject {
        ReactionSubject::Issue(number) => format!("issues/{number}"),
        ReactionSubject::Comment(id) => format!("issues/comments/{id}"),
        ReactionSubject::ReviewComment(id) => format!("pulls/comments/{id}"),
    };
    let given: Vec<&Reaction> = world.reactions.within(repo).filter(|reaction| reaction.subject == subject).collect();
    let mut value = json!({
        "url": world.urls.api(format!("/repos/{}/{subject_path}/reactions", full_name(world, repo))),
        "total_count": given.len(),
    });
    for content in CONTENTS {
        value[content] = given.iter().filter(|reaction| reaction.content == content).count().into();
    }
    value
}

/// What someone is to a repository: `OWNER`, `MEMBER`, `COLLABORATOR`, `CONTRIBUTOR` or `NONE`.
pub fn author_association(world: &World, repo: Id, user: Id) -> &'static str {
    let Some(repo) = world.repo(repo) else { return "NONE" };
    if repo.owner == user {
        "OWNER"
    } else if world.account(repo.owner).members.contains_key(&user) {
        "MEMBER"
    } else if repo.collaborators.contains_key(&user) {
        "COLLABORATOR"
    } else if has_contributed(world, repo, user) {
        "CONTRIBUTOR"
    } else {
        "NONE"
    }
}

fn has_contributed(world: &World, repo: &Repo, user: Id) -> bool {
    world.pulls.within(repo.id).any(|pull| {
        pull.merged.is_some() && world.issues.get(repo.id, pull.number).is_some_and(|issue| issue.author == user)
    })
}

/// The page of an issue or pull request.
pub fn issue_html_url(world: &World, issue: &Issue) -> String {
    let kind = if issue.is_pull { "pull" } else { "issues" };
    world.urls.web(format!("/{}/{kind}/{}", full_name(world, issue.repo), issue.number))
}

pub(super) fn full_name(world: &World, repo: Id) -> String {
    world.repo(repo).map(|repo| world.full_name(repo)).unwrap_or_default()
}

/// `performed_via_github_app` of what this account did: the app whose bot it is.
pub(super) fn via_app(world: &World, account: Id) -> Option<Value> {
    world.apps.all().find(|app| app.bot == account).map(|found| app(world, found))
}

/// Percent-encodes what may not stand in a part of a path.
fn path_segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
