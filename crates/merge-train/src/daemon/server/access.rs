//! Who may ask what.

use axum::http::{HeaderMap, StatusCode, header};
use merge_train_core::ids::TenantId;

use super::dashboard::session::{self, DashboardSession};
use super::problem::Problem;
use crate::config::{ApiKey, Role};

/// The key that a request presents; that of a page of the dashboard has a session instead, and the token of its pages.
pub fn presented<'a>(keys: &'a [ApiKey], headers: &HeaderMap) -> Result<&'a ApiKey, Problem> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let presented = bearer.or_else(|| headers.get("x-api-key").and_then(|value| value.to_str().ok()));
    if presented.is_none()
        && let Some(session) = DashboardSession::of(keys, headers)
        && headers.get(session::TOKEN).is_some_and(|token| token.to_str().is_ok_and(|token| session.has_token(token)))
    {
        return Ok(session.key);
    }
    let Some(presented) = presented else {
        return Err(Problem::unauthorized("missing API key: send it as \"Authorization: Bearer KEY\" or X-API-Key"));
    };
    let key = keys.iter().find(|key| key.opens_with(presented.trim()));
    key.ok_or_else(|| Problem::unauthorized("unknown API key"))
}

/// The key that a request presents, if it may do what the role may, with the tenant's data.
pub fn require<'a>(
    keys: &'a [ApiKey],
    headers: &HeaderMap,
    role: Role,
    tenant: &TenantId,
) -> Result<&'a ApiKey, Problem> {
    let key = presented(keys, headers)?;
    if !key.tenant.includes(tenant) {
        // Not "forbidden": that would tell that there is something.
        return Err(Problem::not_found("there is no such repository"));
    }
    if key.role < role {
        let (has, needed) = (key.role.as_str(), role.as_str());
        let detail = format!("the API key {:?} has the role {has:?}, but this needs the role {needed:?}", key.name);
        return Err(Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", detail));
    }
    Ok(key)
}
