//! Trees.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::Sim;
use crate::git::{GitRepo, TreeEntry};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path, Query};
use crate::rest::contents::is_valid_path;
use crate::rest::revision::{commit_at, readable, refuse_empty, writable};
use crate::world::{Repo, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/git/trees", post(create))
        .route("/repos/{owner}/{repo}/git/trees/{tree_sha}", get(show))
}

/// `git-tree`.
fn git_tree(world: &World, repo: &Repo, sha: &str, entries: &[TreeEntry]) -> Value {
    let api = |path: String| world.urls.api(format!("/repos/{}/git{path}", world.full_name(repo)));
    let entry = |entry: &TreeEntry| {
        let mut value = json!({ "path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha });
        if let Some(size) = entry.size {
            value["size"] = size.into();
        }
        // Another repository's commit has no address here.
        if entry.kind != "commit" {
            value["url"] = api(format!("/{}s/{}", entry.kind, entry.sha)).into();
        }
        value
    };
    json!({
        "sha": sha,
        "url": api(format!("/trees/{sha}")),
        "tree": entries.iter().map(entry).collect::<Vec<_>>(),
        "truncated": false,
    })
}

#[derive(Deserialize)]
struct Depth {
    /// Any value at all, as on GitHub.
    recursive: Option<String>,
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, revision)): Path<(String, String, String)>,
    Query(depth): Query<Depth>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    refuse_empty(&sim, &repo)?;
    let git = sim.git(repo.id);
    let sha = match git.object_kind(&revision).await?.as_deref() {
        Some("tree") => revision,
        _ => {
            let commit = commit_at(&sim, &repo, &revision).await?.ok_or_else(ApiError::not_found)?;
            git.commit(&commit).await?.ok_or_else(ApiError::not_found)?.tree
        }
    };
    let entries = git.tree(&sha, None, depth.recursive.is_some()).await?;
    Ok(sim.read(|world| http::json(200, &git_tree(world, &repo, &sha, &entries))))
}

#[derive(Deserialize)]
struct NewTree {
    base_tree: Option<String>,
    tree: Vec<NewEntry>,
}

#[derive(Deserialize)]
struct NewEntry {
    path: String,
    mode: Option<String>,
    r#type: Option<String>,
    /// Null removes the path; not given, `content` is written.
    #[serde(default, deserialize_with = "given")]
    sha: Option<Option<String>>,
    content: Option<String>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewTree>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let git = sim.git(repo.id);
    let base = match &new.base_tree {
        None => None,
        Some(base) => Some(tree_of(&git, base).await?),
    };
    if new.tree.is_empty() && base.is_none() {
        return Err(ApiError::unprocessable("Invalid tree info"));
    }
    let mut changes = Vec::new();
    for entry in new.tree {
        changes.push(change_by(&git, base.as_deref(), entry).await?);
    }
    let sha = git.write_tree(base.as_deref(), &changes).await?;
    let entries = git.tree(&sha, None, false).await?;
    Ok(sim.read(|world| http::json(201, &git_tree(world, &repo, &sha, &entries))))
}

/// GitHub also takes a commit for a tree.
async fn tree_of(git: &GitRepo, sha: &str) -> Result<String, ApiError> {
    match git.object_kind(sha).await?.as_deref() {
        Some("tree") => Ok(sha.to_owned()),
        Some("commit") => Ok(git.commit(sha).await?.ok_or_else(ApiError::internal)?.tree),
        _ => Err(ApiError::unprocessable("base_tree is not a valid tree oid")),
    }
}

type Change = (String, Option<(String, String)>);

async fn change_by(git: &GitRepo, base: Option<&str>, entry: NewEntry) -> Result<Change, ApiError> {
    let path = entry.path;
    if !is_valid_path(&path) {
        return Err(ApiError::unprocessable("tree.path contains a malformed path component"));
    }
    if entry.sha == Some(None) {
        let known = match base {
            Some(base) => !git.tree(base, Some(&path), false).await?.is_empty(),
            None => false,
        };
        return if known { Ok((path, None)) } else { Err(ApiError::unprocessable("GitRPC::BadObjectState")) };
    }
    let mode = entry.mode.unwrap_or_else(|| "100644".into());
    let kind = match mode.as_str() {
        "100644" | "100755" | "120000" => "blob",
        "040000" => "tree",
        "160000" => "commit",
        _ => return Err(ApiError::unprocessable("Must supply a valid tree.mode")),
    };
    if entry.r#type.is_some_and(|given| given != kind) {
        return Err(ApiError::unprocessable("Must supply a valid tree.type"));
    }
    let sha = match (entry.sha.flatten(), entry.content) {
        (Some(sha), _) => {
            // A submodule's commit is in another repository.
            if kind != "commit" && git.object_kind(&sha).await?.as_deref() != Some(kind) {
                return Err(ApiError::unprocessable(format!("tree.sha {sha} is not a valid {kind}")));
            }
            sha
        }
        (None, Some(content)) if kind == "blob" => git.write_blob(content.as_bytes()).await?,
        _ => return Err(ApiError::unprocessable("Must supply either tree.sha or tree.content")),
    };
    Ok((path, Some((mode, sha))))
}
