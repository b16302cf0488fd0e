//! `/api/v1/repos/{owner}/{repo}/trains…`: the trains of a repository, and the orders to start and stop one.

pub mod actions;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use merge_train_core::ids::{PrNumber, RepoId, StreamId};
use merge_train_core::repo::{RepoState, SyncProgress};
use serde::Serialize;
use store::Since;
use utoipa::ToSchema;

use super::App;
use super::access::require;
use super::address::{PathParameters, PullRequestNumberPath, PullRequestPath, RepositoryPath};
use super::openapi::ReadingOne;
use super::page::{self, NumberedPageParameters, PageRequest};
use super::problem::Problem;
use crate::config::Role;
use crate::daemon::driver;

use view::TrainDocument;

/// A page of trains.
#[derive(Serialize, ToSchema)]
#[schema(as = Trains)]
pub struct TrainPage {
    trains: Vec<TrainDocument>,
    /// Where the next page begins; none on the last.
    next_cursor: Option<String>,
    sync: SyncProgress,
}

/// All trains of a repository that are running, or that ended and need somebody, by number
#[utoipa::path(
    get,
    path = "/api/v1/repos/{owner}/{repo}/trains",
    operation_id = "list_trains",
    tag = "trains",
    params(RepositoryPath, NumberedPageParameters),
    responses((status = 200, description = "One page.", body = TrainPage), ReadingOne)
)]
pub async fn list(
    State(app): State<Arc<App>>,
    PathParameters(repository): PathParameters<RepositoryPath>,
    query: Result<Query<PageRequest>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<TrainPage>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let request = page::page_request(query)?;
    let state = known(&app, &repo).await?;
    let read = |text: &str| page::number(text).map(PrNumber::new);
    let page = request.page(state.active_trains().values(), read, |train| train.original_root_pr)?;
    let trains = page.items.iter().map(|train| view::shown(&app.web_url, &repo, &state, train)).collect();
    Ok(Json(TrainPage { trains, next_cursor: page.next_cursor, sync: state.progress() }))
}

/// The train that includes a pull request
#[utoipa::path(
    get,
    path = "/api/v1/repos/{owner}/{repo}/trains/{pr}",
    operation_id = "show_train",
    tag = "trains",
    params(RepositoryPath, PullRequestNumberPath),
    responses((status = 200, description = "The train.", body = TrainDocument), ReadingOne)
)]
pub async fn show(
    State(app): State<Arc<App>>,
    PathParameters(PullRequestPath { repository, number }): PathParameters<PullRequestPath>,
    headers: HeaderMap,
) -> Result<Json<TrainDocument>, Problem> {
    let repo = repository.id()?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let pr = number.id()?;
    let state = known(&app, &repo).await?;
    let train = state.train_of(pr).and_then(|root| state.active_trains().get(&root));
    let train = train.ok_or_else(|| no_train(&repo, pr))?;
    Ok(Json(view::shown(&app.web_url, &repo, &state, train)))
}

fn no_train(repo: &RepoId, pr: PrNumber) -> Problem {
    let detail = format!("no current train includes #{pr} of {repo}; trains that have landed are not listed");
    Problem::new(axum::http::StatusCode::NOT_FOUND, "NO_SUCH_TRAIN", detail)
}

pub(super) fn no_such_pull(repo: &RepoId, pr: PrNumber) -> Problem {
    let detail = format!(
        "{repo} has no known pull request #{pr}; if it is new, POST /api/v1/repos/{repo}/sync makes the daemon sync"
    );
    Problem::not_found(detail)
}

/// The durable state of a repository, if there is any.
pub(super) async fn known(app: &App, repo: &RepoId) -> Result<RepoState, Problem> {
    let stream = StreamId::Repo(repo.clone());
    let loaded = app.store.load(&stream, Since::Newest).await?;
    if loaded.next_seq == 1 && loaded.snapshot.is_none() {
        let detail = format!(
            "{repo} is not known yet: check the name, that the app is installed there, and that its webhooks arrive"
        );
        return Err(Problem::not_found(detail));
    }
    Ok(driver::replay(&stream, loaded)?)
}
