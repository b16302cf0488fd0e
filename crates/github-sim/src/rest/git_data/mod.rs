//! git's own objects and refs.

mod blobs;
mod commits;
mod refs;
mod tags;
mod trees;

use axum::Router;

use crate::Sim;
use crate::http::ApiError;

pub fn routes() -> Router<Sim> {
    Router::new()
        .merge(blobs::routes())
        .merge(commits::routes())
        .merge(refs::routes())
        .merge(tags::routes())
        .merge(trees::routes())
}

/// Object names in requests are whole.
fn check_sha(sha: &str) -> Result<(), ApiError> {
    let whole = sha.len() == 40 && sha.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if whole {
        return Ok(());
    }
    Err(ApiError::unprocessable("The sha parameter must be exactly 40 characters and contain only [0-9a-f]."))
}
