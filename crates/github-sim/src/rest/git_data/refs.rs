//! Refs: reading, making, moving, deleting them. The rules for pushes hold here too.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, patch, post};
use serde::Deserialize;

use super::check_sha;
use crate::git::{ListedRef, RefChange, is_valid_branch_name};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Page, Path};
use crate::rest::revision::{readable, refuse_empty, writable};
use crate::world::{Repo, Sha};
use crate::{RepoGuard, Sim, policy, present, push};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/git/refs", post(create))
        .route("/repos/{owner}/{repo}/git/refs/{*ref}", patch(update).delete(remove))
        .route("/repos/{owner}/{repo}/git/ref/{*ref}", get(show))
        .route("/repos/{owner}/{repo}/git/matching-refs/{*ref}", get(matching))
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, wanted)): Path<(String, String, String)>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    refuse_empty(&sim, &repo)?;
    let wanted = full(&wanted);
    let found = sim.git(repo.id).refs_beginning(&wanted).await?;
    let found = found.into_iter().find(|found| found.name == wanted).ok_or_else(ApiError::not_found)?;
    Ok(http::json(200, &present_ref(&sim, &repo, &found)))
}

async fn matching(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, wanted)): Path<(String, String, String)>,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let found = sim.git(repo.id).refs_beginning(&full(&wanted)).await?;
    Ok(page.of(&found, |found| present_ref(&sim, &repo, found)))
}

/// `heads/main` and `refs/heads/main` are the same.
fn full(name: &str) -> String {
    if name.starts_with("refs/") { name.to_owned() } else { format!("refs/{name}") }
}

fn present_ref(sim: &Sim, repo: &Repo, found: &ListedRef) -> serde_json::Value {
    sim.read(|world| present::git_ref(world, repo, &found.name, &found.sha, &found.kind))
}

#[derive(Deserialize)]
struct NewRef {
    r#ref: String,
    sha: String,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewRef>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let short = new.r#ref.strip_prefix("refs/heads/").or_else(|| new.r#ref.strip_prefix("refs/tags/"));
    if !short.is_some_and(is_valid_branch_name) {
        return Err(ApiError::unprocessable(format!("{} is not a valid ref name.", new.r#ref)));
    }
    check_sha(&new.sha)?;
    let guard = sim.lock(repo.id).await;
    let kind = kind_for(&sim, &repo, &new.r#ref, &new.sha).await?;
    if current(&sim, &repo, &new.r#ref).is_some() {
        return Err(ApiError::unprocessable("Reference already exists"));
    }
    if stands_in_the_way(&sim, &repo, &new.r#ref) {
        return Err(ApiError::unprocessable("Reference update failed"));
    }
    let change = RefChange { name: new.r#ref, old: None, new: Some(new.sha) };
    let found = ListedRef { name: change.name.clone(), sha: change.new.clone().unwrap_or_default(), kind };
    carry_out(&sim, &guard, &repo, &caller, change).await?;
    Ok(http::json(201, &present_ref(&sim, &repo, &found)))
}

#[derive(Deserialize)]
struct Move {
    sha: String,
    #[serde(default)]
    force: bool,
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, wanted)): Path<(String, String, String)>,
    Body(to): Body<Move>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    check_sha(&to.sha)?;
    let wanted = full(&wanted);
    let guard = sim.lock(repo.id).await;
    let old = current(&sim, &repo, &wanted).ok_or_else(|| ApiError::unprocessable("Reference does not exist"))?;
    let kind = kind_for(&sim, &repo, &wanted, &to.sha).await?;
    if !to.force && kind == "commit" && !sim.git(repo.id).is_ancestor(&old, &to.sha).await? {
        return Err(ApiError::unprocessable("Update is not a fast forward"));
    }
    let found = ListedRef { name: wanted.clone(), sha: to.sha.clone(), kind };
    if old != to.sha {
        let change = RefChange { name: wanted, old: Some(old), new: Some(to.sha) };
        carry_out(&sim, &guard, &repo, &caller, change).await?;
    }
    Ok(http::json(200, &present_ref(&sim, &repo, &found)))
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, wanted)): Path<(String, String, String)>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let wanted = full(&wanted);
    let guard = sim.lock(repo.id).await;
    let old = current(&sim, &repo, &wanted).ok_or_else(|| ApiError::unprocessable("Reference does not exist"))?;
    carry_out(&sim, &guard, &repo, &caller, RefChange { name: wanted, old: Some(old), new: None }).await?;
    Ok(http::no_content())
}

fn current(sim: &Sim, repo: &Repo, name: &str) -> Option<Sha> {
    sim.read(|world| world.refs(repo.id).refs.get(name).cloned())
}

/// git keeps refs like files: `a` and `a/b` cannot both be.
fn stands_in_the_way(sim: &Sim, repo: &Repo, name: &str) -> bool {
    let below = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.starts_with('/'));
    sim.read(|world| world.refs(repo.id).refs.keys().any(|other| below(other, name) || below(name, other)))
}

/// What kind of object it is; a branch can only be at a commit.
async fn kind_for(sim: &Sim, repo: &Repo, name: &str, sha: &str) -> Result<String, ApiError> {
    let kind = sim.git(repo.id).object_kind(sha).await?;
    match kind {
        None => Err(ApiError::unprocessable("Object does not exist")),
        Some(kind) if name.starts_with("refs/heads/") && kind != "commit" => {
            Err(ApiError::unprocessable("Object is not a commit"))
        }
        Some(kind) => Ok(kind),
    }
}

async fn carry_out(
    sim: &Sim,
    guard: &RepoGuard,
    repo: &Repo,
    caller: &Caller,
    change: RefChange,
) -> Result<(), ApiError> {
    if let Some(error) = policy::as_error(&policy::refusals(sim, repo, caller, &change).await?) {
        return Err(error);
    }
    push::update(sim, guard, caller.actor()?, vec![change]).await
}
