//! Reading files and folders.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::present::{entry, with_content};
use crate::Sim;
use crate::git::{GitRepo, TreeEntry};
use crate::http::{self, ApiError, ApiResult, Caller, Media, Path, Query};
use crate::rest::revision::{commit_at, readable};
use crate::world::{Repo, Sha};

#[derive(Deserialize)]
pub struct At {
    r#ref: Option<String>,
}

pub async fn root(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(at): Query<At>,
    media: Media,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let place = Place::new(&sim, repo, at).await?;
    folder(&sim, &place, "", media).await
}

pub async fn at_path(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, path)): Path<(String, String, String)>,
    Query(at): Query<At>,
    media: Media,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let place = Place::new(&sim, repo, at).await?;
    let path = path.trim_matches('/');
    let found = lookup(&sim.git(place.repo.id), &place.commit, path).await?.ok_or_else(ApiError::not_found)?;
    if found.kind == "tree" {
        return folder(&sim, &place, path, media).await;
    }
    file(&sim, &place, path, found, media).await
}

/// A commit, and how it was asked for.
struct Place {
    repo: Repo,
    at: String,
    commit: Sha,
}

impl Place {
    async fn new(sim: &Sim, repo: Repo, at: At) -> Result<Self, ApiError> {
        if sim.read(|world| world.refs(repo.id).refs.is_empty()) {
            return Err(ApiError::new(StatusCode::NOT_FOUND, "This repository is empty."));
        }
        let at = at.r#ref.filter(|at| !at.is_empty()).unwrap_or_else(|| repo.default_branch.clone());
        let unknown = || ApiError::new(StatusCode::NOT_FOUND, format!("No commit found for the ref {at}"));
        let commit = commit_at(sim, &repo, &at).await?.ok_or_else(unknown)?;
        Ok(Self { repo, at, commit })
    }
}

/// The entry at a path of a commit.
pub async fn lookup(git: &GitRepo, commit: &str, path: &str) -> Result<Option<TreeEntry>, ApiError> {
    if !super::is_valid_path(path) {
        return Ok(None);
    }
    let entries = git.tree(commit, Some(path), false).await?;
    Ok(entries.into_iter().find(|entry| entry.path == path))
}

async fn folder(sim: &Sim, place: &Place, path: &str, media: Media) -> ApiResult {
    let git = sim.git(place.repo.id);
    let treeish = if path.is_empty() { place.commit.clone() } else { format!("{}:{path}", place.commit) };
    let entries = git.tree(&treeish, None, false).await?;
    let itself = lookup(&git, &place.commit, path).await?;
    Ok(sim.read(|world| {
        let shown = entries.iter().map(|child| {
            let path = if path.is_empty() { child.path.clone() } else { format!("{path}/{}", child.path) };
            entry(world, &place.repo, &place.at, &path, child)
        });
        let shown: Value = shown.collect();
        if media != Media::Object {
            return http::json(200, &shown);
        }
        let root = || TreeEntry {
            path: String::new(),
            mode: "040000".into(),
            kind: "tree".into(),
            sha: place.commit.clone(),
            size: None,
        };
        let mut value = entry(world, &place.repo, &place.at, path, &itself.unwrap_or_else(root));
        value["entries"] = shown;
        http::json(200, &value)
    }))
}

async fn file(sim: &Sim, place: &Place, path: &str, mut found: TreeEntry, media: Media) -> ApiResult {
    let git = sim.git(place.repo.id);
    if found.kind == "commit" {
        let url = submodule_url(&git, &place.commit, path).await?;
        return Ok(sim.read(|world| {
            let mut value = entry(world, &place.repo, &place.at, path, &found);
            value["submodule_git_url"] = json!(url);
            http::json(200, &value)
        }));
    }
    let mut content = git.blob(&found.sha).await?;
    if found.mode == "120000" {
        let target = String::from_utf8_lossy(&content).into_owned();
        let aim = resolve_link(path, &target);
        let aimed_at = match &aim {
            Some(aim) => lookup(&git, &place.commit, aim).await?.filter(|aimed| aimed.mode.starts_with("100")),
            None => None,
        };
        match aimed_at {
            // A link to a file of the repository is answered with that file.
            Some(aimed) => {
                content = git.blob(&aimed.sha).await?;
                found = aimed;
            }
            None if media == Media::Raw => {}
            None => {
                return Ok(sim.read(|world| {
                    let mut value = entry(world, &place.repo, &place.at, path, &found);
                    value["target"] = target.into();
                    http::json(200, &value)
                }));
            }
        }
    }
    if media == Media::Raw {
        return Ok(media.respond(content));
    }
    Ok(sim.read(|world| http::json(200, &with_content(entry(world, &place.repo, &place.at, path, &found), &content))))
}

/// Where a symbolic link leads, as a path from the root; none when it leads out of the repository.
fn resolve_link(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = link.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

async fn submodule_url(git: &GitRepo, commit: &str, path: &str) -> Result<Option<String>, ApiError> {
    let Some(modules) = lookup(git, commit, ".gitmodules").await? else { return Ok(None) };
    let text = String::from_utf8_lossy(&git.blob(&modules.sha).await?).into_owned();
    let mut here = (None, None);
    for line in text.lines().chain(["["]) {
        let line = line.trim();
        if line.starts_with('[') {
            if let (Some(found), Some(url)) = here
                && found == path
            {
                return Ok(Some(url));
            }
            here = (None, None);
        } else if let Some((key, value)) = line.split_once('=') {
            match key.trim() {
                "path" => here.0 = Some(value.trim().to_owned()),
                "url" => here.1 = Some(value.trim().to_owned()),
                _ => {}
            }
        }
    }
    Ok(None)
}

pub async fn readme(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(at): Query<At>,
    media: Media,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let place = Place::new(&sim, repo, at).await?;
    readme_of(&sim, &place, "", media).await
}

pub async fn readme_in(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, dir)): Path<(String, String, String)>,
    Query(at): Query<At>,
    media: Media,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let place = Place::new(&sim, repo, at).await?;
    readme_of(&sim, &place, dir.trim_matches('/'), media).await
}

async fn readme_of(sim: &Sim, place: &Place, dir: &str, media: Media) -> ApiResult {
    let git = sim.git(place.repo.id);
    let treeish = match lookup(&git, &place.commit, dir).await? {
        Some(found) if found.kind == "tree" => found.sha,
        _ if dir.is_empty() => place.commit.clone(),
        _ => return Err(ApiError::not_found()),
    };
    let is_readme = |entry: &&TreeEntry| {
        let name = entry.path.to_lowercase();
        entry.kind == "blob" && (name == "readme" || name.starts_with("readme."))
    };
    let entries = git.tree(&treeish, None, false).await?;
    let found = entries.iter().find(is_readme).ok_or_else(ApiError::not_found)?.clone();
    let path = if dir.is_empty() { found.path.clone() } else { format!("{dir}/{}", found.path) };
    file(sim, place, &path, found, media).await
}
