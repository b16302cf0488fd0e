//! A handler that panics answers 500, and the log says why. Its transaction was rolled back.

use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use super::ApiError;

/// As a layer.
pub async fn catch_panics(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    caught(&method, &path, next.run(request)).await
}

pub async fn caught(method: &Method, path: &str, work: impl Future<Output = Response>) -> Response {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
        let reason =
            panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
        tracing::error!(%method, path, reason, "a handler panicked; its transaction was rolled back");
        ApiError::internal().into_response()
    })
}
