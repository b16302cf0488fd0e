//! Opening, editing and closing issues; locking and assigning, which is the same with pull requests.

use serde_json::{Value, json};

use super::{check_length, note_event, touch};
use crate::http::ApiError;
use crate::webhooks::emit::{self, IssueAction, PullAction};
use crate::world::{AccountKind, Id, Issue, IssueState, World};

const LONGEST_TITLE_CHARS: usize = 256;
/// As many people as GitHub lets be assigned to one issue.
const MOST_ASSIGNEES: usize = 10;

pub fn open_issue(world: &mut World, actor: Id, repo: Id, title: &str, body: Option<&str>) -> Result<u64, ApiError> {
    check_words(Some(title), body)?;
    let (number, id, now) = (world.next_number(repo), world.next_id(), world.now);
    world.issues.insert(Issue {
        repo,
        number,
        id,
        title: title.to_owned(),
        body: body.map(str::to_owned),
        author: actor,
        state: IssueState::Open,
        state_reason: None,
        labels: Vec::new(),
        assignees: Vec::new(),
        locked: false,
        is_pull: false,
        created_at: now,
        updated_at: now,
        closed_at: None,
        closed_by: None,
    });
    emit::issues(world, repo, number, actor, IssueAction::Opened);
    Ok(number)
}

/// Whether GitHub takes such a title and such a body.
pub fn check_words(title: Option<&str>, body: Option<&str>) -> Result<(), ApiError> {
    title.map(check_title).transpose()?;
    check_length("Issue", body.unwrap_or_default())
}

/// Gives an issue another title, another body, or both: one `edited` event with what they were.
pub fn edit_text(
    world: &mut World,
    actor: Id,
    repo: Id,
    number: u64,
    title: Option<&str>,
    body: Option<Option<&str>>,
) -> Result<(), ApiError> {
    check_words(title, body.flatten())?;
    let issue = world.issues.get(repo, number).ok_or_else(ApiError::not_found)?;
    let title = title.filter(|title| *title != issue.title).map(str::to_owned);
    let body = body.filter(|body| *body != issue.body.as_deref()).map(|body| body.map(str::to_owned));
    let mut changes = json!({});
    let mut rename = None;
    if title.is_none() && body.is_none() {
        return Ok(());
    }
    let issue = touch(world, repo, number)?;
    if let Some(title) = title {
        let from = std::mem::replace(&mut issue.title, title.clone());
        changes["title"] = json!({ "from": from });
        rename = Some(json!({ "rename": { "from": from, "to": title } }));
    }
    if let Some(body) = body {
        let from = std::mem::replace(&mut issue.body, body);
        changes["body"] = json!({ "from": from.unwrap_or_default() });
    }
    if let Some(rename) = rename {
        note_event(world, repo, number, actor, "renamed", rename);
    }
    emit::issues(world, repo, number, actor, IssueAction::Edited { changes });
    Ok(())
}

/// Closes an issue or opens it again. What it takes with a pull request, `pulls` knows.
pub fn set_state(
    world: &mut World,
    actor: Id,
    repo: Id,
    number: u64,
    state: IssueState,
    reason: Option<&str>,
) -> Result<(), ApiError> {
    let now = world.now;
    let issue = world.issues.edit(repo, number).ok_or_else(ApiError::not_found)?;
    let reason = match (state, reason) {
        (IssueState::Closed, None | Some("reopened")) => "completed",
        (IssueState::Closed, Some(reason)) => reason,
        (IssueState::Open, _) => "reopened",
    };
    if issue.state == state {
        if state == IssueState::Closed {
            issue.state_reason = Some(reason.to_owned());
        }
        return Ok(());
    }
    issue.state = state;
    issue.state_reason = Some(reason.to_owned());
    issue.updated_at = now;
    let closed = state == IssueState::Closed;
    issue.closed_at = closed.then_some(now);
    issue.closed_by = closed.then_some(actor);
    if closed {
        note_event(world, repo, number, actor, "closed", json!({ "state_reason": reason }));
        emit::issues(world, repo, number, actor, IssueAction::Closed);
    } else {
        note_event(world, repo, number, actor, "reopened", json!({ "state_reason": reason }));
        emit::issues(world, repo, number, actor, IssueAction::Reopened);
    }
    Ok(())
}

/// Locks the conversation, with a reason if one was given.
pub fn lock(world: &mut World, actor: Id, repo: Id, number: u64, reason: Option<&str>) -> Result<(), ApiError> {
    if reason.is_some_and(|reason| !["off-topic", "too heated", "resolved", "spam"].contains(&reason)) {
        return Err(ApiError::validation("Issue", "lock_reason", "invalid"));
    }
    if !world.issues.get(repo, number).ok_or_else(ApiError::not_found)?.locked {
        touch(world, repo, number)?.locked = true;
        note_event(world, repo, number, actor, "locked", json!({ "lock_reason": reason }));
        tell(world, actor, repo, number, IssueAction::Locked, PullAction::Locked);
    }
    Ok(())
}

pub fn unlock(world: &mut World, actor: Id, repo: Id, number: u64) -> Result<(), ApiError> {
    if world.issues.get(repo, number).ok_or_else(ApiError::not_found)?.locked {
        touch(world, repo, number)?.locked = false;
        note_event(world, repo, number, actor, "unlocked", json!({ "lock_reason": null }));
        tell(world, actor, repo, number, IssueAction::Unlocked, PullAction::Unlocked);
    }
    Ok(())
}

/// Tells of it as what it is: an issue or a pull request.
pub(super) fn tell(world: &mut World, actor: Id, repo: Id, number: u64, of_issue: IssueAction, of_pull: PullAction) {
    if world.pulls.get(repo, number).is_some() {
        emit::pull_request(world, repo, number, actor, of_pull);
    } else {
        emit::issues(world, repo, number, actor, of_issue);
    }
}

/// Those who have a part in the repository may be assigned, and who opened or commented on the issue.
pub fn may_be_assigned(world: &World, repo: Id, number: Option<u64>, user: Id) -> bool {
    let Some(repo) = world.repo(repo) else { return false };
    let has_part = repo.owner == user
        || repo.collaborators.contains_key(&user)
        || world.account(repo.owner).members.contains_key(&user);
    let took_part = number.is_some_and(|number| {
        world.issues.get(repo.id, number).is_some_and(|issue| issue.author == user)
            || world.comments.within(repo.id).any(|comment| comment.number == number && comment.author == user)
    });
    world.account(user).kind == AccountKind::User && (has_part || took_part)
}

/// Assigns and unassigns, so that these are assigned.
pub fn set_assignees(world: &mut World, actor: Id, repo: Id, number: u64, wanted: &[Id]) -> Result<(), ApiError> {
    let had = world.issues.get(repo, number).ok_or_else(ApiError::not_found)?.assignees.clone();
    if wanted.len() > MOST_ASSIGNEES {
        return Err(ApiError::validation_message(
            "Issue",
            format!("An issue can have at most {MOST_ASSIGNEES} assignees"),
        ));
    }
    for assignee in had.iter().filter(|id| !wanted.contains(id)) {
        touch(world, repo, number)?.assignees.retain(|id| id != assignee);
        note_event(world, repo, number, actor, "unassigned", assignment(*assignee, actor));
        let assignee = *assignee;
        tell(world, actor, repo, number, IssueAction::Unassigned { assignee }, PullAction::Unassigned { assignee });
    }
    for assignee in wanted.iter().filter(|id| !had.contains(id)) {
        touch(world, repo, number)?.assignees.push(*assignee);
        note_event(world, repo, number, actor, "assigned", assignment(*assignee, actor));
        let assignee = *assignee;
        tell(world, actor, repo, number, IssueAction::Assigned { assignee }, PullAction::Assigned { assignee });
    }
    Ok(())
}

fn assignment(assignee: Id, assigner: Id) -> Value {
    json!({ "assignee": assignee, "assigner": assigner })
}

fn check_title(title: &str) -> Result<(), ApiError> {
    if title.trim().is_empty() {
        return Err(ApiError::validation("Issue", "title", "missing_field"));
    }
    if title.chars().count() > LONGEST_TITLE_CHARS {
        let mut error = ApiError::unprocessable("Validation Failed");
        let message = format!("title is too long (maximum is {LONGEST_TITLE_CHARS} characters)");
        error.errors.push(json!({ "resource": "Issue", "code": "custom", "field": "title", "message": message }));
        return Err(error);
    }
    Ok(())
}
