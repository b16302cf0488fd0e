//! Errors as people and programs read them: `application/problem+json`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// How long a caller that met an outage should wait, in seconds.
const RETRY_AFTER: &str = "5";

/// An error to be told: what happened, why, and what to do.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
    more: Value,
}

/// An error (RFC 9457), with extra members where useful.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDocument {
    #[serde(rename = "type")]
    #[schema(pattern = "^urn:merge-train:problem:[a-z-]+$", example = "urn:merge-train:problem:not-found")]
    kind: String,
    /// What the status means.
    title: &'static str,
    /// The HTTP status, repeated.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// For programs: stable, even if the texts change.
    #[schema(pattern = "^[A-Z_]+$", example = "NOT_FOUND")]
    code: &'static str,
    /// For people: what happened, and what to do about it.
    detail: String,
    #[serde(flatten)]
    #[schema(ignore)]
    more: Value,
}

impl Problem {
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self { status, code, detail: detail.into(), more: Value::Null }
    }

    /// Adds members of its own.
    pub fn with(mut self, more: Value) -> Self {
        self.more = more;
        self
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", detail)
    }

    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", detail)
    }

    /// What is asked for does not go together with what is.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "CONFLICT", detail)
    }

    pub fn method_not_allowed() -> Self {
        let detail = "method not allowed; the Allow header lists the allowed ones";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
    }

    /// Nothing was accepted; retry later.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", detail)
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        if error.is_outage() {
            return Self::unavailable(error.to_string());
        }
        tracing::error!(error = &error as &dyn std::error::Error, "the store failed");
        let detail = "the request could not be stored; the daemon's log says why";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let told = ProblemDocument {
            kind: format!("urn:merge-train:problem:{}", self.code.to_ascii_lowercase().replace('_', "-")),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: self.detail,
            more: self.more,
        };
        let mut response = (self.status, Json(told)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}
