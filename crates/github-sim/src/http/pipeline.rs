//! What happens to every API request around its handler: counted, struck by faults, authenticated, limited, and the
//! answer tagged, recorded and possibly lost.

use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Body;
use axum::extract::{MatchedPath, OriginalUri, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, DATE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::caller::{Caller, authenticate};
use super::panics::caught;
use super::{Abort, ApiError, BODY_LIMIT_BYTES};
use crate::Sim;
use crate::faults::{self, Circumstances, FaultKind, Occasion};

pub async fn api_pipeline(State(sim): State<Sim>, request: Request, next: Next) -> Response {
    let mut response = served(&sim, request, next).await;
    // What time it is at GitHub, which is not what time it is on this machine.
    let now = sim.read(|world| world.now);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    if let Some(date) = date.ok().and_then(|date| HeaderValue::from_str(&date).ok()) {
        response.headers_mut().insert(DATE, date);
    }
    response
}

async fn served(sim: &Sim, request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let uri = request.extensions().get::<OriginalUri>().map_or_else(|| request.uri().clone(), |uri| uri.0.clone());
    let path = uri.path().strip_prefix("/api/v3").unwrap_or(uri.path()).to_owned();
    let template = request.extensions().get::<MatchedPath>().map(|matched| {
        let matched = matched.as_str();
        let template = matched.strip_prefix("/api/v3").or_else(|| matched.strip_prefix("/api")).unwrap_or(matched);
        if template.is_empty() { "/".to_owned() } else { template.to_owned() }
    });
    if let Some(template) = &template {
        sim.calls().count(&method, template, &path);
    }
    let fault = strike(sim, &method, &path);
    if let Some(answer) = instead(sim, fault.as_ref()).await {
        return answer;
    }
    let mut response = answer(sim, request, next, &method, &path).await;
    let recorded = match buffered(response).await {
        Ok((whole, bytes)) => {
            // The root is a page to browsers, and pages are not part of the API.
            if let Some(recorder) = sim.recorder().filter(|_| !is_page(&whole)) {
                recorder.rest(method.as_str(), uri.path(), template.as_deref(), whole.status().as_u16(), &bytes);
            }
            response = whole;
            bytes
        }
        Err(streamed) => return streamed,
    };
    let request_id =
        format!("{:04X}:{:06X}:{:08X}", sim.calls().serial() & 0xffff, fastrand::u32(..) >> 8, fastrand::u32(..));
    let headers = response.headers_mut();
    headers.insert("x-github-request-id", HeaderValue::from_str(&request_id).expect("hexadecimal digits"));
    headers.insert("x-github-media-type", HeaderValue::from_static("github.v3; format=json"));
    headers.insert("x-github-api-version-selected", HeaderValue::from_static("2022-11-28"));
    afterwards(response, recorded, fault.as_ref()).await
}

/// The handler and what belongs to it: credentials, limits, `304`, panics.
async fn answer(sim: &Sim, mut request: Request, next: Next, method: &Method, path: &str) -> Response {
    let too_large =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if too_large.is_some_and(|length| length > BODY_LIMIT_BYTES) {
        return ApiError::too_large().into_response();
    }
    let caller = match sim.read(|world| authenticate(world, request.headers())) {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    let key = caller.rate_key();
    let resource = if path.ends_with("/graphql") { "graphql" } else { "core" };
    let free = path == "/rate_limit" || path.starts_with("/app") && matches!(caller, Caller::App { .. });
    let (settings, now) = sim.read(|world| (world.settings().clone(), world.now));
    let budget = sim.rate_limits().take(&key, resource, &settings, now, u64::from(!free));
    let budget = match budget {
        Ok(budget) => budget,
        Err(budget) => {
            let mut response = ApiError::forbidden(format!("API rate limit exceeded for {key}.")).into_response();
            budget.write_headers(response.headers_mut());
            return response;
        }
    };
    if let Err(error) = sim.rate_limits().take_creation(&key, method, path, &settings, now) {
        return error.into_response();
    }
    let wanted_tag = request.headers().get(IF_NONE_MATCH).cloned();
    if *method == Method::HEAD {
        // Answered like a GET, so that its tag and length are those of the body, which the connection then leaves out.
        *request.method_mut() = Method::GET;
    }
    request.extensions_mut().insert(caller);
    let response = caught(method, path, next.run(request)).await;
    let mut response = if *method == Method::GET || *method == Method::HEAD {
        tagged(response, wanted_tag.as_ref()).await
    } else {
        response
    };
    if response.status() == StatusCode::NOT_MODIFIED {
        sim.rate_limits().refund(&key, resource);
    }
    budget.write_headers(response.headers_mut());
    response
}

fn strike(sim: &Sim, method: &Method, path: &str) -> Option<FaultKind> {
    if !sim.read(|world| faults::any(world, Occasion::Request)) {
        return None;
    }
    let repository = repository_in(path);
    let now = Circumstances { method: method.as_str(), path, repository: &repository, event: "" };
    sim.write(|world| Ok(faults::strike(world, Occasion::Request, now))).unwrap_or_default()
}

/// `owner/name` in `/repos/{owner}/{name}/…` or `/{owner}/{name}.git/…`.
pub fn repository_in(path: &str) -> String {
    let mut parts = path.trim_start_matches('/').split('/');
    let (owner, name) = match parts.next() {
        Some("repos") => (parts.next(), parts.next()),
        first => (first, parts.next().and_then(|name| name.strip_suffix(".git"))),
    };
    owner.zip(name).map(|(owner, name)| format!("{owner}/{name}")).unwrap_or_default()
}

/// What a fault answers in place of the work. Also for requests that come by git.
pub(super) async fn instead(sim: &Sim, fault: Option<&FaultKind>) -> Option<Response> {
    match fault? {
        FaultKind::Status { status, message, retry_after } => {
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let message = message.clone().unwrap_or_else(|| default_message(status).into());
            let mut error = ApiError::new(status, message);
            error.headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
            Some(error.into_response())
        }
        FaultKind::Timeout { ms } => {
            sim.pause(Duration::from_millis(*ms)).await;
            Some(cut())
        }
        FaultKind::Delay { ms } => {
            sim.pause(Duration::from_millis(*ms)).await;
            None
        }
        _ => None,
    }
}

pub(super) fn strike_git(sim: &Sim, method: &Method, path: &str) -> Option<FaultKind> {
    strike(sim, method, path)
}

fn default_message(status: StatusCode) -> &'static str {
    match status.as_u16() {
        403 | 429 => "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
        502 => "Server Error",
        503 => "Service unavailable",
        _ => "Server Error",
    }
}

pub(super) fn cut() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Abort);
    response
}

/// The answer, or what a fault leaves of it.
pub(super) async fn afterwards(response: Response, body: Bytes, fault: Option<&FaultKind>) -> Response {
    match fault {
        Some(FaultKind::LoseResponse) => cut(),
        Some(FaultKind::Truncate) => {
            let (mut parts, _) = response.into_parts();
            parts.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
            let half = body.slice(..body.len() / 2);
            let broken = futures_util::stream::iter([Ok(half), Err(std::io::Error::other("cut by a fault"))]);
            Response::from_parts(parts, Body::from_stream(broken))
        }
        _ => response,
    }
}

fn is_page(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

/// The response with its body in memory; an event stream or a download stays as it is.
async fn buffered(response: Response) -> Result<(Response, Bytes), Response> {
    let is_text = response.headers().get(CONTENT_TYPE).is_none_or(|kind| {
        kind.to_str().is_ok_and(|kind| {
            kind.starts_with("application/json") || kind.starts_with("text/") && !kind.contains("event-stream")
        })
    });
    if !is_text {
        return Err(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    Ok((Response::from_parts(parts, Body::from(bytes.clone())), bytes))
}

async fn tagged(response: Response, wanted: Option<&HeaderValue>) -> Response {
    if response.status() != StatusCode::OK {
        return response;
    }
    let (mut response, bytes) = match buffered(response).await {
        Ok(pair) => pair,
        Err(response) => return response,
    };
    let tag = format!("W/\"{}\"", hex::encode(digest(&SHA256, &bytes)));
    let same = wanted.and_then(|wanted| wanted.to_str().ok()).is_some_and(|wanted| {
        wanted
            .split(',')
            .any(|one| one.trim() == "*" || one.trim().trim_start_matches("W/") == tag.trim_start_matches("W/"))
    });
    let value = HeaderValue::from_str(&tag).expect("hexadecimal digits and quotes");
    if same {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, value);
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    response.headers_mut().insert(ETAG, value);
    response.headers_mut().insert("cache-control", HeaderValue::from_static("private, max-age=60, s-maxage=60"));
    response
}
