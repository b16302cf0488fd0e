//! `PATCH` of an issue or pull request.

use axum::extract::State;
use serde::{Deserialize, Deserializer};

use super::{LabelName, Title, assignees, issue_for, shown};
use crate::Sim;
use crate::conversation::{self, labels};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path};
use crate::pulls;
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
    let change = Checked::new(change)?;
    let (repo, is_pull) = sim.read(|world| {
        permitted(world, &caller, &owner, &name, number, &change)?;
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Participate)?;
        Ok::<_, ApiError>((issue.repo, issue.is_pull))
    })?;
    if is_pull {
        let edit = pulls::Edit {
            title: change.title.clone(),
            body: change.body.clone(),
            state: change.state,
            ..Default::default()
        };
        pulls::edit(&sim, caller.actor()?, repo, number, edit).await?;
    }
    sim.write(|world| {
        let rights = permitted(world, &caller, &owner, &name, number, &change)?;
        let actor = caller.actor()?;
        if !is_pull {
            let body = change.body.as_ref().map(Option::as_deref);
            conversation::edit_text(world, actor, repo, number, change.title.as_deref(), body)?;
        }
        if rights == Rights::Triage {
            sort_out(world, actor, repo, number, &change)?;
        }
        if let Some(state) = change.state.filter(|_| !is_pull) {
            conversation::set_state(world, actor, repo, number, state, change.reason.as_deref())?;
        }
        Ok(http::json(200, &shown(world, repo, number)))
    })
}

/// A change without what could never be.
struct Checked {
    title: Option<String>,
    body: Option<Option<String>>,
    state: Option<IssueState>,
    reason: Option<String>,
    labels: Option<Vec<String>>,
    assignees: Option<Vec<String>>,
}

impl Checked {
    fn new(change: Change) -> Result<Self, ApiError> {
        let title = change.title.map(Title::into_text);
        conversation::check_words(title.as_deref(), change.body.as_ref().and_then(Option::as_deref))?;
        let state = match change.state.as_deref() {
            None => None,
            Some("open") => Some(IssueState::Open),
            Some("closed") => Some(IssueState::Closed),
            Some(_) => return Err(ApiError::validation("Issue", "state", "invalid")),
        };
        let reasons = ["completed", "not_planned", "duplicate", "reopened"];
        if change.state_reason.as_deref().is_some_and(|reason| !reasons.contains(&reason)) {
            return Err(ApiError::validation("Issue", "state_reason", "invalid"));
        }
        Ok(Self {
            title,
            body: change.body,
            state,
            reason: change.state_reason,
            labels: change.labels.map(|names| names.into_iter().map(LabelName::into_name).collect()),
            assignees: change.assignees.or_else(|| change.assignee.map(|login| login.into_iter().collect())),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rights {
    /// An author without any: their words and whether it is open. GitHub drops the rest without a word.
    Author,
    Triage,
}

fn permitted(
    world: &World,
    caller: &Caller,
    owner: &str,
    name: &str,
    number: u64,
    change: &Checked,
) -> Result<Rights, ApiError> {
    let issue = issue_for(world, caller, owner, name, number, Level::Participate)?;
    let actor = caller.actor()?;
    let may = |level| issue_for(world, caller, owner, name, number, level).is_ok();
    let is_author = issue.author == actor;
    let refused = || Err(ApiError::forbidden("Must have admin rights to Repository."));
    if (change.title.is_some() || change.body.is_some()) && !is_author && !may(Level::Write) {
        return refused();
    }
    if may(Level::Triage) {
        return Ok(Rights::Triage);
    }
    // What someone else closed stays closed for its author.
    let reopens = change.state == Some(IssueState::Open) && issue.state == IssueState::Closed;
    if !is_author || reopens && issue.closed_by != Some(actor) {
        return refused();
    }
    Ok(Rights::Author)
}

fn sort_out(world: &mut World, actor: Id, repo: Id, number: u64, change: &Checked) -> Result<(), ApiError> {
    if let Some(names) = &change.labels {
        let ids = labels::find_or_create(world, actor, repo, names)?;
        labels::set(world, actor, repo, number, &ids)?;
    }
    if let Some(logins) = &change.assignees {
        let wanted = assignees::strictly(world, repo, number, logins)?;
        conversation::set_assignees(world, actor, repo, number, &wanted)?;
    }
    Ok(())
}
