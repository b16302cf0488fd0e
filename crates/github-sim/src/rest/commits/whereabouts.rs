//! The branches and pull requests a commit is in.

use axum::extract::State;
use serde_json::json;

use super::{commit_at, readable};
use crate::http::{ApiError, ApiResult, Caller, Page, Path};
use crate::world::{Pull, Repo, Sha};
use crate::{Sim, policy, present};

pub async fn branches_where_head(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, sha)): Path<(String, String, String)>,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let sha = known(&sim, &repo, &sha).await?;
    Ok(sim.read(|world| {
        let url = world.urls.api(format!("/repos/{}/commits/{sha}", world.full_name(&repo)));
        let branches = world.refs(repo.id).refs.iter().filter(|(_, at)| **at == sha);
        let shown = branches.filter_map(|(name, _)| name.strip_prefix("refs/heads/")).map(|branch| {
            let protected = policy::for_branch(world, &repo, branch).protected;
            json!({ "name": branch, "commit": { "sha": sha, "url": url }, "protected": protected })
        });
        crate::http::json(200, &shown.collect())
    }))
}

/// Those it was merged by, and those whose own commits it is among.
pub async fn pulls(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, sha)): Path<(String, String, String)>,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let sha = known(&sim, &repo, &sha).await?;
    let git = sim.git(repo.id);
    let containing = git.pull_heads_containing(&sha).await?;
    let candidates: Vec<Pull> = sim.read(|world| world.pulls.within(repo.id).cloned().collect());
    let mut numbers = Vec::new();
    for pull in candidates {
        let merged_by = pull.merged.as_ref().is_some_and(|merged| merged.sha == sha);
        let is_own = containing.contains(&pull.number) && !git.is_ancestor(&sha, &pull.base_sha).await?;
        if merged_by || is_own {
            numbers.push(pull.number);
        }
    }
    numbers.reverse();
    crate::pulls::settle(&sim, repo.id, &numbers).await?;
    sim.read(|world| {
        let found: Vec<&Pull> = numbers.iter().filter_map(|number| world.pulls.get(repo.id, *number)).collect();
        Ok(page.of(&found, |pull| present::simple_pull(world, pull)))
    })
}

async fn known(sim: &Sim, repo: &Repo, sha: &str) -> Result<Sha, ApiError> {
    commit_at(sim, repo, sha).await?.ok_or_else(|| ApiError::unprocessable(format!("No commit found for SHA: {sha}")))
}
