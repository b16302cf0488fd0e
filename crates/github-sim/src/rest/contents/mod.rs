//! Files and folders of a branch.

mod present;
mod read;
mod write;

use axum::Router;
use axum::routing::get;

use crate::Sim;

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/contents", get(read::root))
        .route("/repos/{owner}/{repo}/contents/", get(read::root))
        .route("/repos/{owner}/{repo}/contents/{*path}", get(read::at_path).put(write::put).delete(write::delete))
        .route("/repos/{owner}/{repo}/readme", get(read::readme))
        .route("/repos/{owner}/{repo}/readme/{*dir}", get(read::readme_in))
}

/// A path that git could store, and that cannot lead anywhere else.
pub fn is_valid_path(path: &str) -> bool {
    !path.is_empty()
        && !path.contains('\0')
        && path
            .split('/')
            .all(|part| !part.is_empty() && part != "." && part != ".." && !part.eq_ignore_ascii_case(".git"))
}
