//! Plain pages for people: a list of repositories and pull requests, and a page per pull request.

use axum::Router;

use crate::Sim;

pub fn routes() -> Router<Sim> {
    Router::new()
}
