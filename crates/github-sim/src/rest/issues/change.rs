//! `PATCH` of an issue or pull request.

use axum::extract::State;
use serde::{Deserialize, Deserializer};

use super::{LabelName, Title, assignees, issue_for, shown};
use crate::Sim;
use crate::conversation::{self, labels};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path};
use crate::world::{Id, IssueState, World};

#[derive(Deserialize)]
pub struct Change {
    title: Option<Title>,
    #[serde(default, deserialize_with = "given")]
    body: Option<Option<String>>,
    state: Option<String>,
    state_reason: Option<String>,
    labels: Option<Vec<LabelName>>,
    #[serde(default, deserialize_with = "given")]
    assignee: Option<Option<String>>,
    assignees: Option<Vec<String>>,
}

/// Tells a field that is null from one that is not there.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

pub async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(change): Body<Change>,
) -> ApiResult {
    sim.write(|world| {
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Participate)?;
        let (repo, actor) = (issue.repo, caller.actor()?);
        let may = |level| issue_for(world, &caller, &owner, &name, number, level).is_ok();
        let (may_triage, may_write) = (may(Level::Triage), may(Level::Write));
        let is_author = issue.author == actor;
        let changes_text = change.title.is_some() || change.body.is_some();
        if changes_text && !(is_author || may_write) || !(is_author || may_triage) {
            return Err(ApiError::forbidden("Must have admin rights to Repository."));
        }
        let reopens = change.state.as_deref() == Some("open") && issue.state == IssueState::Closed;
        if reopens && !may_triage && issue.closed_by != Some(actor) {
            return Err(ApiError::forbidden("Must have admin rights to Repository."));
        }
        apply(world, actor, repo, number, change, may_triage)?;
        Ok(http::json(200, &shown(world, repo, number)))
    })
}

fn apply(
    world: &mut World,
    actor: Id,
    repo: Id,
    number: u64,
    change: Change,
    may_triage: bool,
) -> Result<(), ApiError> {
    let title = change.title.map(Title::into_text);
    let body = change.body.as_ref().map(Option::as_deref);
    conversation::edit_text(world, actor, repo, number, title.as_deref(), body)?;
    if may_triage {
        if let Some(names) = change.labels {
            let names: Vec<String> = names.into_iter().map(LabelName::into_name).collect();
            let ids = labels::find_or_create(world, repo, &names)?;
            labels::set(world, actor, repo, number, &ids)?;
        }
        let logins = change.assignees.or_else(|| change.assignee.map(|login| login.into_iter().collect()));
        if let Some(logins) = logins {
            let wanted = assignees::strictly(world, repo, number, &logins)?;
            conversation::set_assignees(world, actor, repo, number, &wanted)?;
        }
    }
    let reason = change.state_reason.as_deref();
    if reason.is_some_and(|reason| !["completed", "not_planned", "duplicate", "reopened"].contains(&reason)) {
        return Err(ApiError::validation("Issue", "state_reason", "invalid"));
    }
    match change.state.as_deref() {
        None => Ok(()),
        Some("open") => conversation::set_state(world, actor, repo, number, IssueState::Open, reason),
        Some("closed") => conversation::set_state(world, actor, repo, number, IssueState::Closed, reason),
        Some(_) => Err(ApiError::validation("Issue", "state", "invalid")),
    }
}
