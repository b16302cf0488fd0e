//! Errors with GitHub's bodies.

use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

const DOCUMENTATION: &str = "https://docs.github.com/rest";

#[derive(Clone, Debug)]
pub struct ApiError {
    pub status: StatusCode,
    pub message: String,
    pub errors: Vec<Value>,
    pub headers: Vec<(&'static str, String)>,
}

impl ApiError {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), headers: Vec::new() }
    }

    /// Also what a caller gets who may not see the thing.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub fn bad_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Bad credentials")
    }

    pub fn requires_authentication() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Requires authentication")
    }

    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// 405, the merge endpoint's way to say that it cannot be merged now.
    pub fn not_mergeable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// 422 `Validation Failed` with one error; `code` is `missing`, `missing_field`, `invalid`, `already_exists` …
    pub fn validation(resource: &str, field: &str, code: &str) -> Self {
        Self::validation_with(json!({ "resource": resource, "field": field, "code": code }))
    }

    /// 422 `Validation Failed` whose error is a sentence (`code: custom`).
    pub fn validation_message(resource: &str, message: impl Into<String>) -> Self {
        Self::validation_with(json!({ "resource": resource, "code": "custom", "message": message.into() }))
    }

    fn validation_with(error: Value) -> Self {
        let mut this = Self::unprocessable("Validation Failed");
        this.errors.push(error);
        this
    }

    pub fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "Payload too large: the limit is 25 MB")
    }

    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Server Error")
    }

    pub fn body(&self) -> Value {
        let mut body = json!({ "message": self.message });
        if !self.errors.is_empty() {
            body["errors"] = Value::Array(self.errors.clone());
        }
        body["documentation_url"] = DOCUMENTATION.into();
        body["status"] = self.status.as_u16().to_string().into();
        body
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = super::json(self.status.as_u16(), &self.body());
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().insert(HeaderName::from_static(name), value);
            }
        }
        response
    }
}

/// git failing is the simulator's fault, never the caller's: what a caller can get wrong is checked before.
impl From<crate::git::Error> for ApiError {
    fn from(error: crate::git::Error) -> Self {
        tracing::error!(%error, "git failed");
        Self::internal()
    }
}

impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> Self {
        tracing::error!(%error, "input or output failed");
        Self::internal()
    }
}
