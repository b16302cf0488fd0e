//! Changing a pull request: its words, its base, closing it and opening it again.

use serde_json::{Map, json};

use super::lifecycle::{change_base, close};
use super::open::{lock_both, open_between};
use super::{find, is_open, stack_of};
use crate::Sim;
use crate::conversation::note_event;
use crate::http::ApiError;
use crate::webhooks::emit::{self, PullAction};
use crate::world::{Id, IssueState, Pull, Sha, World};

#[derive(Default)]
pub struct Edit {
    pub title: Option<String>,
    /// `Some(None)` empties it.
    pub body: Option<Option<String>>,
    pub state: Option<IssueState>,
    pub base: Option<String>,
    pub maintainer_can_modify: Option<bool>,
}

pub async fn edit(sim: &Sim, actor: Id, repo: Id, number: u64, edit: Edit) -> Result<(), ApiError> {
    let head_repo = sim.read(|world| find(world, repo, number).map(|(pull, _)| pull.head_repo.unwrap_or(repo)))?;
    let _guards = lock_both(sim, repo, head_repo).await;
    if edit.title.as_deref().is_some_and(|title| title.trim().is_empty()) {
        return Err(ApiError::validation("PullRequest", "title", "missing_field"));
    }
    let (pull, state) = sim.read(|world| find(world, repo, number).map(|(pull, issue)| (pull.clone(), issue.state)))?;
    let base = edit.base.as_deref().filter(|base| *base != pull.base_ref);
    if let Some(base) = base {
        check_base(sim, &pull, base).await?;
    }
    let reopened_at = match (state, edit.state) {
        (IssueState::Closed, Some(IssueState::Open)) => Some(check_reopen(sim, &pull).await?),
        _ => None,
    };
    sim.write(|world| {
        change_words(world, actor, repo, number, &edit);
        if let Some(base) = base {
            change_base(world, actor, repo, number, base);
        }
        if edit.state == Some(IssueState::Closed) {
            close(world, actor, repo, number);
        }
        if let Some(head) = reopened_at {
            reopen(world, actor, repo, number, head);
        }
        if let Some(allowed) = edit.maintainer_can_modify {
            world.pulls.edit(repo, number).expect("found above").maintainer_can_modify = allowed && pull.is_fork();
        }
        Ok(())
    })
}

fn change_words(world: &mut World, actor: Id, repo: Id, number: u64, edit: &Edit) {
    let now = world.now;
    let issue = world.issues.edit(repo, number).expect("the caller found it");
    let mut changes = Map::new();
    let mut renamed = None;
    if let Some(title) = edit.title.as_ref().filter(|title| **title != issue.title) {
        let old = std::mem::replace(&mut issue.title, title.clone());
        changes.insert("title".into(), json!({ "from": old }));
        renamed = Some(json!({ "rename": { "from": old, "to": title } }));
    }
    if let Some(body) = edit.body.as_ref().filter(|body| **body != issue.body) {
        let old = std::mem::replace(&mut issue.body, body.clone());
        changes.insert("body".into(), json!({ "from": old.unwrap_or_default() }));
    }
    if changes.is_empty() {
        return;
    }
    issue.updated_at = now;
    if let Some(details) = renamed {
        note_event(world, repo, number, actor, "renamed", details);
    }
    emit::pull_request(world, repo, number, actor, PullAction::Edited { changes: changes.into() });
}

async fn check_base(sim: &Sim, pull: &Pull, base: &str) -> Result<(), ApiError> {
    let refused = |message: String| ApiError::validation_message("PullRequest", message);
    let head = &pull.head_ref;
    let tip = sim.read(|world| {
        if !is_open(world, pull) {
            return Err(refused("Cannot change the base branch of a closed pull request.".into()));
        }
        if stack_of(world, pull).is_some() {
            return Err(refused("Cannot change the base branch of a pull request that is part of a stack.".into()));
        }
        let tip =
            world.branch(pull.repo, base).ok_or_else(|| ApiError::validation("PullRequest", "base", "invalid"))?;
        if pull.head_repo.is_some_and(|head_repo| open_between(world, pull.repo, head_repo, head, base).is_some()) {
            return Err(refused(format!(
                "A pull request already exists for base branch '{base}' and head branch '{head}'"
            )));
        }
        Ok(tip.clone())
    })?;
    if sim.git(pull.repo).is_ancestor(&pull.head_sha, &tip).await? {
        return Err(refused(format!("There are no new commits between base branch '{base}' and head branch '{head}'")));
    }
    Ok(())
}

/// Whether it may be opened again; the head it then has.
async fn check_reopen(sim: &Sim, pull: &Pull) -> Result<Sha, ApiError> {
    let refused = |why: String| ApiError::validation_message("PullRequest", format!("state cannot be changed. {why}"));
    let (head, base) = sim.read(|world| {
        if pull.merged.is_some() {
            return Err(refused("The pull request has already been merged.".into()));
        }
        let deleted = |branch: &str| refused(format!("The {branch} branch has been deleted."));
        let head_repo = pull.head_repo.filter(|id| world.repo(*id).is_some());
        let head_repo = head_repo.ok_or_else(|| refused("The repository that submitted it is gone.".into()))?;
        let head = world.branch(head_repo, &pull.head_ref).ok_or_else(|| deleted(&pull.head_ref))?;
        let base = world.branch(pull.repo, &pull.base_ref).ok_or_else(|| deleted(&pull.base_ref))?;
        if open_between(world, pull.repo, head_repo, &pull.head_ref, &pull.base_ref).is_some() {
            let (owner, name) = (&pull.head_owner, &pull.head_ref);
            let why = format!("There is already an open pull request from {owner}:{name} to {}.", pull.base_ref);
            return Err(refused(why));
        }
        Ok((head.clone(), base.clone()))
    })?;
    let git = sim.git(pull.repo);
    if let Some(head_repo) = pull.head_repo {
        git.fetch_from(&sim.git(head_repo), &head).await?;
    }
    if !git.is_ancestor(&pull.head_sha, &head).await? {
        return Err(refused(format!("The {} branch was force-pushed or recreated.", pull.head_ref)));
    }
    if git.is_ancestor(&head, &base).await? {
        return Err(refused(format!("There are no new commits on the {}:{} branch.", pull.head_owner, pull.head_ref)));
    }
    git.set_ref(&format!("refs/pull/{}/head", pull.number), &head).await?;
    Ok(head)
}

fn reopen(world: &mut World, actor: Id, repo: Id, number: u64, head: Sha) {
    let now = world.now;
    let issue = world.issues.edit(repo, number).expect("the caller found it");
    issue.state = IssueState::Open;
    issue.closed_at = None;
    issue.closed_by = None;
    issue.updated_at = now;
    let pull = world.pulls.edit(repo, number).expect("the caller found it");
    pull.head_sha = head;
    let base_ref = pull.base_ref.clone();
    if let Some(base) = world.branch(repo, &base_ref).cloned() {
        world.pulls.edit(repo, number).expect("the caller found it").base_sha = base;
    }
    note_event(world, repo, number, actor, "reopened", json!({}));
    emit::pull_request(world, repo, number, actor, PullAction::Reopened);
}
