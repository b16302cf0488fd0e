//! Landing a pull request together with everything below it in its stack: all of them or none.

use super::landing::{self, Attempt, Landed};
use super::merge::{check_method, delete_head_branch, violations};
use super::message::Words;
use super::{find, is_open, settle, stack_of};
use crate::git::{Rebased, RefChange};
use crate::http::{ApiError, Caller};
use crate::people::github_signature;
use crate::push::{self, Cause, Retarget};
use crate::world::{AsyncMerge, Id, MergeMethod, Pull, Sha, World};
use crate::{RepoGuard, Sim, policy};

/// What lands together, bottom first, and what stays on top of it.
struct Group {
    base_ref: String,
    onto: Sha,
    landing: Vec<Pull>,
    above: Vec<Pull>,
    stacked: bool,
}

/// Carries the request out; the commit its pull request landed as.
pub async fn merge_group(sim: &Sim, merge: &AsyncMerge) -> Result<Sha, ApiError> {
    let guard = sim.lock(merge.repo).await;
    // Merged while the answer was not yet written down: before a restart, for one.
    if let Some(merged) =
        sim.read(|world| find(world, merge.repo, merge.number).map(|(pull, _)| pull.merged.clone()))?
    {
        return Ok(merged.sha);
    }
    let group = sim.read(|world| group(world, merge))?;
    let numbers: Vec<u64> = group.landing.iter().map(|pull| pull.number).collect();
    settle(sim, merge.repo, &numbers).await?;
    sim.read(|world| check_rules(world, merge, &group))?;
    let landings = write_commits(sim, merge, &group).await?;
    let tip = landings.last().map(|landing| landing.sha.clone()).ok_or_else(ApiError::not_found)?;
    let (mut changes, retargets) = restack(sim, merge, &group, &tip).await?;
    let name = format!("refs/heads/{}", group.base_ref);
    changes.insert(0, RefChange { name, old: Some(group.onto.clone()), new: Some(tip.clone()) });
    push::carry_out(sim, &guard, merge.requested_by, changes, Cause { landings, retargets }).await?;
    delete_branches(sim, &guard, merge, &group).await?;
    Ok(tip)
}

fn group(world: &World, merge: &AsyncMerge) -> Result<Group, ApiError> {
    let (pull, _) = find(world, merge.repo, merge.number)?;
    if pull.head_sha != merge.expected_head_sha {
        return Err(ApiError::conflict("Head branch was modified. Review and try the merge again."));
    }
    let stack = stack_of(world, pull);
    let line = stack.map_or_else(|| vec![pull.number], |stack| stack.pulls.clone());
    let base_ref = stack.map_or(&pull.base_ref, |stack| &stack.base_ref).clone();
    let at = line.iter().position(|number| *number == pull.number).unwrap_or(0);
    let of = |numbers: &[u64]| -> Vec<Pull> {
        let found = numbers.iter().filter_map(|number| world.pulls.get(merge.repo, *number));
        found.filter(|pull| pull.merged.is_none()).cloned().collect()
    };
    let landing = of(&line[..=at]);
    for pull in &landing {
        let what =
            if pull.number == merge.number { "Pull request".into() } else { format!("Pull request #{}", pull.number) };
        if !is_open(world, pull) {
            return Err(ApiError::not_mergeable(format!("{what} is closed.")));
        }
        if pull.draft {
            return Err(ApiError::not_mergeable(format!("{what} is still a draft.")));
        }
    }
    let onto = world.branch(merge.repo, &base_ref).cloned();
    let onto = onto.ok_or_else(|| ApiError::not_mergeable("The base branch has been deleted."))?;
    Ok(Group { base_ref, onto, landing, above: of(&line[at + 1..]), stacked: stack.is_some() })
}

fn check_rules(world: &World, merge: &AsyncMerge, group: &Group) -> Result<(), ApiError> {
    let repo = world.repo(merge.repo).ok_or_else(ApiError::not_found)?;
    check_method(repo, &policy::for_branch(world, repo, &group.base_ref), merge.method)
        .map_err(ApiError::not_mergeable)?;
    let caller = caller(world, merge);
    let rules = if group.stacked {
        // Nobody lands a stack past the rules: they are those of a stranger.
        policy::for_merge(world, repo, &Caller::Anonymous, &group.base_ref)
    } else {
        policy::for_merge(world, repo, &caller, &group.base_ref)
    };
    for pull in &group.landing {
        if let Some(message) = violations(world, &caller, pull, &rules, merge.method) {
            return Err(ApiError::not_mergeable(message));
        }
    }
    Ok(())
}

/// Whoever asked, as they were then.
fn caller(world: &World, merge: &AsyncMerge) -> Caller {
    let installation = merge.via_installation.and_then(|id| world.installations.get(0, id));
    match installation {
        Some(found) => Caller::Installation {
            installation: found.id,
            app: found.app,
            bot: merge.requested_by,
            account: found.account,
            permissions: found.permissions.clone(),
            repositories: None,
        },
        None => Caller::User { user: merge.requested_by },
    }
}

async fn write_commits(sim: &Sim, merge: &AsyncMerge, group: &Group) -> Result<Vec<push::Landing>, ApiError> {
    let mut tip = group.onto.clone();
    let mut below: Option<&str> = None;
    let mut landings = Vec::new();
    for pull in &group.landing {
        // The words were written for the pull request that was asked for.
        let words = if pull.number == merge.number {
            Words { title: merge.commit_title.clone(), message: merge.commit_message.clone() }
        } else {
            Words::default()
        };
        let attempt = Attempt {
            pull,
            method: merge.method,
            words: &words,
            merged_by: merge.requested_by,
            onto: &tip,
            below,
            tree: None,
        };
        let Landed::At(sha) = landing::land(sim, &attempt).await? else {
            return Err(ApiError::not_mergeable("Merge conflict: the pull request could not be merged."));
        };
        // Its base branch is the one below, which held that head.
        let onto = below.map_or(tip, str::to_owned);
        landings.push(push::Landing { number: pull.number, onto, sha: sha.clone(), method: merge.method });
        tip = sha;
        below = Some(&pull.head_sha);
    }
    Ok(landings)
}

/// The next pull request gets the stack's base. Where the landed commits are not the branches' own, what stays is
/// rebased onto them, as far as that goes without conflict.
async fn restack(
    sim: &Sim,
    merge: &AsyncMerge,
    group: &Group,
    tip: &str,
) -> Result<(Vec<RefChange>, Vec<Retarget>), ApiError> {
    let open: Vec<&Pull> = sim.read(|world| group.above.iter().filter(|pull| is_open(world, pull)).collect());
    let Some(next) = open.first() else { return Ok((Vec::new(), Vec::new())) };
    let retargets = vec![Retarget { number: next.number, base: group.base_ref.clone() }];
    let mut changes = Vec::new();
    if merge.method == MergeMethod::Merge {
        return Ok((changes, retargets));
    }
    let git = sim.git(merge.repo);
    let committer = sim.read(github_signature);
    let mut onto = tip.to_owned();
    let mut upstream = group.landing.last().map(|pull| pull.head_sha.clone()).unwrap_or_default();
    for pull in open {
        let stands = sim.read(|world| world.branch(merge.repo, &pull.head_ref) == Some(&pull.head_sha));
        let Rebased::Clean { commits } = git.rebase(&upstream, &pull.head_sha, &onto, &committer).await? else { break };
        let Some(new) = commits.last().filter(|_| stands) else { break };
        let name = format!("refs/heads/{}", pull.head_ref);
        changes.push(RefChange { name, old: Some(pull.head_sha.clone()), new: Some(new.clone()) });
        onto.clone_from(new);
        upstream.clone_from(&pull.head_sha);
    }
    Ok((changes, retargets))
}

async fn delete_branches(sim: &Sim, guard: &RepoGuard, merge: &AsyncMerge, group: &Group) -> Result<(), ApiError> {
    let actor: Id = merge.requested_by;
    for pull in &group.landing {
        delete_head_branch(sim, guard, actor, pull, &group.base_ref).await?;
    }
    Ok(())
}
