//! Writing a file: a commit on a branch, without a clone.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::is_valid_path;
use super::present::entry;
use super::read::lookup;
use crate::git::{RefChange, TreeEntry, is_valid_branch_name};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Path, Query};
use crate::rest::encoding::decode_base64;
use crate::rest::revision::writable;
use crate::rest::signing::{SignatureGiven, authorship};
use crate::world::{Repo, Sha};
use crate::{RepoGuard, Sim, policy, present, push};

#[derive(Deserialize)]
pub struct Put {
    message: String,
    content: String,
    sha: Option<String>,
    branch: Option<String>,
    author: Option<SignatureGiven>,
    committer: Option<SignatureGiven>,
}

pub async fn put(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, path)): Path<(String, String, String)>,
    Body(put): Body<Put>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let content = decode_base64(&put.content)?;
    let work = Work::begin(&sim, &caller, repo, path, put.branch).await?;
    let known = work.known().await?;
    match (&known, &put.sha) {
        (Some(known), _) if known.kind != "blob" => {
            return Err(ApiError::unprocessable(format!("{} is a directory", work.path)));
        }
        (Some(known), Some(sha)) if known.sha != *sha => return Err(work.mismatch(sha)),
        (Some(_), None) => return Err(ApiError::unprocessable("Invalid request.\n\n\"sha\" wasn't supplied.")),
        (None, Some(sha)) => return Err(work.mismatch(sha)),
        _ => {}
    }
    work.refuse_file_as_folder().await?;
    let blob = sim.git(work.repo.id).write_blob(&content).await?;
    let mode = known.as_ref().map_or_else(|| "100644".to_owned(), |known| known.mode.clone());
    let verb = if known.is_some() { "update" } else { "create" };
    let change = Some((mode.clone(), blob.clone()));
    let signed = (put.author, put.committer);
    let commit = work.commit(&caller, change, &put.message, signed, verb).await?;
    let written =
        TreeEntry { path: work.path.clone(), mode, kind: "blob".into(), sha: blob, size: Some(content.len() as u64) };
    let value = sim.read(
        |world| json!({ "content": entry(world, &work.repo, &work.branch, &work.path, &written), "commit": commit }),
    );
    Ok(http::json(if known.is_some() { 200 } else { 201 }, &value))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Delete {
    message: Option<String>,
    sha: Option<String>,
    branch: Option<String>,
    author: Option<SignatureGiven>,
    committer: Option<SignatureGiven>,
}

/// The parameters may also stand in the query, as clients whose DELETE has no body send them.
pub async fn delete(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, path)): Path<(String, String, String)>,
    Query(query): Query<std::collections::HashMap<String, String>>,
    Body(body): Body<Delete>,
) -> ApiResult {
    let repo = writable(&sim, &caller, &owner, &name)?;
    let missing = |field: &str| ApiError::unprocessable(format!("Invalid request.\n\n\"{field}\" wasn't supplied."));
    let either = |given: Option<String>, field: &str| given.or_else(|| query.get(field).cloned());
    let message = either(body.message, "message").ok_or_else(|| missing("message"))?;
    let sha = either(body.sha, "sha").ok_or_else(|| missing("sha"))?;
    let work = Work::begin(&sim, &caller, repo, path, either(body.branch, "branch")).await?;
    let known = work.known().await?.filter(|known| known.kind == "blob").ok_or_else(ApiError::not_found)?;
    if known.sha != sha {
        return Err(work.mismatch(&sha));
    }
    let commit = work.commit(&caller, None, &message, (body.author, body.committer), "delete").await?;
    Ok(http::json(200, &json!({ "content": null, "commit": commit })))
}

/// A change to one file, while nobody else can move the branch.
struct Work<'s> {
    sim: &'s Sim,
    guard: RepoGuard,
    repo: Repo,
    path: String,
    branch: String,
    /// None in an empty repository, where the first commit makes the branch.
    tip: Option<Sha>,
}

impl<'s> Work<'s> {
    async fn begin(
        sim: &'s Sim,
        caller: &Caller,
        repo: Repo,
        path: String,
        branch: Option<String>,
    ) -> Result<Self, ApiError> {
        caller.actor()?;
        if !is_valid_path(&path) {
            return Err(ApiError::unprocessable("path contains a malformed path component"));
        }
        let branch = branch.unwrap_or_else(|| repo.default_branch.clone());
        let branch = branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_owned();
        let guard = sim.lock(repo.id).await;
        let (tip, is_empty) =
            sim.read(|world| (world.branch(repo.id, &branch).cloned(), world.refs(repo.id).refs.is_empty()));
        if tip.is_none() && !(is_empty && is_valid_branch_name(&branch)) {
            return Err(ApiError::new(StatusCode::NOT_FOUND, format!("Branch {branch} not found")));
        }
        Ok(Self { sim, guard, repo, path, branch, tip })
    }

    async fn known(&self) -> Result<Option<TreeEntry>, ApiError> {
        match &self.tip {
            Some(tip) => lookup(&self.sim.git(self.repo.id), tip, &self.path).await,
            None => Ok(None),
        }
    }

    fn mismatch(&self, given: &str) -> ApiError {
        ApiError::conflict(format!("{} does not match {given}", self.path))
    }

    /// `a/b` cannot be written where `a` is a file.
    async fn refuse_file_as_folder(&self) -> Result<(), ApiError> {
        let Some(tip) = &self.tip else { return Ok(()) };
        for (at, _) in self.path.match_indices('/') {
            let above = &self.path[..at];
            let found = lookup(&self.sim.git(self.repo.id), tip, above).await?;
            if found.is_some_and(|found| found.kind != "tree") {
                return Err(ApiError::unprocessable(format!("{above} is a file")));
            }
        }
        Ok(())
    }

    async fn commit(
        &self,
        caller: &Caller,
        change: Option<(String, String)>,
        message: &str,
        (author, committer): (Option<SignatureGiven>, Option<SignatureGiven>),
        verb: &str,
    ) -> Result<Value, ApiError> {
        let actor = caller.actor()?;
        let git = self.sim.git(self.repo.id);
        let (author, committer) =
            self.sim.read(|world| authorship(world, actor, author.as_ref(), committer.as_ref()))?;
        let tree = git.write_tree(self.tip.as_deref(), &[(self.path.clone(), change)]).await?;
        let parents: Vec<&str> = self.tip.as_deref().into_iter().collect();
        let sha = git.write_commit(&tree, &parents, &author, &committer, message).await?;
        let change =
            RefChange { name: format!("refs/heads/{}", self.branch), old: self.tip.clone(), new: Some(sha.clone()) };
        let refusals = policy::refusals(self.sim, &self.repo, caller, &change).await?;
        if let Some(mut error) = policy::as_error(&refusals) {
            if error.status == StatusCode::UNPROCESSABLE_ENTITY {
                error.status = StatusCode::CONFLICT;
                if refusals.iter().all(|refusal| refusal.source != policy::Source::Ruleset) {
                    error.message = format!("Could not {verb} file: {}", error.message);
                }
            }
            return Err(error);
        }
        push::update(self.sim, &self.guard, actor, vec![change]).await?;
        let commit = git.commit(&sha).await?.ok_or_else(ApiError::internal)?;
        Ok(self.sim.read(|world| present::git_commit(world, &self.repo, &commit)))
    }
}
