//! What a status, its headers and its message mean.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde::Deserialize;

use super::{Answer, Call};
use crate::error::{Error, Executed};
use crate::governor::{Attempt, Quota, Report, Resource, Verdict};

/// GitHub's errors have a message, and sometimes a list of what is wrong.
#[derive(Default, Deserialize)]
struct Complaint {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<serde_json::Value>,
}

/// Turns an answer into a result for the caller and a report for the governor.
pub(super) fn classify(answer: Answer, call: &Call) -> Attempt<Answer> {
    let resource = call.resource;
    let quota = quota(&answer.headers, resource);
    let retry_after = seconds(&answer.headers, "retry-after");
    let verdict = match answer.status {
        304 => Verdict::Free,
        200..=299 if resource == Resource::Graphql && graphql_limited(&answer.body) => Verdict::Limited,
        403 | 429 if limited(&answer, quota.as_ref(), retry_after) => Verdict::Limited,
        500..=599 => Verdict::Failing,
        _ => Verdict::Answered,
    };
    let result = match verdict {
        Verdict::Limited => {
            let primary = quota.as_ref().filter(|quota| quota.remaining == 0).map(|quota| quota.resets_in);
            Err(Error::rate_limited(&answer.call, retry_after.or(primary).unwrap_or(Duration::from_secs(60))))
        }
        _ if call.expects.contains(&answer.status) => Ok(answer),
        _ => outcome(answer, retry_after),
    };
    Attempt { result, report: Report { verdict, quota, retry_after } }
}

fn outcome(answer: Answer, retry_after: Option<Duration>) -> Result<Answer, Error> {
    let call = answer.call.clone();
    if answer.status < 400 {
        return Ok(answer);
    }
    let complaint: Complaint = serde_json::from_slice(&answer.body).unwrap_or_default();
    let message = if complaint.message.is_empty() { format!("status {}", answer.status) } else { complaint.message };
    Err(match answer.status {
        401 => Error::Unauthorized { call, message },
        403 | 451 => Error::Forbidden { call, message },
        404 => Error::NotFound { call },
        409 => Error::Conflict { call, message },
        410 => Error::Gone { call },
        422 => Error::Unprocessable { call, message, errors: complaint.errors.iter().map(wrong).collect() },
        // The request did not arrive in time.
        408 => Error::Transient { call, reason: message, executed: Executed::No, retry_after },
        status @ 500..=599 => {
            let reason = format!("GitHub answered {status}: {message}");
            Error::Transient { call, reason, executed: Executed::Perhaps, retry_after }
        }
        status => Error::permanent(&call, format!("GitHub answered {status}: {message}")),
    })
}

/// One entry of `errors`: a text, or an object with a message or a code.
fn wrong(error: &serde_json::Value) -> String {
    let field = |name: &str| error.get(name).and_then(serde_json::Value::as_str);
    match (error.as_str().or_else(|| field("message")), field("field"), field("code")) {
        (Some(message), ..) => message.to_owned(),
        (None, Some(name), Some(code)) => format!("{name}: {code}"),
        _ => error.to_string(),
    }
}

fn limited(answer: &Answer, quota: Option<&Quota>, retry_after: Option<Duration>) -> bool {
    let used_up = quota.is_some_and(|quota| quota.remaining == 0);
    let said = || {
        let complaint: Complaint = serde_json::from_slice(&answer.body).unwrap_or_default();
        let message = complaint.message.to_ascii_lowercase();
        message.contains("rate limit") || message.contains("abuse")
    };
    answer.status == 429 || retry_after.is_some() || used_up || said()
}

/// GraphQL tells of its limit with status 200.
fn graphql_limited(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Failed {
        #[serde(default)]
        errors: Vec<Kind>,
    }
    #[derive(Deserialize)]
    struct Kind {
        #[serde(default, rename = "type")]
        kind: Option<String>,
    }
    // Only an answer that speaks of it is read twice.
    body.windows(b"RATE_LIMIT".len()).any(|window| window == b"RATE_LIMIT")
        && serde_json::from_slice::<Failed>(body)
            .is_ok_and(|failed| failed.errors.iter().any(|error| error.kind.as_deref().is_some_and(is_limit)))
}

fn is_limit(kind: &str) -> bool {
    matches!(kind, "RATE_LIMITED" | "RATE_LIMIT")
}

fn quota(headers: &HeaderMap, expected: Resource) -> Option<Quota> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let resource = match headers.get("x-ratelimit-resource").and_then(|name| name.to_str().ok()) {
        Some("core") => Resource::Core,
        Some("graphql") => Resource::Graphql,
        // A budget of its own that merge-train does not use up: search, for one.
        Some(_) => return None,
        None => expected,
    };
    let reset_epoch = number("x-ratelimit-reset")?;
    let present = server_time(headers).unwrap_or_else(Timestamp::now).as_second();
    let resets_in = Duration::from_secs(reset_epoch.saturating_sub(u64::try_from(present).unwrap_or(0)));
    Some(Quota {
        resource,
        limit: number("x-ratelimit-limit")?,
        remaining: number("x-ratelimit-remaining")?,
        reset_epoch,
        resets_in,
    })
}

/// GitHub's clock, by the `Date` of an answer.
pub(super) fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(reqwest::header::DATE)?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(date).ok().map(|zoned| zoned.timestamp())
}

fn seconds(headers: &HeaderMap, name: &str) -> Option<Duration> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
