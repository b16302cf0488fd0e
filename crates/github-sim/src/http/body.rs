//! Extractors that fail with GitHub's words.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::Deserializer;
use serde::de::{DeserializeOwned, Visitor};

use super::{ApiError, BODY_LIMIT_BYTES};

/// A JSON object. An empty body counts as `{}`.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes =
            axum::body::to_bytes(request.into_body(), BODY_LIMIT_BYTES).await.map_err(|_| ApiError::too_large())?;
        let text = if bytes.trim_ascii().is_empty() { b"{}".as_slice() } else { &bytes };
        let value: serde_json::Value =
            serde_json::from_slice(text).map_err(|_| ApiError::bad_request("Problems parsing JSON"))?;
        match value {
            serde_json::Value::Null => from_value(serde_json::json!({})).map(Self),
            serde_json::Value::Object(_) => from_value(value).map(Self),
            serde_json::Value::Array(items) => from_list(items).map(Self),
            _ => Err(not_an_object()),
        }
    }
}

fn not_an_object() -> ApiError {
    ApiError::bad_request("Body should be a JSON object")
}

/// Some endpoints take a list. serde would also fill the fields of a struct from one, by position.
fn from_list<T: DeserializeOwned>(items: Vec<serde_json::Value>) -> Result<T, ApiError> {
    T::deserialize(ListOnly(items)).map_err(|_| not_an_object())
}

struct ListOnly(Vec<serde_json::Value>);

impl<'de> Deserializer<'de> for ListOnly {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        serde_json::Value::Array(self.0).deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom(format!("a list is not a {name}")))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, ApiError> {
    serde_json::from_value(value).map_err(|error| {
        let text = error.to_string();
        let reason = match text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next()) {
            Some(field) => format!("\"{field}\" wasn't supplied."),
            None => text,
        };
        ApiError::unprocessable(format!("Invalid request.\n\n{reason}"))
    })
}

/// Parts of the path. What does not parse names nothing: 404.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(_) => Err(ApiError::not_found()),
        }
    }
}

/// The query string.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        serde_urlencoded::from_str(parts.uri.query().unwrap_or_default())
            .map(Self)
            .map_err(|error| ApiError::unprocessable(format!("Invalid request.\n\n{error}")))
    }
}
