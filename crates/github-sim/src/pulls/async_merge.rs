//! Merging in the background: asked for now, done when it is due, the answer kept for a day.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::message::Words;
use super::stack_merge::merge_group;
use super::{find, is_open};
use crate::Sim;
use crate::http::{ApiError, Caller};
use crate::world::{AsyncMerge, AsyncMergeStatus, Id, MergeMethod, Pull, Sha, World};

const KEPT_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How long the worker sleeps when nothing is due; any change of the state wakes it before.
const IDLE: Duration = Duration::from_secs(60);

pub struct AsyncRequest {
    pub method: Option<MergeMethod>,
    /// `default`, `direct_merge` or `merge_queue`.
    pub action: String,
    pub sha: Option<Sha>,
    pub words: Words,
}

/// A status code and `pull-request-merge-async-result`.
pub struct AsyncAnswer {
    pub code: u16,
    pub body: Value,
}

impl AsyncAnswer {
    fn new(code: u16, status: &str, details: Value) -> Self {
        Self { code, body: json!({ "status": status, "details": details }) }
    }

    fn pending(code: u16, message: &str, merge: &AsyncMerge) -> Self {
        let details = json!({
            "message": message,
            "uuid": merge.uuid,
            "merge_method": merge.method,
            "merge_action": merge.action,
            "expected_head_sha": merge.expected_head_sha,
        });
        Self::new(code, "pending", details)
    }

    fn failed(code: u16, message: &str) -> Self {
        Self::new(code, "failed", json!({ "message": message }))
    }
}

/// Takes the request, or says at once why not. Rules are looked at when it is carried out.
pub fn request_async_merge(
    world: &mut World,
    caller: &Caller,
    repo: Id,
    number: u64,
    request: AsyncRequest,
) -> Result<AsyncAnswer, ApiError> {
    let (pull, _) = find(world, repo, number)?;
    if let Some(merged) = &pull.merged {
        let details = json!({ "message": "Pull request is already merged.", "sha": merged.sha });
        return Ok(AsyncAnswer::new(200, "merged", details));
    }
    if let Some(reason) = unready(world, pull, &request) {
        return Ok(AsyncAnswer::failed(400, &reason));
    }
    let known = world
        .async_merges
        .within(repo)
        .rfind(|merge| merge.number == number && merge.status == AsyncMergeStatus::Pending);
    if let Some(known) = known {
        return Ok(AsyncAnswer::pending(409, "A merge request already exists for this pull request.", known));
    }
    if request.action == "merge_queue" {
        return Err(ApiError::unprocessable("The base branch does not require a merge queue."));
    }
    let expected_head_sha = pull.head_sha.clone();
    let method = request.method.unwrap_or_else(|| default_method(world, repo));
    let delay = i64::try_from(world.settings().merge_async_delay_ms).unwrap_or(i64::MAX);
    let (id, uuid, now) = (world.next_id(), world.random_uuid(), world.now);
    let merge = AsyncMerge {
        repo,
        id,
        uuid,
        number,
        method,
        action: request.action,
        expected_head_sha,
        commit_title: request.words.title,
        commit_message: request.words.message,
        requested_by: caller.actor()?,
        via_installation: match caller {
            Caller::Installation { installation, .. } => Some(*installation),
            _ => None,
        },
        status: AsyncMergeStatus::Pending,
        due_at: now.checked_add(SignedDuration::from_millis(delay)).unwrap_or(Timestamp::MAX),
        updated_at: now,
    };
    let answer = AsyncAnswer::pending(202, "Merge request enqueued.", &merge);
    world.async_merges.insert(merge);
    Ok(answer)
}

fn unready(world: &World, pull: &Pull, request: &AsyncRequest) -> Option<String> {
    if !is_open(world, pull) {
        Some("Pull request is closed.".into())
    } else if pull.draft {
        Some("Pull request is still a draft.".into())
    } else if request.sha.as_ref().is_some_and(|sha| *sha != pull.head_sha) {
        Some("Head branch was modified. Review and try the merge again.".into())
    } else {
        None
    }
}

/// The first that the repository allows, in the order of GitHub's menu.
fn default_method(world: &World, repo: Id) -> MergeMethod {
    match world.repo(repo) {
        Some(repo) if !repo.allow_merge_commit && repo.allow_squash_merge => MergeMethod::Squash,
        Some(repo) if !repo.allow_merge_commit && repo.allow_rebase_merge => MergeMethod::Rebase,
        _ => MergeMethod::Merge,
    }
}

/// What became of a request; 404 a day after it was last heard of.
pub fn async_result(world: &World, repo: Id, number: u64, uuid: &str) -> Result<AsyncAnswer, ApiError> {
    let merge = world
        .async_merges
        .within(repo)
        .find(|merge| merge.number == number && merge.uuid == uuid)
        .filter(|merge| world.now.duration_since(merge.updated_at) < KEPT_FOR)
        .ok_or_else(ApiError::not_found)?;
    Ok(match &merge.status {
        AsyncMergeStatus::Pending => AsyncAnswer::pending(200, "Merge request is in progress.", merge),
        AsyncMergeStatus::Merged { sha } => {
            AsyncAnswer::new(200, "merged", json!({ "message": "Pull request was merged.", "sha": sha }))
        }
        AsyncMergeStatus::Failed { message } => AsyncAnswer::failed(200, message),
    })
}

/// Carries out asynchronous merges when they are due, those from before a restart included.
pub fn start_async_merges(sim: &Sim) {
    let worker = sim.clone();
    sim.spawn(async move {
        while !worker.stopping().is_cancelled() {
            let changed = worker.changed();
            let (due, wait) = worker.read(next_due);
            match due {
                Some(merge) => carry_out(&worker, merge).await,
                None => {
                    tokio::select! {
                        () = changed => {}
                        // Not `pause`: it ends at once when the simulator stops, and this loop would never yield.
                        () = tokio::time::sleep(wait) => {}
                    }
                }
            }
        }
    });
}

/// The pending merge that is due first, or how long there is none.
fn next_due(world: &World) -> (Option<AsyncMerge>, Duration) {
    let pending = world.async_merges.all().filter(|merge| merge.status == AsyncMergeStatus::Pending);
    let Some(first) = pending.min_by_key(|merge| (merge.due_at, merge.id)) else { return (None, IDLE) };
    match Duration::try_from(first.due_at.duration_since(world.now)) {
        Ok(wait) if !wait.is_zero() => (None, wait.min(IDLE)),
        _ => (Some(first.clone()), Duration::ZERO),
    }
}

async fn carry_out(sim: &Sim, merge: AsyncMerge) {
    let status = match merge_group(sim, &merge).await {
        Ok(sha) => AsyncMergeStatus::Merged { sha },
        Err(error) => AsyncMergeStatus::Failed { message: error.message },
    };
    let stored = sim.write(|world| {
        let now = world.now;
        if let Some(merge) = world.async_merges.edit(merge.repo, merge.id) {
            merge.status = status;
            merge.updated_at = now;
        }
        Ok(())
    });
    if stored.is_err() {
        // The disk refuses; trying again at once would only heat the room.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
