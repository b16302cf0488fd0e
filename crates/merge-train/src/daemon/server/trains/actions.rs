//! Starting and stopping trains. What is asked for is put into the inbox; the repository's worker decides on it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use merge_train_core::ids::{PrNumber, RepoId, StreamId};
use merge_train_core::repo::{Attribution, PrState, RepoState, Request};
use serde_json::Map;
use store::Priority;

use super::{known, no_such_pull};
use crate::config::Role;
use crate::daemon::driver::Urgency;
use crate::daemon::server::App;
use crate::daemon::server::access::require;
use crate::daemon::server::address::{PathParameters, PullRequestNumberPath, PullRequestPath, RepositoryPath};
use crate::daemon::server::idempotency::Accepted;
use crate::daemon::server::openapi::Ordering;
use crate::daemon::server::problem::Problem;
use crate::daemon::server::requests::{self, ApiRequest, IdempotencyParameters, NoParameters};

/// An order that somebody may give for a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrainAction {
    Start,
    Stop,
}

impl TrainAction {
    /// What is put into the inbox, before what else it is worked on, and how loudly the worker is called.
    fn of(self, pr: PrNumber, behest: Attribution) -> (Request, Priority, Urgency) {
        match self {
            Self::Start => (Request::StartTrain { pr, behest }, Priority::Normal, Urgency::Usual),
            Self::Stop => (Request::StopTrain { pr, behest }, Priority::Stop, Urgency::Alarm),
        }
    }
}

/// Starts the train of a stack, like `@merge-train start` on its root
#[utoipa::path(
    post,
    path = "/api/v1/repos/{owner}/{repo}/trains/{pr}/start",
    operation_id = "start_train",
    tag = "trains",
    params(RepositoryPath, PullRequestNumberPath, IdempotencyParameters),
    request_body = Option<NoParameters>,
    responses(
        (
            status = 202,
            description = "Accepted; the repository's worker decides.",
            body = Accepted,
            headers(("Location" = String, description = "Where to follow the result."))
        ),
        Ordering,
    )
)]
pub async fn start(
    State(app): State<Arc<App>>,
    PathParameters(path): PathParameters<PullRequestPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    give(&app, TrainAction::Start, &path, &headers, body).await
}

/// Stops the train that includes a pull request, ahead of all other requests
#[utoipa::path(
    post,
    path = "/api/v1/repos/{owner}/{repo}/trains/{pr}/stop",
    operation_id = "stop_train",
    tag = "trains",
    params(RepositoryPath, PullRequestNumberPath, IdempotencyParameters),
    request_body = Option<NoParameters>,
    responses(
        (
            status = 202,
            description = "Accepted; the repository's worker decides.",
            body = Accepted,
            headers(("Location" = String, description = "Where to follow the result."))
        ),
        Ordering,
    )
)]
pub async fn stop(
    State(app): State<Arc<App>>,
    PathParameters(path): PathParameters<PullRequestPath>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    give(&app, TrainAction::Stop, &path, &headers, body).await
}

async fn give(
    app: &App,
    order: TrainAction,
    PullRequestPath { repository, number }: &PullRequestPath,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let repo = repository.id()?;
    let client = require(&app.api_keys, headers, Role::Operator, &repo.tenant())?;
    let pr = number.id()?;
    let held = app.budget.read(headers, body).await?;
    requests::no_parameters(&held.bytes)?;
    let behest = Attribution { by: Some(format!("api:{}", client.name)), ..Attribution::default() };
    let (request, priority, urgency) = order.of(pr, behest);
    let stream = StreamId::Repo(repo.clone());
    let follow = format!("/api/v1/repos/{repo}/trains/{pr}");
    let besides = Map::from_iter([("train".to_owned(), follow.as_str().into())]);
    let asked = ApiRequest { client: &client.name, tenant: repo.tenant(), stream, request, priority, besides };
    let key = requests::key(headers, &client.name)?;
    // A repetition gets what the first got, although what it was about may be over by now.
    if app.store.record(&repo.tenant(), &key).await?.is_none() {
        check(&repo, &known(app, &repo).await?, order, pr)?;
    }
    let mut response = requests::admit(app, key, asked, &held.bytes).await?;
    app.driver.wake(&repo, urgency);
    if let Ok(address) = HeaderValue::from_str(&follow) {
        response.headers_mut().insert(header::LOCATION, address);
    }
    Ok(response)
}

/// What need not wait for the worker to be refused.
fn check(repo: &RepoId, state: &RepoState, order: TrainAction, pr: PrNumber) -> Result<(), Problem> {
    let Some(known) = state.pr(pr) else {
        return Err(no_such_pull(repo, pr));
    };
    match (order, &known.state) {
        // Whether there is anything to stop, the worker knows best: a start may be under way.
        (TrainAction::Stop, _) | (TrainAction::Start, PrState::Open) => Ok(()),
        // Its train halted after it: what stood on it can still land.
        (TrainAction::Start, PrState::Merged { .. }) if state.train_of(pr).is_some() => Ok(()),
        (TrainAction::Start, PrState::Merged { .. }) => {
            Err(Problem::conflict(format!("pull request #{pr} of {repo} is already merged")))
        }
        (TrainAction::Start, PrState::Closed { .. }) => {
            Err(Problem::conflict(format!("pull request #{pr} of {repo} is closed: reopen it to land it")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_goes_before_everything_else_and_a_start_waits_its_turn() {
        let pr = PrNumber::new(7);
        let behest = Attribution::default;
        let (request, priority, urgency) = TrainAction::Stop.of(pr, behest());
        let stop = Request::StopTrain { pr, behest: behest() };
        assert_eq!((request, priority, urgency), (stop, Priority::Stop, Urgency::Alarm));
        let (request, priority, urgency) = TrainAction::Start.of(pr, behest());
        let start = Request::StartTrain { pr, behest: behest() };
        assert_eq!((request, priority, urgency), (start, Priority::Normal, Urgency::Usual));
    }
}
