//! Labels, of a repository and of its issues and pull requests.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{delete, get};
use serde::Deserialize;
use serde_json::Value;

use super::issues::{LabelName, issue_for};
use crate::Sim;
use crate::conversation::labels::{self, LabelChange};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Scope};
use crate::present;
use crate::world::{Id, Label, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/labels", get(list).post(create))
        .route("/repos/{owner}/{repo}/labels/{name}", get(show).patch(update).delete(remove))
        .route(
            "/repos/{owner}/{repo}/issues/{issue_number}/labels",
            get(list_of_issue).post(add_to_issue).put(set_on_issue).delete(clear_issue),
        )
        .route("/repos/{owner}/{repo}/issues/{issue_number}/labels/{name}", delete(remove_from_issue))
}

async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let mut found: Vec<&Label> = world.labels.within(repo.id).collect();
        found.sort_by_key(|label| label.name.to_lowercase());
        Ok(page.of(&found, |label| present::label(world, label)))
    })
}

#[derive(Deserialize)]
struct NewLabel {
    name: String,
    color: Option<String>,
    description: Option<String>,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewLabel>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Write)?.id;
        let (color, description) = (new.color.as_deref(), new.description.as_deref());
        let id = labels::create(world, caller.actor()?, repo, &new.name, color, description)?;
        Ok(http::json(201, &shown(world, repo, id)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, label)): Path<(String, String, String)>,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let found = labels::find(world, repo.id, &label).ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &present::label(world, found)))
    })
}

#[derive(Deserialize)]
struct ChangedLabel {
    new_name: Option<String>,
    /// What clients of an older API send.
    name: Option<String>,
    color: Option<String>,
    description: Option<String>,
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, label)): Path<(String, String, String)>,
    Body(change): Body<ChangedLabel>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Write)?.id;
        let id = labels::find(world, repo, &label).ok_or_else(ApiError::not_found)?.id;
        let ChangedLabel { new_name, name, color, description } = change;
        let change = LabelChange { name: new_name.or(name), color, description };
        labels::change(world, caller.actor()?, repo, id, change)?;
        Ok(http::json(200, &shown(world, repo, id)))
    })
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, label)): Path<(String, String, String)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Write)?.id;
        let id = labels::find(world, repo, &label).ok_or_else(ApiError::not_found)?.id;
        labels::delete(world, caller.actor()?, repo, id);
        Ok(http::no_content())
    })
}

async fn list_of_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Read)?;
        Ok(page.of(&present::labels_of(world, issue), Clone::clone))
    })
}

/// `{"labels": ["a", …]}`, or the bare list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a list of labels")]
enum Names {
    List(Vec<LabelName>),
    Object {
        #[serde(default)]
        labels: Vec<LabelName>,
    },
}

impl Names {
    fn into_names(self) -> Vec<String> {
        match self {
            Self::List(labels) | Self::Object { labels } => labels.into_iter().map(LabelName::into_name).collect(),
        }
    }
}

async fn add_to_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(names): Body<Names>,
) -> ApiResult {
    sim.write(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Triage)?.repo;
        let actor = caller.actor()?;
        let ids = labels::find_or_create(world, actor, repo, &names.into_names())?;
        labels::add(world, actor, repo, number, &ids)?;
        Ok(shown_of_issue(world, repo, number))
    })
}

async fn set_on_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(names): Body<Names>,
) -> ApiResult {
    sim.write(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Triage)?.repo;
        let actor = caller.actor()?;
        let ids = labels::find_or_create(world, actor, repo, &names.into_names())?;
        labels::set(world, actor, repo, number, &ids)?;
        Ok(shown_of_issue(world, repo, number))
    })
}

async fn clear_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Triage)?.repo;
        labels::set(world, caller.actor()?, repo, number, &[])?;
        Ok(http::no_content())
    })
}

async fn remove_from_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number, label)): Path<(String, String, u64, String)>,
) -> ApiResult {
    sim.write(|world| {
        let issue = issue_for(world, &caller, &owner, &name, number, Level::Triage)?;
        let repo = issue.repo;
        let absent = || ApiError::new(axum::http::StatusCode::NOT_FOUND, "Label does not exist");
        let found = labels::find(world, repo, &label).filter(|found| issue.labels.contains(&found.id));
        let id = found.ok_or_else(absent)?.id;
        labels::remove(world, caller.actor()?, repo, number, &[id])?;
        Ok(shown_of_issue(world, repo, number))
    })
}

fn shown(world: &World, repo: Id, id: Id) -> Value {
    present::label(world, world.labels.get(repo, id).expect("written in this transaction"))
}

fn shown_of_issue(world: &World, repo: Id, number: u64) -> Response {
    let issue = world.issues.get(repo, number).expect("looked up in this transaction");
    http::json(200, &Value::Array(present::labels_of(world, issue)))
}
