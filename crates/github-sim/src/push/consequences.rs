//! One transaction per movement: refs, webhooks, pull requests, CI.

use serde_json::json;

use super::prepare::{HeadMove, LandedByPush, Prepared, based_on, headed_by};
use super::{Cause, reviews};
use crate::conversation::note_event;
use crate::faults::{self, Circumstances, FaultKind, Occasion};
use crate::git::RefChange;
use crate::pulls::{self, MergedBy};
use crate::webhooks::emit::{self, PullAction};
use crate::world::{Id, LagMode, MergeMethod, RepoRefs, StaleMergeState, World};
use crate::{ci, policy};

pub fn draw(world: &mut World, repo: Id, actor: Id, prepared: &Prepared, cause: &Cause) {
    note_refs(world, repo, prepared);
    for push in &prepared.pushes {
        let RefChange { name, old, new } = &push.change;
        if old.is_none() {
            emit::ref_created(world, repo, actor, name);
        }
        emit::push(world, repo, actor, push);
        if new.is_none() {
            emit::ref_deleted(world, repo, actor, name);
        }
    }
    for landing in &cause.landings {
        pulls::mark_merged(world, repo, landing.number, &MergedBy::of(landing, actor));
    }
    for retarget in &cause.retargets {
        pulls::retarget(world, actor, repo, retarget);
    }
    for head in &prepared.heads {
        let forced = prepared.pushes.iter().any(|push| push.forced && push.change.new.as_ref() == Some(&head.after));
        synchronize(world, actor, head, forced);
    }
    for landed in &prepared.landed {
        land(world, actor, repo, landed);
    }
    for push in &prepared.pushes {
        let Some(branch) = push.change.branch() else { continue };
        match &push.change.new {
            None => branch_deleted(world, actor, repo, branch, push.change.old.as_deref()),
            Some(sha) => {
                let before = push.change.old.as_deref();
                ci::enqueue(world, &ci::Pushed { repo, branch, sha, before, actor });
            }
        }
    }
}

fn note_refs(world: &mut World, repo: Id, prepared: &Prepared) {
    if prepared.pushes.is_empty() {
        return;
    }
    let mut known = world.refs.get(0, repo).cloned().unwrap_or_default();
    known.repo = repo;
    for push in &prepared.pushes {
        match &push.change.new {
            Some(new) => known.refs.insert(push.change.name.clone(), new.clone()),
            None => known.refs.remove(&push.change.name),
        };
    }
    world.refs.insert(RepoRefs { ..known });
    let now = world.now;
    if let Some(repo) = world.repos.edit(0, repo) {
        repo.pushed_at = now;
        repo.updated_at = now;
    }
}

fn synchronize(world: &mut World, actor: Id, head: &HeadMove, forced: bool) {
    let HeadMove { repo, number, before, after, changed, lines, size } = head;
    let Some(pull) = world.pulls.get(*repo, *number).filter(|pull| pulls::is_open(world, pull)).cloned() else {
        return;
    };
    let stale = lag(world, &pull);
    let base_sha = world.branch(*repo, &pull.base_ref).cloned();
    let now = world.now;
    let edited = world.pulls.edit(*repo, *number).expect("found above");
    edited.head_sha.clone_from(after);
    edited.base_sha = base_sha.unwrap_or(pull.base_sha.clone());
    edited.stale_merge_state = stale;
    edited.size = *size;
    edited.last_pusher = Some(actor);
    if let Some(issue) = world.issues.edit(*repo, *number) {
        issue.updated_at = now;
    }
    reviews::move_lines(world, *repo, after, lines);
    if forced {
        note_event(
            world,
            *repo,
            *number,
            actor,
            "head_ref_force_pushed",
            json!({ "commit_id": after, "before": before }),
        );
    }
    let action = PullAction::Synchronize { before: before.clone(), after: after.clone() };
    emit::pull_request(world, *repo, *number, actor, action);
    let dismisses = world
        .repo(*repo)
        .is_some_and(|repo| policy::for_branch(world, repo, pulls::rules_branch(world, &pull)).dismiss_stale_reviews);
    if *changed && dismisses {
        reviews::dismiss(world, actor, *repo, *number, after);
    }
    if pull.is_fork() {
        // A fork's commits are checked where its pull request is.
        ci::enqueue_for_pull(world, *repo, *number, actor);
    }
}

/// What a pull request shows of its merge state until the simulator has caught up with the push.
fn lag(world: &mut World, pull: &crate::world::Pull) -> Option<StaleMergeState> {
    let repository = world.repo(pull.repo).map(|repo| world.full_name(repo)).unwrap_or_default();
    let now = Circumstances { repository: &repository, event: "push", ..Circumstances::default() };
    let (ms, mode) = match faults::strike(world, Occasion::Push, now) {
        Some(FaultKind::LagMergeState { ms, mode }) => (ms, mode),
        _ => (world.settings().merge_state_lag_ms, world.settings().merge_state_lag_mode),
    };
    let until = world.now.checked_add(jiff::SignedDuration::from_millis(ms.try_into().ok()?)).ok()?;
    let shown = pulls::merge_state(world, pull);
    (ms > 0).then(|| match mode {
        LagMode::Stale => StaleMergeState { status: shown.status.to_owned(), mergeable: shown.mergeable, until },
        LagMode::Unknown => StaleMergeState { status: "UNKNOWN".into(), mergeable: None, until },
    })
}

fn land(world: &mut World, actor: Id, repo: Id, landed: &LandedByPush) {
    let LandedByPush { number, onto, sha } = landed;
    let by = MergedBy { by: actor, onto: onto.clone(), sha: sha.clone(), method: MergeMethod::Merge };
    pulls::mark_merged(world, repo, *number, &by);
}

/// A pull request cannot do without its branches; who deletes them through a merge retargets its dependants first.
fn branch_deleted(world: &mut World, actor: Id, repo: Id, branch: &str, sha: Option<&str>) {
    // A branch of this name may have been the head of others long ago.
    let headed: Vec<(Id, u64)> = headed_by(world, repo, branch)
        .filter(|pull| pulls::is_open(world, pull) || Some(pull.head_sha.as_str()) == sha)
        .map(|pull| (pull.repo, pull.number))
        .collect();
    for (repo, number) in headed {
        note_event(world, repo, number, actor, "head_ref_deleted", json!({}));
        pulls::close(world, actor, repo, number);
    }
    let based: Vec<u64> = based_on(world, repo, branch).map(|pull| pull.number).collect();
    for number in based {
        note_event(world, repo, number, actor, "base_ref_deleted", json!({}));
        pulls::close(world, actor, repo, number);
    }
}
