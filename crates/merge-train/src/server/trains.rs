//! `/api/v1/repos/{owner}/{repo}/trains…`: the trains of a repository, and the orders to start and stop one.

mod orders;
mod view;

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use merge_train_core::ids::{PrNumber, RepoId, StreamId};
use merge_train_core::repo::RepoState;
use serde_json::{Value, json};
use store::Since;

use super::App;
use super::access::require;
use super::page::{self, Wish};
use super::problem::Problem;
use crate::config::Role;
use crate::driver;

pub use orders::{Order, for_run, start, stop};

/// All trains of the repository that are under way, or ended and wait for somebody, by number.
pub async fn list(
    State(app): State<Arc<App>>,
    Path((owner, name)): Path<(String, String)>,
    query: Result<Query<Wish>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let repo = repository(&owner, &name)?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let wish = page::wish(query)?;
    let state = known(&app, &repo).await?;
    let read = |text: &str| text.parse().ok().map(PrNumber::new);
    let page = wish.page(state.active_trains().values(), read, |train| train.original_root_pr)?;
    let trains: Vec<Value> = page.items.iter().map(|train| view::shown(&app.web_url, &repo, &state, train)).collect();
    Ok(Json(json!({ "trains": trains, "next_cursor": page.next_cursor, "sync": state.progress() })))
}

/// The train that has this pull request on board.
pub async fn show(
    State(app): State<Arc<App>>,
    Path((owner, name, number)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    let repo = repository(&owner, &name)?;
    require(&app.api_keys, &headers, Role::Viewer, &repo.tenant())?;
    let pr = pull_request(&number)?;
    let state = known(&app, &repo).await?;
    let train = state.train_of(pr).and_then(|root| state.active_trains().get(&root));
    let train = train.ok_or_else(|| no_train(&repo, pr))?;
    Ok(Json(view::shown(&app.web_url, &repo, &state, train)))
}

fn no_train(repo: &RepoId, pr: PrNumber) -> Problem {
    let detail = format!("no train of {repo} has pull request #{pr} on board; trains that have landed are gone");
    Problem::new(axum::http::StatusCode::NOT_FOUND, "NO_SUCH_TRAIN", detail)
}

fn repository(owner: &str, name: &str) -> Result<RepoId, Problem> {
    RepoId::new(owner, name).map_err(|error| Problem::bad_request(error.to_string()))
}

fn pull_request(text: &str) -> Result<PrNumber, Problem> {
    let number = text.parse().ok().filter(|number| *number > 0 && text.bytes().all(|byte| byte.is_ascii_digit()));
    number.map(PrNumber::new).ok_or_else(|| {
        let text: String = text.chars().take(40).collect();
        Problem::bad_request(format!("{text:?} is no number of a pull request; write it without the #, such as 12"))
    })
}

/// The durable state of a repository, if there is any.
async fn known(app: &App, repo: &RepoId) -> Result<RepoState, Problem> {
    let stream = StreamId::Repo(repo.clone());
    let loaded = app.store.load(&stream, Since::Newest).await?;
    if loaded.next_seq == 1 && loaded.snapshot.is_none() {
        let detail = format!(
            "nothing was heard of {repo} yet: check the name, and that the app is installed there and its webhooks arrive"
        );
        return Err(Problem::not_found(detail));
    }
    Ok(driver::replay(&stream, loaded)?)
}
