//! `POST /repos/{owner}/{repo}/merges`: merging one branch into another without a pull request.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use super::commit_at;
use crate::git::{MergeOutcome, RefChange};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path};
use crate::rest::revision::writable;
use crate::{Sim, people, policy, present, push};

#[derive(Deserialize)]
pub struct Merge {
    base: String,
    head: String,
    commit_message: Option<String>,
}

pub async fn merge(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(merge): Body<Merge>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let actor = caller.actor()?;
    let missing = |what: &str| ApiError::new(StatusCode::NOT_FOUND, format!("{what} does not exist"));
    let guard = sim.lock(repo.id).await;
    let base = sim.read(|world| world.branch(repo.id, &merge.base).cloned()).ok_or_else(|| missing("Base"))?;
    let head = commit_at(&sim, &repo, &merge.head).await?.ok_or_else(|| missing("Head"))?;
    let git = sim.git(repo.id);
    if git.is_ancestor(&head, &base).await? {
        return Ok(http::no_content());
    }
    let MergeOutcome::Clean { tree } = git.merge_trees(&base, &head).await? else {
        return Err(ApiError::conflict("Merge conflict"));
    };
    let message = merge.commit_message.unwrap_or_else(|| format!("Merge {} into {}", merge.head, merge.base));
    let (author, committer) = sim.read(|world| (people::signature_of(world, actor), people::github_signature(world)));
    let sha = git.write_commit(&tree, &[&base, &head], &author, &committer, &message).await?;
    let change = RefChange { name: format!("refs/heads/{}", merge.base), old: Some(base), new: Some(sha.clone()) };
    if let Some(error) = policy::as_error(&policy::refusals(&sim, &repo, &caller, &change).await?) {
        return Err(error);
    }
    push::update(&sim, &guard, actor, vec![change]).await?;
    let commit = git.commit(&sha).await?.ok_or_else(ApiError::internal)?;
    let files = git.changed_files(commit.parents.first().map(String::as_str), &sha).await?;
    Ok(sim.read(|world| http::json(201, &present::commit_with_files(world, &repo, &commit, &files, &files))))
}
