//! Branches: listing, reading, renaming them.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde::Deserialize;

use super::revision::{readable, writable};
use crate::git::{RefChange, is_valid_branch_name};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Page, Path, Query};
use crate::world::{Repo, Sha};
use crate::{Sim, policy, present, push};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/branches", get(list))
        .route("/repos/{owner}/{repo}/branches/{branch}", get(get_branch))
        .route("/repos/{owner}/{repo}/branches/{branch}/rename", post(rename))
}

pub fn branch_not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "Branch not found")
}

#[derive(Deserialize)]
struct Wanted {
    protected: Option<bool>,
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    Ok(sim.read(|world| {
        let branches = world
            .refs(repo.id)
            .refs
            .iter()
            .filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?, sha)))
            .filter(|(branch, _)| {
                wanted.protected.is_none_or(|wanted| policy::for_branch(world, &repo, branch).protected == wanted)
            });
        page.of(&branches.collect::<Vec<_>>(), |(branch, sha)| present::short_branch(world, &repo, branch, sha))
    }))
}

async fn get_branch(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, branch)): Path<(String, String, String)>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    show(&sim, &repo, &branch, 200).await
}

async fn show(sim: &Sim, repo: &Repo, branch: &str, status: u16) -> ApiResult {
    let sha = tip(sim, repo, branch)?;
    let commit = sim.git(repo.id).commit(&sha).await?.ok_or_else(branch_not_found)?;
    Ok(sim.read(|world| http::json(status, &present::branch(world, repo, branch, &commit))))
}

fn tip(sim: &Sim, repo: &Repo, branch: &str) -> Result<Sha, ApiError> {
    sim.read(|world| world.branch(repo.id, branch).cloned()).ok_or_else(branch_not_found)
}

#[derive(Deserialize)]
struct Rename {
    new_name: String,
}

/// The branch, its protection and the pull requests onto it take the new name.
async fn rename(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, branch)): Path<(String, String, String)>,
    Body(Rename { new_name }): Body<Rename>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let actor = caller.actor()?;
    if branch == repo.default_branch {
        sim.read(|world| http::may(world, &caller, &repo, http::Scope::Administration, http::Level::Admin))?;
    }
    if !is_valid_branch_name(&new_name) {
        return Err(ApiError::validation("Branch", "new_name", "invalid"));
    }
    let guard = sim.lock(repo.id).await;
    let sha = tip(&sim, &repo, &branch)?;
    if sim.read(|world| world.branch(repo.id, &new_name).is_some()) {
        return Err(ApiError::validation_message("Branch", format!("Branch '{new_name}' already exists.")));
    }
    let create = RefChange { name: format!("refs/heads/{new_name}"), old: None, new: Some(sha.clone()) };
    push::update(&sim, &guard, actor, vec![create]).await?;
    sim.write(|world| {
        let open: Vec<u64> = world
            .pulls
            .within(repo.id)
            .filter(|pull| pull.base_ref == branch && pull.merged.is_none())
            .map(|pull| pull.number)
            .collect();
        for number in open {
            world.pulls.edit(repo.id, number).expect("found in this transaction").base_ref.clone_from(&new_name);
        }
        let doc = world.repos.edit(0, repo.id).ok_or_else(ApiError::not_found)?;
        if let Some(protection) = doc.protections.remove(&branch) {
            doc.protections.insert(new_name.clone(), protection);
        }
        if doc.default_branch == branch {
            doc.default_branch.clone_from(&new_name);
        }
        Ok(())
    })?;
    if branch == repo.default_branch {
        sim.git(repo.id).set_default_branch(&new_name).await?;
    }
    let delete = RefChange { name: format!("refs/heads/{branch}"), old: Some(sha), new: None };
    push::update(&sim, &guard, actor, vec![delete]).await?;
    let repo = sim.read(|world| world.repo(repo.id).cloned()).ok_or_else(ApiError::not_found)?;
    show(&sim, &repo, &new_name, 201).await
}
