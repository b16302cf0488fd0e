//! Comments on issues and pull requests.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use jiff::Timestamp;
use serde::Deserialize;

use super::issues::issue_for;
use crate::Sim;
use crate::conversation;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::world::{Comment, Id, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/issues/{issue_number}/comments", get(list_of_issue).post(create))
        .route("/repos/{owner}/{repo}/issues/comments", get(list_of_repository))
        .route("/repos/{owner}/{repo}/issues/comments/{comment_id}", get(show).patch(update).delete(remove))
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Body(new): Body<Text>,
) -> ApiResult {
    sim.write(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Participate)?.repo;
        let id = conversation::add_comment(world, caller.actor()?, caller.via_app(), repo, number, &new.body)?;
        let comment = world.comments.get(repo, id).expect("just written");
        Ok(http::json(201, &present::issue_comment(world, comment)))
    })
}

#[derive(Deserialize)]
struct Since {
    since: Option<String>,
}

async fn list_of_issue(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, number)): Path<(String, String, u64)>,
    Query(query): Query<Since>,
    page: Page,
) -> ApiResult {
    let since = parse_since(query.since.as_deref())?;
    sim.read(|world| {
        let repo = issue_for(world, &caller, &owner, &name, number, Level::Read)?.repo;
        let comments: Vec<&Comment> = world
            .comments
            .within(repo)
            .filter(|comment| comment.number == number && since.is_none_or(|since| comment.updated_at >= since))
            .collect();
        Ok(page.of(&comments, |comment| present::issue_comment(world, comment)))
    })
}

#[derive(Deserialize)]
pub(super) struct Order {
    sort: Option<String>,
    direction: Option<String>,
    since: Option<String>,
}

impl Order {
    /// Puts things into the order asked for and leaves out those that have not changed since. Without `sort`, as they
    /// came; GitHub ignores `direction` then.
    pub fn apply<T>(
        &self,
        things: &mut Vec<T>,
        created: impl Fn(&T) -> Timestamp,
        updated: impl Fn(&T) -> Timestamp,
    ) -> Result<(), ApiError> {
        if let Some(since) = parse_since(self.since.as_deref())? {
            things.retain(|thing| updated(thing) >= since);
        }
        match self.sort.as_deref() {
            None | Some("") => return Ok(()),
            Some("updated") => things.sort_by_key(updated),
            Some(_) => things.sort_by_key(created),
        }
        if self.direction.as_deref() != Some("asc") {
            things.reverse();
        }
        Ok(())
    }
}

async fn list_of_repository(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(order): Query<Order>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        let mut comments: Vec<&Comment> = world.comments.within(repo.id).collect();
        order.apply(&mut comments, |comment| comment.created_at, |comment| comment.updated_at)?;
        Ok(page.of(&comments, |comment| present::issue_comment(world, comment)))
    })
}

async fn show(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.read(|world| {
        let comment = comment_for(world, &caller, &owner, &name, id, Level::Read)?;
        Ok(http::json(200, &present::issue_comment(world, comment)))
    })
}

async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
    Body(new): Body<Text>,
) -> ApiResult {
    sim.write(|world| {
        let repo = own_comment(world, &caller, &owner, &name, id)?.repo;
        conversation::edit_comment(world, caller.actor()?, repo, id, &new.body)?;
        let comment = world.comments.get(repo, id).expect("edited above");
        Ok(http::json(200, &present::issue_comment(world, comment)))
    })
}

async fn remove(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name, id)): Path<(String, String, Id)>,
) -> ApiResult {
    sim.write(|world| {
        let repo = own_comment(world, &caller, &owner, &name, id)?.repo;
        conversation::delete_comment(world, caller.actor()?, repo, id)?;
        Ok(http::no_content())
    })
}

pub(super) fn comment_for<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    id: Id,
    level: Level,
) -> Result<&'w Comment, ApiError> {
    let repo = http::readable_repo(world, caller, owner, name)?;
    let comment = world.comments.get(repo.id, id).ok_or_else(ApiError::not_found)?;
    issue_for(world, caller, owner, name, comment.number, level)?;
    Ok(comment)
}

/// The comment, if the caller may change it: its author may, and whoever may write to the repository.
fn own_comment<'w>(
    world: &'w World,
    caller: &Caller,
    owner: &str,
    name: &str,
    id: Id,
) -> Result<&'w Comment, ApiError> {
    let comment = comment_for(world, caller, owner, name, id, Level::Participate)?;
    if comment.author != caller.actor()? && issue_for(world, caller, owner, name, comment.number, Level::Write).is_err()
    {
        return Err(ApiError::forbidden("Must have admin rights to Repository."));
    }
    Ok(comment)
}

/// The `since` of a list.
pub(super) fn parse_since(text: Option<&str>) -> Result<Option<Timestamp>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let day = || text.parse::<jiff::civil::Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    match text.parse::<Timestamp>().ok().or_else(|| day().map(|day| day.timestamp())) {
        Some(time) => Ok(Some(time)),
        None => Err(ApiError::unprocessable(format!("The since parameter must be an ISO 8601 time, not {text:?}."))),
    }
}
