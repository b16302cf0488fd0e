//! Pull requests: opening, moving, their merge state, merging.

mod async_merge;
mod edit;
mod facts;
mod landing;
mod lifecycle;
mod merge;
mod message;
mod open;
mod reviewers;
mod stack;
mod stack_merge;
mod state;
mod update_branch;

pub use async_merge::{AsyncRequest, async_result, request_async_merge, start_async_merges};
pub use edit::{Edit, edit};
pub use facts::{base_commit, facts, settle, size};
pub use lifecycle::{MergedBy, close, mark_merged, retarget, set_draft};
pub use merge::{MergeRequest, merge};
pub use message::Words;
pub use open::{NewPull, open};
pub use reviewers::{request as request_reviewers, withdraw as withdraw_reviewers};
pub use stack::{add_to_stack, create_stack, dissolve, stack_of};
pub use state::{MergeState, merge_state, review_decision, rules_branch};
pub use update_branch::update_branch;

use crate::http::ApiError;
use crate::world::{Id, Issue, IssueState, Pull, World};

/// A pull request and its conversation side.
pub fn find(world: &World, repo: Id, number: u64) -> Result<(&Pull, &Issue), ApiError> {
    world.pulls.get(repo, number).zip(world.issues.get(repo, number)).ok_or_else(ApiError::not_found)
}

pub fn is_open(world: &World, pull: &Pull) -> bool {
    world.issues.get(pull.repo, pull.number).is_some_and(|issue| issue.state == IssueState::Open)
}
