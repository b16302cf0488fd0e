//! Annotated tags. A ref to one is made separately, as on GitHub.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use super::check_sha;
use crate::Sim;
use crate::git::{TagObject, is_valid_branch_name};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path};
use crate::rest::revision::{readable, writable};
use crate::rest::signing::SignatureGiven;
use crate::world::{NodeKind, Repo, World, named_node_id};
use crate::{people, present};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/git/tags", post(create))
        .route("/repos/{owner}/{repo}/git/tags/{tag_sha}", get(show))
}

/// `git-tag`.
fn git_tag(world: &World, repo: &Repo, tag: &TagObject) -> Value {
    let api = |path: String| world.urls.api(format!("/repos/{}/git{path}", world.full_name(repo)));
    let nobody = || json!({ "name": "", "email": "", "date": "1970-01-01T00:00:00Z" });
    json!({
        "node_id": named_node_id(NodeKind::Ref, repo.id, &tag.sha),
        "sha": tag.sha,
        "url": api(format!("/tags/{}", tag.sha)),
        "tagger": tag.tagger.as_ref().map_or_else(nobody, present::git_user),
        "object": { "sha": tag.object, "type": tag.kind, "url": api(format!("/{}s/{}", tag.kind, tag.object)) },
        "tag": tag.tag,
        "message": tag.message,
        "verification": present::unsigned(),
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let tag = sim.git(repo.id).tag_object(&sha).await?.ok_or_else(ApiError::not_found)?;
    Ok(sim.read(|world| http::json(200, &git_tag(world, &repo, &tag))))
}

#[derive(Deserialize)]
struct NewTag {
    tag: String,
    message: String,
    object: String,
    r#type: String,
    tagger: Option<SignatureGiven>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewTag>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let actor = caller.actor()?;
    check_sha(&new.object)?;
    if !is_valid_branch_name(&new.tag) {
        return Err(ApiError::unprocessable(format!("{} is not a valid tag name", new.tag)));
    }
    let git = sim.git(repo.id);
    match git.object_kind(&new.object).await? {
        None => return Err(ApiError::unprocessable("Object does not exist")),
        Some(kind) if kind != new.r#type => {
            return Err(ApiError::unprocessable(format!("Object is a {kind}, not a {}", new.r#type)));
        }
        Some(_) => {}
    }
    let tagger = sim.read(|world| match &new.tagger {
        Some(given) => given.signature(world),
        None => Ok(people::signature_of(world, actor)),
    })?;
    let sha = git.write_tag(&new.tag, &new.message, &new.object, &new.r#type, &tagger).await?;
    let tag = git.tag_object(&sha).await?.ok_or_else(ApiError::internal)?;
    Ok(sim.read(|world| http::json(201, &git_tag(world, &repo, &tag))))
}
