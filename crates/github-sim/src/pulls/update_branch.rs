//! Merging the base into the head, as the button "Update branch" does.

use crate::git::{MergeOutcome, RefChange};
use crate::http::{ApiError, Caller, Level, Scope, may};
use crate::people::{github_signature, signature_of};
use crate::world::Id;
use crate::{Sim, policy, push};

use super::{base_commit, find, is_open};

pub async fn update_branch(
    sim: &Sim,
    caller: &Caller,
    repo: Id,
    number: u64,
    expected_head_sha: Option<&str>,
) -> Result<(), ApiError> {
    let actor = caller.actor()?;
    let head_repo = sim.read(|world| {
        let (pull, _) = find(world, repo, number)?;
        pull.head_repo.ok_or_else(|| ApiError::unprocessable("The head repository is gone."))
    })?;
    let guard = sim.lock(head_repo).await;
    let (pull, base, author, github) = sim.read(|world| {
        let (pull, _) = find(world, repo, number)?;
        if !is_open(world, pull) {
            return Err(ApiError::unprocessable("Cannot update the branch of a closed pull request."));
        }
        if expected_head_sha.is_some_and(|expected| expected != pull.head_sha) {
            return Err(ApiError::unprocessable("expected head sha didn’t match current head ref."));
        }
        let source = world.repo(head_repo).ok_or_else(ApiError::not_found)?;
        let target = world.repo(repo).ok_or_else(ApiError::not_found)?;
        let maintains = pull.maintainer_can_modify && may(world, caller, target, Scope::Contents, Level::Write).is_ok();
        if !maintains {
            may(world, caller, source, Scope::Contents, Level::Write)?;
        }
        let base = base_commit(world, pull).clone();
        Ok((pull.clone(), base, signature_of(world, actor), github_signature(world)))
    })?;
    let git = sim.git(head_repo);
    git.fetch_from(&sim.git(repo), &base).await?;
    if git.is_ancestor(&base, &pull.head_sha).await? {
        return Err(ApiError::unprocessable("There are no new commits on the base branch."));
    }
    let MergeOutcome::Clean { tree } = git.merge_trees(&pull.head_sha, &base).await? else {
        return Err(ApiError::unprocessable("merge conflict between base and head"));
    };
    let message = format!("Merge branch '{}' into {}", pull.base_ref, pull.head_ref);
    let merge = git.write_commit(&tree, &[&pull.head_sha, &base], &author, &github, &message).await?;
    let name = format!("refs/heads/{}", pull.head_ref);
    let change = RefChange { name, old: Some(pull.head_sha), new: Some(merge) };
    let source = sim.read(|world| world.repo(head_repo).cloned()).ok_or_else(ApiError::not_found)?;
    if let Some(refused) = policy::as_error(&policy::refusals(sim, &source, caller, &change).await?) {
        return Err(refused);
    }
    push::update(sim, &guard, actor, vec![change]).await
}
