//! The key of a request, by its source.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ids::DeliveryId;

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    GithubWebhook,
    Api,
    Slack,
    Scheduler,
}

impl Source {
    pub const ALL: [Self; 4] = [Self::GithubWebhook, Self::Api, Self::Slack, Self::Scheduler];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::GithubWebhook => "github_webhook",
            Self::Api => "api",
            Self::Slack => "slack",
            Self::Scheduler => "scheduler",
        }
    }
}

/// The idempotency key: two requests with the same key are the same request. Unique within a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(example = "api:release-team:2f1c")]
pub struct Key(String);

/// The longest part of a key that a caller may choose.
const LONGEST_PART: usize = 255;

/// Why a request cannot have a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be 1 to {LONGEST_PART} printable characters without spaces or colons, and is {found:?}")]
pub struct InvalidKeyPart {
    what: &'static str,
    found: String,
}

impl Key {
    /// `github:{delivery_id}`
    pub fn github(delivery: &DeliveryId) -> Self {
        Self(format!("github:{delivery}"))
    }

    /// `api:{client_id}:{request_id}`
    pub fn api(client: &str, request: &str) -> Result<Self, InvalidKeyPart> {
        Ok(Self(format!("api:{}:{}", part("the client", client)?, part("the request id", request)?)))
    }

    /// `slack:{team_id}:{trigger_id}`
    pub fn slack(team: &str, trigger: &str) -> Result<Self, InvalidKeyPart> {
        Ok(Self(format!("slack:{}:{}", part("the team", team)?, part("the trigger", trigger)?)))
    }

    /// `scheduler:{schedule_id}:{execution_time}`, with the time cut to the schedule's slots.
    pub fn scheduler(schedule: &str, at: Timestamp, granularity: SignedDuration) -> Result<Self, InvalidKeyPart> {
        Ok(Self(format!("scheduler:{}:{}", part("the schedule", schedule)?, slot(at, granularity))))
    }

    /// A key that was made before and comes back from where it was kept.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

// A colon in one part could make it read as two, and so one caller's key as another's.
fn part<'a>(what: &'static str, text: &'a str) -> Result<&'a str, InvalidKeyPart> {
    let fits =
        (1..=LONGEST_PART).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    if fits { Ok(text) } else { Err(InvalidKeyPart { what, found: text.chars().take(80).collect() }) }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The start of the slot that `at` falls into.
pub fn slot(at: Timestamp, granularity: SignedDuration) -> Timestamp {
    let length = granularity.as_secs().max(1);
    let start = at.as_second().div_euclid(length) * length;
    Timestamp::from_second(start).unwrap_or(at)
}

/// The SHA-256 of a request's payload.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestHash(String);

impl RequestHash {
    pub fn of(payload: &[u8]) -> Self {
        Self(hex::encode(digest(&SHA256, payload)))
    }

    /// A hash that was made before and comes back from where it was kept.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for RequestHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestHash({})", &self.0)
    }
}
