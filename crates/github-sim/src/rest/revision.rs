//! Naming commits in requests: by branch, by tag, by (short) SHA.

use crate::Sim;
use crate::http::{self, ApiError, Caller, Level, Scope};
use crate::world::{Repo, Sha};

/// The repository, for someone who may read its code.
pub fn readable(sim: &Sim, caller: &Caller, owner: &str, name: &str) -> Result<Repo, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, Scope::Contents, Level::Read).cloned())
}

/// The repository, for someone who may write to it.
pub fn writable(sim: &Sim, caller: &Caller, owner: &str, name: &str) -> Result<Repo, ApiError> {
    sim.read(|world| http::repo(world, caller, owner, name, Scope::Contents, Level::Write).cloned())
}

/// The commit that a branch, a tag or a SHA names.
pub async fn commit_at(sim: &Sim, repo: &Repo, revision: &str) -> Result<Option<Sha>, ApiError> {
    let branch = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    if let Some(sha) = sim.read(|world| world.branch(repo.id, branch).cloned()) {
        return Ok(Some(sha));
    }
    if revision == "HEAD" {
        return Ok(sim.read(|world| world.branch(repo.id, &repo.default_branch).cloned()));
    }
    Ok(sim.git(repo.id).resolve(revision).await?)
}

/// 409, as GitHub answers where there is no commit yet.
pub fn refuse_empty(sim: &Sim, repo: &Repo) -> Result<(), ApiError> {
    if sim.read(|world| world.refs(repo.id).refs.is_empty()) {
        return Err(ApiError::conflict("Git Repository is empty."));
    }
    Ok(())
}
