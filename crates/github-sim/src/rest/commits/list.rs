//! A branch's history.

use axum::extract::State;
use jiff::Timestamp;
use serde::Deserialize;

use super::{commit_at, readable, refuse_empty};
use crate::git::LogFilter;
use crate::http::{ApiError, ApiResult, Caller, Page, Path, Query, iso};
use crate::world::World;
use crate::{Sim, present};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    sha: Option<String>,
    path: Option<String>,
    author: Option<String>,
    committer: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

pub async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    page: Page,
) -> ApiResult {
    let repo = readable(&sim, &caller, &owner, &name)?;
    refuse_empty(&sim, &repo)?;
    let revision = wanted.sha.as_deref().filter(|sha| !sha.is_empty()).unwrap_or(&repo.default_branch);
    let start = commit_at(&sim, &repo, revision).await?.ok_or_else(ApiError::not_found)?;
    let filter = sim.read(|world| {
        let people = |who: &Option<String>| who.as_deref().map(|who| signatures(world, who)).unwrap_or_default();
        Ok::<_, ApiError>(LogFilter {
            path: wanted.path.clone().filter(|path| !path.is_empty()),
            authors: people(&wanted.author),
            committers: people(&wanted.committer),
            since: time(wanted.since.as_deref())?,
            until: time(wanted.until.as_deref())?,
        })
    })?;
    let git = sim.git(repo.id);
    let (commits, total) =
        tokio::try_join!(git.log(&start, &filter, page.per_page(), page.skip()), git.log_length(&start, &filter))?;
    Ok(sim.read(|world| {
        let shown = commits.iter().map(|commit| present::commit(world, &repo, commit)).collect();
        page.respond(total, &shown)
    }))
}

/// What stands in the signatures of a person named by login or by address.
fn signatures(world: &World, who: &str) -> Vec<String> {
    if who.contains('@') {
        return vec![format!("<{who}>")];
    }
    let Some(account) = world.account_named(who) else { return vec![format!("<{who}@")] };
    let noreply = [format!("<{}>", account.noreply_email()), format!("<{}@users.noreply.github.com>", account.login)];
    let own = match &account.email {
        Some(email) => format!("<{email}>"),
        None => format!("<{}@", account.login),
    };
    noreply.into_iter().chain([own]).collect()
}

fn time(text: Option<&str>) -> Result<Option<String>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let parsed: Timestamp = text
        .parse()
        .or_else(|_| format!("{text}T00:00:00Z").parse())
        .map_err(|_| ApiError::unprocessable(format!("Invalid request.\n\n{text} is not a valid timestamp.")))?;
    Ok(Some(iso(parsed)))
}
