//! Issues. A pull request is one too.

use axum::Router;

use crate::Sim;
use crate::http::{self, ApiError, Caller, Level, Scope};
use crate::world::{Issue, World};

pub fn routes() -> Router<Sim> {
    Router::new()
}

/// The issue or pull request, if the caller may see it and do that much with it. An app may do with a pull request what
/// either of the two permissions lets it.
pub(super) fn issue_for<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    number: u64,
    level: Level,
) -> Result<&'w Issue, ApiError> {
    let repo = http::readable_repo(world, caller, owner, name)?;
    let issue = world.issues.get(repo.id, number);
    let is_pull = issue.is_some_and(|issue| issue.is_pull);
    if let Err(refusal) = http::repo(world, caller, owner, name, Scope::Issues, level) {
        if !is_pull {
            return Err(refusal);
        }
        http::repo(world, caller, owner, name, Scope::PullRequests, level)?;
    }
    if !repo.has_issues && !is_pull {
        return Err(ApiError::new(axum::http::StatusCode::GONE, "Issues are disabled for this repo"));
    }
    issue.ok_or_else(ApiError::not_found)
}
