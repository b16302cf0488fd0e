//! How a pull request goes from open to closed or merged, and what is told of it.

use jiff::SignedDuration;
use serde_json::json;

use super::{find, is_open};
use crate::conversation::note_event;
use crate::faults::{self, Circumstances, FaultKind, Occasion};
use crate::http::ApiError;
use crate::push::{Landing, Retarget};
use crate::webhooks::emit::{self, PullAction};
use crate::world::{Id, IssueState, MergeMethod, Merged, Sha, World};

/// How a pull request was merged.
pub struct MergedBy {
    pub by: Id,
    /// What its base was before, if that is known.
    pub onto: Option<Sha>,
    pub sha: Sha,
    pub method: MergeMethod,
}

impl MergedBy {
    pub fn of(landing: &Landing, by: Id) -> Self {
        Self { by, onto: Some(landing.onto.clone()), sha: landing.sha.clone(), method: landing.method }
    }
}

pub fn mark_merged(world: &mut World, repo: Id, number: u64, merged: &MergedBy) {
    if !world.pulls.get(repo, number).is_some_and(|pull| is_open(world, pull)) {
        return;
    }
    let sha_visible_at = merge_commit_visible_at(world, repo);
    let now = world.now;
    let pull = world.pulls.edit(repo, number).expect("looked up above");
    if let Some(onto) = &merged.onto {
        pull.base_sha.clone_from(onto);
    }
    pull.stale_merge_state = None;
    pull.merged =
        Some(Merged { at: now, by: merged.by, sha: merged.sha.clone(), method: merged.method, sha_visible_at });
    note_event(world, repo, number, merged.by, "merged", json!({ "commit_id": merged.sha }));
    finish(world, merged.by, repo, number);
}

fn merge_commit_visible_at(world: &mut World, repo: Id) -> jiff::Timestamp {
    let repository = world.repo(repo).map(|repo| world.full_name(repo)).unwrap_or_default();
    let now = Circumstances { repository: &repository, ..Circumstances::default() };
    let ms = match faults::strike(world, Occasion::Merge, now) {
        Some(FaultKind::LagMergeCommitSha { ms }) => ms,
        _ => world.settings().merge_commit_sha_lag_ms,
    };
    let lag = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    world.now.checked_add(lag).unwrap_or(jiff::Timestamp::MAX)
}

/// Closes it without merging. Closing what is closed changes nothing.
pub fn close(world: &mut World, actor: Id, repo: Id, number: u64) {
    if world.pulls.get(repo, number).is_some_and(|pull| is_open(world, pull)) {
        finish(world, actor, repo, number);
    }
}

fn finish(world: &mut World, actor: Id, repo: Id, number: u64) {
    let now = world.now;
    let Some(issue) = world.issues.edit(repo, number) else { return };
    issue.state = IssueState::Closed;
    issue.closed_at = Some(now);
    issue.closed_by = Some(actor);
    issue.updated_at = now;
    note_event(world, repo, number, actor, "closed", json!({}));
    emit::pull_request(world, repo, number, actor, PullAction::Closed);
}

/// Another base for a pull request whose base branch went with the merge of the one below it.
pub fn retarget(world: &mut World, actor: Id, repo: Id, retarget: &Retarget) {
    let Retarget { number, base } = retarget;
    if world.pulls.get(repo, *number).is_some_and(|pull| is_open(world, pull)) {
        let details = json!({});
        note_event(world, repo, *number, actor, "automatic_base_change_succeeded", details);
        change_base(world, actor, repo, *number, base);
    }
}

/// The base branch must exist.
pub fn change_base(world: &mut World, actor: Id, repo: Id, number: u64, base: &str) {
    let tip = world.branch(repo, base).cloned();
    let now = world.now;
    let Some(pull) = world.pulls.edit(repo, number) else { return };
    let old_ref = std::mem::replace(&mut pull.base_ref, base.to_owned());
    let old_sha = pull.base_sha.clone();
    if let Some(tip) = tip {
        pull.base_sha = tip;
    }
    if let Some(issue) = world.issues.edit(repo, number) {
        issue.updated_at = now;
    }
    note_event(world, repo, number, actor, "base_ref_changed", json!({}));
    let changes = json!({ "base": { "ref": { "from": old_ref }, "sha": { "from": old_sha } } });
    emit::pull_request(world, repo, number, actor, PullAction::Edited { changes });
}

/// Marks it ready for review, or turns it into a draft.
pub fn set_draft(world: &mut World, actor: Id, repo: Id, number: u64, draft: bool) -> Result<(), ApiError> {
    let (pull, issue) = find(world, repo, number)?;
    if issue.state == IssueState::Closed {
        return Err(ApiError::unprocessable("Pull request is closed"));
    }
    if pull.draft == draft {
        return Ok(());
    }
    let now = world.now;
    world.pulls.edit(repo, number).expect("found above").draft = draft;
    world.issues.edit(repo, number).expect("found above").updated_at = now;
    let (event, action) = if draft {
        ("convert_to_draft", PullAction::ConvertedToDraft)
    } else {
        ("ready_for_review", PullAction::ReadyForReview)
    };
    note_event(world, repo, number, actor, event, json!({}));
    emit::pull_request(world, repo, number, actor, action);
    Ok(())
}
