//! Commits as git has them.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path};
use crate::present;
use crate::rest::revision::{readable, refuse_empty, writable};
use crate::rest::signing::{SignatureGiven, authorship};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/git/commits", post(create))
        .route("/repos/{owner}/{repo}/git/commits/{commit_sha}", get(show))
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    refuse_empty(&sim, &repo)?;
    let git = sim.git(repo.id);
    if !git.has_commit(&sha).await? {
        return Err(ApiError::not_found());
    }
    let commit = git.commit(&sha).await?.ok_or_else(ApiError::not_found)?;
    Ok(sim.read(|world| http::json(200, &present::git_commit(world, &repo, &commit))))
}

#[derive(Deserialize)]
struct NewCommit {
    message: String,
    tree: String,
    #[serde(default)]
    parents: Vec<String>,
    author: Option<SignatureGiven>,
    committer: Option<SignatureGiven>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewCommit>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let actor = caller.actor()?;
    let git = sim.git(repo.id);
    if git.object_kind(&new.tree).await?.as_deref() != Some("tree") {
        return Err(ApiError::unprocessable("Tree SHA does not exist"));
    }
    for parent in &new.parents {
        if !git.has_commit(parent).await? {
            return Err(ApiError::unprocessable("Parent SHA does not exist or is not a commit object"));
        }
    }
    let (author, committer) = sim.read(|world| {
        let (author, _) = authorship(world, actor, new.author.as_ref(), None)?;
        // Unlike a commit made from a file, this one is committed by whoever is its author.
        let committer = match &new.committer {
            Some(given) => given.signature(world)?,
            None => author.clone(),
        };
        Ok::<_, ApiError>((author, committer))
    })?;
    let parents: Vec<&str> = new.parents.iter().map(String::as_str).collect();
    let sha = git.write_commit(&new.tree, &parents, &author, &committer, &new.message).await?;
    let commit = git.commit(&sha).await?.ok_or_else(ApiError::internal)?;
    Ok(sim.read(|world| http::json(201, &present::git_commit(world, &repo, &commit))))
}
