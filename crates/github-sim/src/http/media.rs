//! GitHub's media types: the same thing as JSON, as a diff, raw …

use axum::extract::FromRequestParts;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use super::ApiError;

/// What the `Accept` header asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    Diff,
    Patch,
    Sha,
    Raw,
    /// A folder as one object.
    Object,
}

impl Media {
    fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        // `application/vnd.github.diff`, `application/vnd.github.v3.raw`, `application/vnd.github.raw+json`.
        let wanted = accept.flat_map(|value| value.split(',')).filter_map(|one| {
            let kind = one.split(';').next()?.trim().strip_prefix("application/vnd.github.")?;
            kind.strip_prefix("v3.").unwrap_or(kind).split('+').next()
        });
        for kind in wanted {
            match kind {
                "diff" => return Self::Diff,
                "patch" => return Self::Patch,
                "sha" => return Self::Sha,
                "raw" => return Self::Raw,
                "object" => return Self::Object,
                _ => {}
            }
        }
        Self::Json
    }

    /// A body of this type that is not JSON.
    pub fn respond(self, body: impl Into<axum::body::Body>) -> Response {
        let kind = match self {
            Self::Diff => "application/vnd.github.diff; charset=utf-8",
            Self::Patch => "application/vnd.github.patch; charset=utf-8",
            Self::Sha => "application/vnd.github.sha; charset=utf-8",
            Self::Raw => "application/vnd.github.raw; charset=utf-8",
            Self::Json | Self::Object => "application/json; charset=utf-8",
        };
        let mut response = Response::new(body.into());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Media {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(Self::of(&parts.headers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_media_type_is_understood() {
        for (accept, media) in [
            ("application/vnd.github.diff", Media::Diff),
            ("application/vnd.github.v3.patch", Media::Patch),
            ("application/vnd.github.v3.raw+json", Media::Raw),
            ("application/vnd.github+json, application/vnd.github.sha", Media::Sha),
            ("application/vnd.github+json", Media::Json),
            ("*/*", Media::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(Media::of(&headers), media, "{accept}");
        }
    }
}
