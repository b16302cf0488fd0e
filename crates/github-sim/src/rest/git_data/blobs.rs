//! Blobs.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::check_sha;
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Media, Path};
use crate::rest::encoding::{decode_base64, wrapped_base64};
use crate::rest::revision::{readable, writable};
use crate::world::{NodeKind, named_node_id};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/git/blobs", post(create))
        .route("/repos/{owner}/{repo}/git/blobs/{file_sha}", get(show))
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, sha)): Path<(String, String, String)>,
    media: Media,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    check_sha(&sha)?;
    let git = sim.git(repo.id);
    if git.object_kind(&sha).await?.as_deref() != Some("blob") {
        return Err(ApiError::not_found());
    }
    let content = git.blob(&sha).await?;
    if media == Media::Raw {
        return Ok(media.respond(content));
    }
    Ok(sim.read(|world| {
        let url = world.urls.api(format!("/repos/{}/git/blobs/{sha}", world.full_name(&repo)));
        http::json(
            200,
            &json!({
                "sha": sha,
                "node_id": named_node_id(NodeKind::Blob, repo.id, &sha),
                "size": content.len(),
                "url": url,
                "content": wrapped_base64(&STANDARD.encode(&content)),
                "encoding": "base64",
            }),
        )
    }))
}

#[derive(Deserialize)]
struct NewBlob {
    content: String,
    #[serde(default)]
    encoding: Option<String>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewBlob>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let content = match new.encoding.as_deref().unwrap_or("utf-8") {
        "utf-8" => new.content.into_bytes(),
        "base64" => decode_base64(&new.content)?,
        other => return Err(ApiError::unprocessable(format!("Unsupported blob encoding: {other}"))),
    };
    let sha = sim.git(repo.id).write_blob(&content).await?;
    Ok(sim.read(|world| {
        let url = world.urls.api(format!("/repos/{}/git/blobs/{sha}", world.full_name(&repo)));
        http::json(201, &json!({ "sha": sha, "url": url }))
    }))
}
