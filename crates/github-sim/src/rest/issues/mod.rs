//! Issues. A pull request is one too.

mod assignees;
mod change;
mod events;
mod list;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, put};
use serde::Deserialize;

use crate::Sim;
use crate::conversation::{self, labels};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path, Scope};
use crate::present;
use crate::world::{Id, Issue, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/issues", get(list::list).post(create))
        .route("/repos/{owner}/{repo}/issues/{issue_number}", get(show).patch(change::update))
        .route("/repos/{owner}/{repo}/issues/{issue_number}/lock", put(lock).delete(unlock))
        .merge(assignees::routes())
        .merge(events::routes())
}

#[derive(Deserialize)]
struct NewIssue {
    /// GitHub takes a number for a title, too.
    title: Title,
    body: Option<String>,
    assignee: Option<String>,
    #[serde(default)]
    assignees: Option<Vec<String>>,
    #[serde(default)]
    labels: Option<Vec<LabelName>>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or a number")]
enum Title {
    Text(String),
    Number(u64),
}

impl Title {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// A label, by its name or as an object with one.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a label's name")]
pub(super) enum LabelName {
    Name(String),
    Object { name: String },
}

impl LabelName {
    pub fn into_name(self) -> String {
        match self {
            Self::Name(name) | Self::Object { name } => name,
        }
    }
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewIssue>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Participate)?;
        if !repo.has_issues {
            return Err(issues_disabled());
        }
        let (repo_id, actor) = (repo.id, caller.actor()?);
        // From people without triage rights GitHub takes the text and drops the rest without a word.
        let may_triage = http::may(world, &caller, repo, Scope::Issues, Level::Triage).is_ok();
        let title = new.title.into_text();
        let number = conversation::open_issue(world, actor, repo_id, &title, new.body.as_deref())?;
        if may_triage {
            let names: Vec<String> = new.labels.into_iter().flatten().map(LabelName::into_name).collect();
            let label_ids = labels::find_or_create(world, actor, repo_id, &names)?;
            labels::add(world, actor, repo_id, number, &label_ids)?;
            let logins: Vec<String> = new.assignees.into_iter().flatten().chain(new.assignee).collect();
            let wanted = assignees::strictly(world, repo_id, number, &logins)?;
            conversation::set_assignees(world, actor, repo_id, number, &wanted)?;
        }
        Ok(http::json(201, &shown(world, repo_id, number)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> ApiResult {
    sim.read(|world| {
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Read)?;
        Ok(http::json(200, &present::issue(world, issue)))
    })
}

#[derive(Deserialize)]
struct Lock {
    lock_reason: Option<String>,
}

async fn lock(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(lock): Body<Lock>,
) -> ApiResult {
    sim.write(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Triage)?.repo;
        conversation::lock(world, caller.actor()?, repo, number, lock.lock_reason.as_deref())?;
        Ok(http::no_content())
    })
}

async fn unlock(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Triage)?.repo;
        conversation::unlock(world, caller.actor()?, repo, number)?;
        Ok(http::no_content())
    })
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
        return Err(issues_disabled());
    }
    issue.ok_or_else(ApiError::not_found)
}

fn issues_disabled() -> ApiError {
    ApiError::new(StatusCode::GONE, "Issues are disabled for this repo")
}

fn shown(world: &World, repo: Id, number: u64) -> serde_json::Value {
    present::issue(world, world.issues.get(repo, number).expect("looked up in this transaction"))
}
