//! GitHub's own stacks: a line of pull requests, each based on the one below it.

use serde_json::json;

use super::is_open;
use crate::http::ApiError;
use crate::world::{AsyncMergeStatus, Id, Pull, Stack, World};

/// The fewest and the most pull requests a stack is made of.
const SIZES: std::ops::RangeInclusive<usize> = 2..=100;
const NOT_A_LINE: &str = "Pull requests must form a stack, where each PR's base ref is the previous PR's head ref";

/// The stack a pull request belongs to.
pub fn stack_of<'w>(world: &'w World, pull: &Pull) -> Option<&'w Stack> {
    world.stacks.within(pull.repo).find(|stack| stack.pulls.contains(&pull.number))
}

/// Makes a stack of these pull requests, bottom first; its number.
pub fn create_stack(world: &mut World, repo: Id, numbers: &[u64]) -> Result<u64, ApiError> {
    if !SIZES.contains(&numbers.len()) {
        return Err(ApiError::validation("Stack", "pull_requests", "invalid"));
    }
    let pulls = joinable(world, repo, numbers)?;
    check_line(&pulls)?;
    let base_ref = pulls[0].base_ref.clone();
    let number = world.stacks.within(repo).next_back().map_or(0, |last| last.number) + 1;
    let (id, created_at) = (world.next_id(), world.now);
    world.stacks.insert(Stack { repo, id, number, base_ref, pulls: numbers.to_vec(), created_at });
    Ok(number)
}

/// Puts these pull requests on top of a stack.
pub fn add_to_stack(world: &mut World, repo: Id, number: u64, numbers: &[u64]) -> Result<(), ApiError> {
    let stack = world.stacks.get(repo, number).ok_or_else(ApiError::not_found)?.clone();
    if numbers.is_empty() || stack.pulls.len() + numbers.len() > *SIZES.end() {
        return Err(ApiError::validation("Stack", "pull_requests", "invalid"));
    }
    let top = stack.pulls.last().and_then(|top| world.pulls.get(repo, *top)).ok_or_else(ApiError::not_found)?;
    if !is_open(world, top) {
        return Err(ApiError::unprocessable("Pull requests cannot be added on top of one that is not open"));
    }
    let mut line = vec![top];
    line.extend(joinable(world, repo, numbers)?);
    check_line(&line)?;
    world.stacks.edit(repo, number).expect("found above").pulls.extend(numbers);
    Ok(())
}

/// Takes out every pull request that is neither merged nor about to be. The stack goes with its last one; whether it
/// is still there.
pub fn dissolve(world: &mut World, repo: Id, number: u64) -> Result<bool, ApiError> {
    let stack = world.stacks.get(repo, number).ok_or_else(ApiError::not_found)?;
    let stays = |number: &u64| {
        let merged = world.pulls.get(repo, *number).is_some_and(|pull| pull.merged.is_some());
        merged || is_being_merged(world, stack, *number)
    };
    let rest: Vec<u64> = stack.pulls.iter().copied().filter(stays).collect();
    if rest.len() == stack.pulls.len() {
        return Err(ApiError::unprocessable("Pull requests in this stack cannot be removed"));
    }
    if rest.is_empty() {
        world.stacks.remove(repo, number);
        return Ok(false);
    }
    world.stacks.edit(repo, number).expect("found above").pulls = rest;
    Ok(true)
}

/// A pending merge takes everything below with it.
fn is_being_merged(world: &World, stack: &Stack, number: u64) -> bool {
    let place = |number: u64| stack.pulls.iter().position(|other| *other == number);
    world
        .async_merges
        .within(stack.repo)
        .filter(|merge| merge.status == AsyncMergeStatus::Pending)
        .any(|merge| place(merge.number).is_some_and(|at| place(number).is_some_and(|mine| mine <= at)))
}

fn joinable<'w>(world: &'w World, repo: Id, numbers: &[u64]) -> Result<Vec<&'w Pull>, ApiError> {
    let missing: Vec<u64> = numbers.iter().copied().filter(|number| world.pulls.get(repo, *number).is_none()).collect();
    if !missing.is_empty() {
        let mut error = ApiError::unprocessable("Validation Failed");
        error
            .errors
            .push(json!({ "resource": "Stack", "field": "pull_requests", "code": "missing", "value": missing }));
        return Err(error);
    }
    let pulls: Vec<&Pull> = numbers.iter().filter_map(|number| world.pulls.get(repo, *number)).collect();
    for pull in &pulls {
        let number = pull.number;
        if stack_of(world, pull).is_some() {
            return Err(ApiError::unprocessable(format!("Pull request #{number} is already part of a stack")));
        }
        if !is_open(world, pull) {
            return Err(ApiError::unprocessable(format!("Pull request #{number} is not open")));
        }
        if pull.is_fork() {
            return Err(ApiError::unprocessable(format!("Pull request #{number} is from a fork")));
        }
    }
    Ok(pulls)
}

fn check_line(pulls: &[&Pull]) -> Result<(), ApiError> {
    if pulls.windows(2).all(|pair| pair[1].base_ref == pair[0].head_ref) {
        Ok(())
    } else {
        Err(ApiError::unprocessable(NOT_A_LINE))
    }
}
