//! How the simulator speaks HTTP: who calls, what they may do, GitHub's errors, pages of lists, limits.

mod access;
mod body;
mod caller;
mod error;
mod git;
mod media;
mod page;
mod panics;
mod paths;
mod pipeline;
mod rate;
mod record;
mod server;
mod urls;

pub use access::{Level, Scope, may, readable_repo, repo, role_of};
pub use body::{Body, Path, Query};
pub use caller::{Caller, presented_token};
pub use error::ApiError;
pub use git::routes as git_routes;
pub use media::Media;
pub use page::Page;
pub use panics::catch_panics;
pub use pipeline::{api_pipeline, repository_in};
pub use rate::RateLimits;
pub use record::Recorder;
pub use server::{Abort, serve};
pub use urls::{Urls, encode};

/// The largest request body the API takes, as GitHub's webhooks' limit is.
pub const BODY_LIMIT_BYTES: usize = 25 * 1024 * 1024;

/// What handlers answer.
pub type ApiResult = Result<axum::response::Response, ApiError>;

/// A JSON answer.
pub fn json(status: u16, value: &serde_json::Value) -> axum::response::Response {
    use axum::http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
    let mut response = axum::response::Response::new(axum::body::Body::from(value.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a literal status code");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    response
}

/// `204 No Content`.
pub fn no_content() -> axum::response::Response {
    let mut response = axum::response::Response::new(axum::body::Body::empty());
    *response.status_mut() = axum::http::StatusCode::NO_CONTENT;
    response
}

/// GitHub's way to write a time.
pub fn iso(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
