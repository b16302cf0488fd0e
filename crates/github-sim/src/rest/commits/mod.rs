//! Commits: listing, reading, comparing them, and where they are.

mod compare;
mod list;
mod merge;
mod whereabouts;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use super::revision::{commit_at, readable, refuse_empty};
use crate::Sim;
use crate::http::{ApiError, ApiResult, Caller, Media, Page, Path};
use crate::present;

/// How many files of a commit or of a comparison are shown at once.
const FILES_PER_PAGE: usize = 300;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/commits", get(list::list))
        .route("/repos/{owner}/{repo}/commits/{ref}", get(get_commit))
        .route("/repos/{owner}/{repo}/commits/{commit_sha}/branches-where-head", get(whereabouts::branches_where_head))
        .route("/repos/{owner}/{repo}/commits/{commit_sha}/pulls", get(whereabouts::pulls))
        .route("/repos/{owner}/{repo}/compare/{basehead}", get(compare::compare))
        .route("/repos/{owner}/{repo}/merges", post(merge::merge))
}

async fn get_commit(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, revision)): Path<(String, String, String)>,
    media: Media,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    refuse_empty(&sim, &repo)?;
    let unknown = || ApiError::unprocessable(format!("No commit found for SHA: {revision}"));
    let sha = commit_at(&sim, &repo, &revision).await?.ok_or_else(unknown)?;
    let git = sim.git(repo.id);
    let commit = git.commit(&sha).await?.ok_or_else(unknown)?;
    let parent = commit.parents.first().map(String::as_str);
    match media {
        Media::Sha => return Ok(media.respond(sha)),
        Media::Diff => return Ok(media.respond(git.diff_text_from(parent, &sha).await?)),
        Media::Patch => return Ok(media.respond(git.patch_of(&sha).await?)),
        _ => {}
    }
    let files = git.changed_files(parent, &sha).await?;
    let page = page.with_default(FILES_PER_PAGE);
    let shown = &files[page.range(files.len())];
    let value = sim.read(|world| present::commit_with_files(world, &repo, &commit, &files, shown));
    Ok(page.respond(files.len(), &value))
}
