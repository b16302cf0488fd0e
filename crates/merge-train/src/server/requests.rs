//! Requests of the API that change something: each is taken in once.

use axum::http::HeaderMap;
use axum::response::Response;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use merge_train_core::repo::Request;
use store::{Arrival, Priority, Route};

use super::App;
use super::idempotency;
use super::problem::Problem;
use crate::clock;

/// What somebody wants, and who it is.
pub struct Asked<'a> {
    pub client: &'a str,
    pub tenant: TenantId,
    pub stream: StreamId,
    pub request: Request,
}

/// Puts the request into the inbox, or says what its twin got.
pub async fn admit(app: &App, headers: &HeaderMap, asked: Asked<'_>, body: &[u8]) -> Result<Response, Problem> {
    let Asked { client, tenant, stream, request } = asked;
    let key = key(headers, client)?;
    let label = serde_json::to_value(request).expect("a name").as_str().unwrap_or_default().to_owned();
    // The same key for another thing is as wrong as for another body.
    let hash = RequestHash::of(&[format!("{stream}\n{label}\n").as_bytes(), body].concat());
    let route = Route::Stream { stream, priority: Priority::Normal, label, body: body.to_vec() };
    let arrival = Arrival { tenant, key: key.clone(), source: Source::Api, hash, received_at: clock::now(), route };
    let admission = idempotency::admit(app, arrival).await?;
    idempotency::answer(Source::Api, &key, admission).map(|(response, _)| response)
}

/// Whoever sends no id wants no deduplication: then each request is one of its own.
fn key(headers: &HeaderMap, client: &str) -> Result<Key, Problem> {
    let given = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}").to_owned());
    let id = given("x-idempotency-key").or_else(|| given("x-request-id"));
    let id = id.unwrap_or_else(|| format!("unnamed-{:032x}", fastrand::u128(..)));
    Key::api(client, &id).map_err(|error| Problem::bad_request(error.to_string()))
}
