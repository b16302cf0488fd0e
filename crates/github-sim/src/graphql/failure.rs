//! Errors in GitHub's shape: a `type` beside the message.

use std::fmt;

use async_graphql::{ErrorExtensionValues, ServerError};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http::ApiError;

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: &'static str,
    pub message: String,
}

impl Failure {
    pub fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new("NOT_FOUND", message)
    }

    pub fn no_such_node(id: &str) -> Self {
        Self::not_found(format!("Could not resolve to a node with the global id of '{id}'"))
    }

    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new("UNPROCESSABLE", message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// REST's refusals in GraphQL's words. Where REST explains itself in `errors`, GraphQL gives the explanation alone.
impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        let reasons: Vec<&str> =
            error.errors.iter().filter_map(|one| one["message"].as_str().or(one.as_str())).collect();
        let message = if reasons.is_empty() { error.message.clone() } else { reasons.join(", ") };
        match error.status {
            StatusCode::NOT_FOUND => Self::not_found(message),
            StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => Self::new("FORBIDDEN", message),
            StatusCode::INTERNAL_SERVER_ERROR => {
                Self::new("INTERNAL", "Something went wrong while executing your query. This is most likely a bug.")
            }
            _ => Self::unprocessable(message),
        }
    }
}

impl From<crate::git::Error> for Failure {
    fn from(error: crate::git::Error) -> Self {
        ApiError::from(error).into()
    }
}

/// One member of the answer's `errors`.
pub fn present(error: &ServerError) -> Value {
    let mut value = json!({});
    if let Some(failure) = error.source::<Failure>() {
        value["type"] = failure.kind.into();
    }
    if !error.path.is_empty() {
        value["path"] = json!(error.path);
    }
    let undefined = undefined_field(&error.message);
    if let Some((field, on)) = undefined {
        value["extensions"] = json!({ "code": "undefinedField", "typeName": on, "fieldName": field });
    } else if let Some(extensions) = error.extensions.as_ref().filter(|some| **some != ErrorExtensionValues::default())
    {
        value["extensions"] = json!(extensions);
    }
    value["locations"] = json!(error.locations);
    value["message"] = match undefined {
        Some((field, on)) => format!("Field '{field}' doesn't exist on type '{on}'").into(),
        None => error.message.as_str().into(),
    };
    value
}

/// Clients tell an older GitHub from a newer one by this message.
fn undefined_field(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("Unknown field \"")?;
    let (field, rest) = rest.split_once("\" on type \"")?;
    Some((field, rest.split('"').next()?))
}
