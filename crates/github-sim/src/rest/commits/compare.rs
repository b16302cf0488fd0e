//! What one commit has that another has not.

use axum::extract::State;
use serde_json::json;

use super::{FILES_PER_PAGE, commit_at, readable};
use crate::http::{self, ApiError, ApiResult, Caller, Media, Page, Path, encode};
use crate::world::{Repo, Sha};
use crate::{Sim, present};

const COMMITS_PER_PAGE: usize = 250;

/// A side of a comparison, in this repository's object store.
struct Side {
    /// `branch`, or `owner:branch` where that was given.
    label: String,
    owner: String,
    sha: Sha,
}

pub async fn compare(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, basehead)): Path<(String, String, String)>,
    media: Media,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    let (base, head) = basehead.split_once("...").ok_or_else(ApiError::not_found)?;
    let base = side(&sim, &caller, &repo, base).await?;
    let head = side(&sim, &caller, &repo, head).await?;
    let git = sim.git(repo.id);
    let merge_base = git.merge_base(&base.sha, &head.sha).await?.ok_or_else(|| {
        let mut error = ApiError::not_found();
        error.message = format!("No common ancestor between {} and {}.", base.label, head.label);
        error
    })?;
    match media {
        Media::Diff => return Ok(media.respond(git.diff_text(&merge_base, &head.sha).await?)),
        Media::Patch => return Ok(media.respond(git.patch_text(&merge_base, &head.sha).await?)),
        _ => {}
    }
    let (behind_by, ahead_by) = git.ahead_behind(&base.sha, &head.sha).await?;
    let leave_out = format!("^{}", base.sha);
    let mut commits = git.commits(&[&head.sha, &leave_out], None, 0).await?;
    commits.reverse();
    let mut files = git.changed_files(Some(&merge_base), &head.sha).await?;
    files.truncate(FILES_PER_PAGE);
    let missing = || ApiError::internal();
    let base_commit = git.commit(&base.sha).await?.ok_or_else(missing)?;
    let merge_base_commit = git.commit(&merge_base).await?.ok_or_else(missing)?;
    let page = page.with_default(COMMITS_PER_PAGE);
    let value = sim.read(|world| {
        let full_name = world.full_name(&repo);
        let api = world.urls.api(format!("/repos/{full_name}/compare/{}...{}", encode(&base.label), encode(&head.label)));
        let html = world.urls.web(format!("/{full_name}/compare/{}...{}", base.label, head.label));
        let short = |side: &Side| format!("{}:{}", side.owner, &side.sha[..7]);
        let permalink = world.urls.web(format!("/{full_name}/compare/{}...{}", short(&base), short(&head)));
        let shown = &commits[page.range(commits.len())];
        json!({
            "url": api,
            "html_url": html,
            "permalink_url": permalink,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "base_commit": present::commit(world, &repo, &base_commit),
            "merge_base_commit": present::commit(world, &repo, &merge_base_commit),
            "status": match (ahead_by, behind_by) {
                (0, 0) => "identical",
                (_, 0) => "ahead",
                (0, _) => "behind",
                _ => "diverged",
            },
            "ahead_by": ahead_by,
            "behind_by": behind_by,
            "total_commits": ahead_by,
            "commits": shown.iter().map(|commit| present::commit(world, &repo, commit)).collect::<Vec<_>>(),
            // As on GitHub, only the first page carries the files.
            "files": files.iter().filter(|_| page.is_first()).map(|file| present::diff_entry(world, &repo, &head.sha, file)).collect::<Vec<_>>(),
        })
    });
    Ok(page.respond(commits.len(), &value))
}

/// `branch`, `owner:branch` or `owner:repository:branch`; from a fork, its objects are brought here.
async fn side(sim: &Sim, caller: &Caller, repo: &Repo, text: &str) -> Result<Side, ApiError> {
    let parts: Vec<&str> = text.split(':').collect();
    let (other, revision) = sim.read(|world| match parts[..] {
        [revision] => Ok((repo.clone(), revision)),
        [owner, revision] => {
            let root = repo.parent.unwrap_or(repo.id);
            let account = world.account_named(owner).ok_or_else(ApiError::not_found)?;
            let related = |other: &&Repo| {
                other.owner == account.id && (other.id == root || other.parent == Some(root) || other.id == repo.id)
            };
            let other = world.repos.all().find(related).ok_or_else(ApiError::not_found)?;
            http::readable_repo(world, caller, owner, &other.name).map(|other| (other.clone(), revision))
        }
        [owner, name, revision] => {
            http::readable_repo(world, caller, owner, name).map(|other| (other.clone(), revision))
        }
        _ => Err(ApiError::not_found()),
    })?;
    let sha = commit_at(sim, &other, revision).await?.ok_or_else(ApiError::not_found)?;
    if other.id != repo.id {
        sim.git(repo.id).fetch_from(&sim.git(other.id), &sha).await?;
    }
    let owner = sim.read(|world| world.account(other.owner).login.clone());
    Ok(Side { label: text.to_owned(), owner, sha })
}
