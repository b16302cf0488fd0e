//! A repository's issues and pull requests.

use axum::extract::State;
use serde::Deserialize;

use super::super::comments::parse_since;
use super::issues_disabled;
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Caller, Level, Page, Path, Query, Scope};
use crate::present;
use crate::world::{Issue, IssueState, World};

#[derive(Deserialize)]
pub struct Filter {
    state: Option<String>,
    labels: Option<String>,
    sort: Option<String>,
    direction: Option<String>,
    since: Option<String>,
    creator: Option<String>,
    assignee: Option<String>,
    mentioned: Option<String>,
    milestone: Option<String>,
}

pub async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(filter): Query<Filter>,
    page: Page,
) -> ApiResult {
    let since = parse_since(filter.since.as_deref())?;
    sim.read(|world| {
        let repo = http::repo(world, &caller, &owner, &name, Scope::Issues, Level::Read)?;
        if !repo.has_issues {
            return Err(issues_disabled());
        }
        let mut issues: Vec<&Issue> = Vec::new();
        for issue in world.issues.within(repo.id) {
            if since.is_none_or(|since| issue.updated_at >= since) && filter.takes(world, issue)? {
                issues.push(issue);
            }
        }
        match filter.sort.as_deref() {
            Some("updated") => issues.sort_by_key(|issue| (issue.updated_at, issue.number)),
            Some("comments") => issues.sort_by_key(|issue| {
                let comments = world.comments.within(issue.repo).filter(|comment| comment.number == issue.number);
                (comments.count(), issue.number)
            }),
            _ => {}
        }
        if filter.direction.as_deref() != Some("asc") {
            issues.reverse();
        }
        Ok(page.of(&issues, |issue| present::issue(world, issue)))
    })
}

impl Filter {
    fn takes(&self, world: &World, issue: &Issue) -> Result<bool, ApiError> {
        let state = match self.state.as_deref() {
            None | Some("open" | "") => issue.state == IssueState::Open,
            Some("closed") => issue.state == IssueState::Closed,
            Some("all") => true,
            Some(_) => return Err(ApiError::validation("Issue", "state", "invalid")),
        };
        let is = |id: crate::world::Id, login: &str| world.account(id).login.eq_ignore_ascii_case(login);
        let creator = self.creator.as_deref().is_none_or(|login| is(issue.author, login));
        let assignee = match self.assignee.as_deref() {
            None => true,
            Some("none") => issue.assignees.is_empty(),
            Some("*") => !issue.assignees.is_empty(),
            Some(login) => issue.assignees.iter().any(|id| is(*id, login)),
        };
        let has_label = |name: &str| {
            let named = |id: &crate::world::Id| {
                world.labels.get(issue.repo, *id).is_some_and(|label| label.name.to_lowercase() == name.to_lowercase())
            };
            issue.labels.iter().any(named)
        };
        let labels = self.labels.as_deref().unwrap_or_default();
        let labels = labels.split(',').filter(|name| !name.is_empty()).all(has_label);
        let mentioned = self.mentioned.as_deref().is_none_or(|login| {
            issue
                .body
                .as_deref()
                .is_some_and(|body| body.to_lowercase().contains(&format!("@{}", login.to_lowercase())))
        });
        // There are no milestones here, so nothing has one.
        let milestone = matches!(self.milestone.as_deref(), None | Some("none"));
        Ok(state && creator && assignee && labels && mentioned && milestone)
    }
}
