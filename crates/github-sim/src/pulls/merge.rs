//! Merging, now or not at all.

use super::landing::{self, Attempt, Landed};
use super::message::Words;
use super::state::{self, rules_branch};
use super::{facts, find, is_open, settle, stack_of};
use crate::git::RefChange;
use crate::http::{ApiError, Caller};
use crate::policy::{self, BranchPolicy, Source};
use crate::push::{self, Cause, Retarget};
use crate::world::{Id, MergeMethod, Mergeability, Pull, Repo, Sha, World};
use crate::{RepoGuard, Sim};

pub struct MergeRequest {
    pub method: MergeMethod,
    /// What the head must be.
    pub sha: Option<String>,
    pub words: Words,
}

/// Merges it; the commit it landed as. A merge that has begun goes on when its caller hangs up.
pub async fn merge(sim: &Sim, caller: &Caller, repo: Id, number: u64, request: MergeRequest) -> Result<Sha, ApiError> {
    let (worker, caller) = (sim.clone(), caller.clone());
    sim.finish(async move { merge_now(&worker, &caller, repo, number, request).await }).await
}

async fn merge_now(sim: &Sim, caller: &Caller, repo: Id, number: u64, request: MergeRequest) -> Result<Sha, ApiError> {
    let actor = caller.actor()?;
    sim.read(|world| find(world, repo, number).map(|_| ()))?;
    let guard = sim.lock(repo).await;
    sim.read(|world| {
        let (pull, _) = find(world, repo, number)?;
        check_standing(world, pull, &request)
    })?;
    settle(sim, repo, &[number]).await?;
    let (pull, onto, tree) = sim.read(|world| {
        let (pull, _) = find(world, repo, number)?;
        check_rules(world, caller, pull, request.method)?;
        let onto = world.branch(repo, &pull.base_ref).ok_or_else(not_mergeable)?;
        let tree = facts(world, pull).and_then(|facts| match &facts.mergeability {
            Mergeability::Clean { tree } => Some(tree.clone()),
            Mergeability::Conflicting { .. } => None,
        });
        Ok::<_, ApiError>((pull.clone(), onto.clone(), tree))
    })?;
    let attempt = Attempt {
        pull: &pull,
        method: request.method,
        words: &request.words,
        merged_by: actor,
        onto: &onto,
        below: None,
        tree,
    };
    let sha = match landing::land(sim, &attempt).await? {
        Landed::At(sha) => sha,
        Landed::Conflict if request.method == MergeMethod::Rebase => {
            return Err(ApiError::not_mergeable("This branch can't be rebased"));
        }
        Landed::Conflict => return Err(not_mergeable()),
    };
    let landing = push::Landing { number, onto: onto.clone(), sha: sha.clone(), method: request.method };
    let cause = Cause { landings: vec![landing], retargets: Vec::new() };
    let change = RefChange { name: format!("refs/heads/{}", pull.base_ref), old: Some(onto), new: Some(sha.clone()) };
    push::carry_out(sim, &guard, actor, vec![change], cause).await?;
    delete_head_branch(sim, &guard, actor, &pull, &pull.base_ref).await?;
    Ok(sha)
}

fn not_mergeable() -> ApiError {
    ApiError::not_mergeable("Pull Request is not mergeable")
}

fn check_standing(world: &World, pull: &Pull, request: &MergeRequest) -> Result<(), ApiError> {
    if !is_open(world, pull) {
        return Err(not_mergeable());
    }
    if request.sha.as_ref().is_some_and(|sha| *sha != pull.head_sha) {
        return Err(ApiError::conflict("Head branch was modified. Review and try the merge again."));
    }
    if pull.draft {
        return Err(ApiError::not_mergeable("Pull Request is still a draft"));
    }
    if stack_of(world, pull).is_some() {
        return Err(ApiError::not_mergeable(
            "Pull Request is part of a stack. Merge it with the asynchronous merge API: PUT \
             /repos/{owner}/{repo}/pulls/{pull_number}/merge-async.",
        ));
    }
    Ok(())
}

fn check_rules(world: &World, caller: &Caller, pull: &Pull, method: MergeMethod) -> Result<(), ApiError> {
    let repo = world.repo(pull.repo).ok_or_else(ApiError::not_found)?;
    let branch = rules_branch(world, pull);
    check_method(repo, &policy::for_branch(world, repo, branch), method).map_err(ApiError::not_mergeable)?;
    if facts(world, pull).is_some_and(|facts| matches!(facts.mergeability, Mergeability::Conflicting { .. })) {
        return Err(not_mergeable());
    }
    let rules = policy::for_merge(world, repo, caller, branch);
    match violations(world, caller, pull, &rules, method) {
        Some(message) => Err(ApiError::not_mergeable(message)),
        None => Ok(()),
    }
}

/// Whether the repository and the branch let this method be used.
pub fn check_method(repo: &Repo, policy: &BranchPolicy, method: MergeMethod) -> Result<(), &'static str> {
    let (allowed, refusal) = match method {
        MergeMethod::Merge => (repo.allow_merge_commit, "Merge commits are not allowed on this repository."),
        MergeMethod::Squash => (repo.allow_squash_merge, "Squash merges are not allowed on this repository."),
        MergeMethod::Rebase => (repo.allow_rebase_merge, "Rebase merges are not allowed on this repository."),
    };
    let by_rule = policy.merge_methods.as_ref().is_none_or(|methods| methods.contains(&method));
    if allowed && by_rule { Ok(()) } else { Err(refusal) }
}

/// What the rules still demand before this merge, in GitHub's words.
pub fn violations(
    world: &World,
    caller: &Caller,
    pull: &Pull,
    rules: &[(Source, BranchPolicy)],
    method: MergeMethod,
) -> Option<String> {
    for (source, policy) in rules {
        let mut found = state::obstacles(world, pull, policy);
        found.extend(state::behind_obstacle(world, pull, policy));
        if policy.linear_history && method == MergeMethod::Merge {
            found.push("This branch must not contain merge commits.".to_owned());
        }
        if policy::keeps_out(policy, caller) {
            found.push(NOT_AUTHORIZED.to_owned());
        }
        match (found.first(), source) {
            (None, _) => {}
            (Some(_), Source::Ruleset) => {
                return Some(format!("Repository rule violations found\n\n{}\n\n", found.join("\n\n")));
            }
            (Some(first), _) => return Some(first.clone()),
        }
    }
    None
}

const NOT_AUTHORIZED: &str = "You're not authorized to push to this branch. Visit https://docs.github.com/articles/about-protected-branches/ for more information.";

/// Deletes the head branch where the repository wants that, and gives pull requests that were based on it the base of
/// the one that landed.
pub async fn delete_head_branch(
    sim: &Sim,
    guard: &RepoGuard,
    actor: Id,
    pull: &Pull,
    new_base: &str,
) -> Result<(), ApiError> {
    let doomed = sim.read(|world| {
        let repo = world.repo(pull.repo)?;
        let tip = world.branch(pull.repo, &pull.head_ref)?;
        let policy = policy::for_branch(world, repo, &pull.head_ref);
        let still_used = world.pulls.within(pull.repo).any(|other| {
            other.head_repo == Some(pull.repo) && other.head_ref == pull.head_ref && is_open(world, other)
        });
        let deletes = repo.delete_branch_on_merge
            && !pull.is_fork()
            && *tip == pull.head_sha
            && pull.head_ref != repo.default_branch
            && !policy.no_deletion
            && !still_used;
        deletes.then(|| {
            let name = format!("refs/heads/{}", pull.head_ref);
            (RefChange { name, old: Some(tip.clone()), new: None }, dependants(world, pull, new_base))
        })
    });
    let Some((change, retargets)) = doomed else { return Ok(()) };
    push::carry_out(sim, guard, actor, vec![change], Cause { landings: Vec::new(), retargets }).await
}

/// The open pull requests on top of one that landed, but for those that would then be another one's double.
fn dependants(world: &World, pull: &Pull, new_base: &str) -> Vec<Retarget> {
    let based = world.pulls.within(pull.repo).filter(|other| other.base_ref == pull.head_ref && is_open(world, other));
    based
        .filter(|other| {
            other.head_repo.is_none_or(|head_repo| {
                super::open::open_between(world, pull.repo, head_repo, &other.head_ref, new_base).is_none()
            })
        })
        .map(|other| Retarget { number: other.number, base: new_base.to_owned() })
        .collect()
}
