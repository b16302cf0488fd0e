//! Requests of the API that change something: each is taken in once.

use axum::http::HeaderMap;
use axum::response::Response;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use store::{Admission, Arrival, Priority, Route};
use utoipa::{IntoParams, ToSchema};

use super::App;
use super::idempotency;
use super::problem::Problem;
use crate::clock;
use crate::daemon::{failpoint, stored_request};

/// What somebody wants, and who it is.
pub struct ApiRequest<'a> {
    pub client: &'a str,
    pub tenant: TenantId,
    pub stream: StreamId,
    pub request: Request,
    pub priority: Priority,
    /// What the caller is told besides: how to see what comes of it.
    pub besides: Map<String, Value>,
}

/// Puts the request into the inbox, or says what its twin got.
pub async fn admit(app: &App, key: Key, asked: ApiRequest<'_>, body: &[u8]) -> Result<Response, Problem> {
    let admission = take_in(app, &key, &asked, body).await?;
    let (response, _) = idempotency::answer(Source::Api, &key, admission, &asked.besides)?;
    Ok(failpoint::answer("api", response))
}

/// Puts the request into the inbox, unless its twin is there.
pub async fn take_in(app: &App, key: &Key, asked: &ApiRequest<'_>, body: &[u8]) -> Result<Admission, Problem> {
    let ApiRequest { client, tenant, stream, request, priority, .. } = asked;
    tracing::info!(event = "api_request", client, %stream, ?request, key = key.as_str(), "somebody asked for something");
    let label = stored_request::label(request);
    // The same key for another thing is as wrong as for another body.
    let hash = RequestHash::of(&[format!("{stream}\n{label}\n").as_bytes(), body].concat());
    let route = Route::Stream { stream: stream.clone(), priority: *priority, label, body: body.to_vec() };
    let (tenant, source, received_at) = (tenant.clone(), Source::Api, clock::now());
    idempotency::admit(app, Arrival { tenant, key: key.clone(), source, hash, received_at, route }).await
}

/// How a caller names a request, to be able to send it again: the same name is the same request.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it is described here and read by `key`")]
pub struct IdempotencyParameters {
    /// The name of the request. With another body it is refused.
    #[param(rename = "X-Idempotency-Key", nullable = false, pattern = "^[!-9;-~]{1,255}$", example = "deploy-1.2.0")]
    idempotency_key: Option<String>,
    /// The same, where there is no `X-Idempotency-Key`.
    #[param(rename = "X-Request-ID", nullable = false, pattern = "^[!-9;-~]{1,255}$", example = "2f1c9d")]
    request_id: Option<String>,
}

/// Whoever sends no id wants no deduplication: then each request is one of its own.
pub fn key(headers: &HeaderMap, client: &str) -> Result<Key, Problem> {
    let given = |name: &str| {
        let id = headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"))?;
        Some(Key::api(client, id).map_err(|error| Problem::bad_request(error.to_string())))
    };
    // Both are read, so that what is wrong in one is not passed over in silence.
    let (key, id) = (given("x-idempotency-key").transpose()?, given("x-request-id").transpose()?);
    let unnamed = || Key::api(client, &format!("unnamed-{:032x}", fastrand::u128(..)));
    key.or(id).map_or_else(unnamed, Ok).map_err(|error| Problem::bad_request(error.to_string()))
}

/// A body without parameters: nothing, `{}`, or a note.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParameters {
    #[serde(rename = "note")]
    _note: Option<String>,
}

/// Sees to it that the body of a request that takes no parameters has none.
pub fn no_parameters(body: &[u8]) -> Result<(), Problem> {
    read::<NoParameters>(body).map(drop)
}

/// Reads the parameters of a request. No body, or `null`, is as good as an empty one.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let refused = |why: &str| Problem::bad_request(format!("the body is not valid for this request: {why}"));
    let text = match body.trim_ascii() {
        b"" | b"null" => b"{}",
        text => text,
    };
    // Of a list serde would take the items for the fields, in their order.
    if !text.starts_with(b"{") {
        return Err(refused("it is not a JSON object"));
    }
    serde_json::from_slice(text).map_err(|error| refused(&error.to_string()))
}
