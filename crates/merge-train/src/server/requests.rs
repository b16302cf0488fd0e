//! Requests of the API that change something: each is taken in once.

use axum::http::HeaderMap;
use axum::response::Response;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::Request;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::{Arrival, Priority, Route};

use super::App;
use super::idempotency;
use super::problem::Problem;
use crate::{clock, failpoint};

/// What somebody wants, and who it is.
pub struct Asked<'a> {
    pub client: &'a str,
    pub tenant: TenantId,
    pub stream: StreamId,
    pub request: Request,
    pub priority: Priority,
    /// What the caller is told besides: how to see what comes of it.
    pub besides: Map<String, Value>,
}

/// Puts the request into the inbox, or says what its twin got.
pub async fn admit(app: &App, key: Key, asked: Asked<'_>, body: &[u8]) -> Result<Response, Problem> {
    let Asked { client, tenant, stream, request, priority, besides } = asked;
    tracing::info!(event = "api_request", client, %stream, ?request, key = key.as_str(), "somebody asked for something");
    let label = label(request);
    // The same key for another thing is as wrong as for another body.
    let hash = RequestHash::of(&[format!("{stream}\n{label}\n").as_bytes(), body].concat());
    let route = Route::Stream { stream, priority, label, body: body.to_vec() };
    let arrival = Arrival { tenant, key: key.clone(), source: Source::Api, hash, received_at: clock::now(), route };
    let admission = idempotency::admit(app, arrival).await?;
    let (response, _) = idempotency::answer(Source::Api, &key, admission, &besides)?;
    Ok(failpoint::answer("api", response))
}

/// What the inbox calls it: its name, and where it has parameters, all of it as JSON.
fn label(request: Request) -> String {
    match serde_json::to_value(request).expect("a request is JSON") {
        Value::String(name) => name,
        with_parameters => with_parameters.to_string(),
    }
}

/// Whoever sends no id wants no deduplication: then each request is one of its own.
pub fn key(headers: &HeaderMap, client: &str) -> Result<Key, Problem> {
    let given = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}").to_owned());
    let id = given("x-idempotency-key").or_else(|| given("x-request-id"));
    let id = id.unwrap_or_else(|| format!("unnamed-{:032x}", fastrand::u128(..)));
    Key::api(client, &id).map_err(|error| Problem::bad_request(error.to_string()))
}

/// Sees to it that the body of a request that takes no parameters has none.
pub fn no_parameters(body: &[u8]) -> Result<(), Problem> {
    /// `{}`, or a note to oneself.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoParameters {
        #[serde(rename = "note")]
        _note: Option<String>,
    }
    if body.is_empty() {
        return Ok(());
    }
    let read = serde_json::from_slice::<NoParameters>(body);
    read.map(drop).map_err(|error| Problem::bad_request(format!("the body is not what this request takes: {error}")))
}
