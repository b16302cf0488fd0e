//! Plain pages for people: what there is, a page per pull request with a comment box, the log of a check.

mod index;
mod layout;
mod log;
mod manifest;
pub(crate) mod markdown;
mod pull;
mod timeline;

pub use index::index;

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::html;

use crate::Sim;
use crate::http::ApiError;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/settings/apps/new", post(manifest::for_user))
        .route("/organizations/{org}/settings/apps/new", post(manifest::for_organization))
        .route("/{owner}", get(index::owner))
        .route("/{owner}/{repo}", get(index::repo))
        .route("/{owner}/{repo}/pulls", get(index::repo))
        .route("/{owner}/{repo}/pull/{pull_number}", get(pull::show).post(pull::comment))
        .route("/{owner}/{repo}/pull/{pull_number}/files", get(pull::files))
        .route("/{owner}/{repo}/issues/{issue_number}", get(pull::show).post(pull::comment))
        .route("/{owner}/{repo}/runs/{check_run_id}", get(log::show))
        .route("/{owner}/{repo}/actions/runs/{run_id}/job/{job_id}", get(log::of_job))
}

/// What went wrong, as a page.
struct PageError(ApiError);

impl From<ApiError> for PageError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl From<crate::git::Error> for PageError {
    fn from(error: crate::git::Error) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let ApiError { status, message, .. } = self.0;
        let advice = match status {
            StatusCode::NOT_FOUND => "Page not found in this simulator.",
            _ => "The request failed.",
        };
        let page = layout::page(
            &message,
            html! {
                h1 { (message) }
                p { (advice) " " a href="/" { "All repositories" } }
            },
        );
        (status, page).into_response()
    }
}
