//! The inbox: one record for each thing that came in, and what a second arrival of it gets.

mod dedupe;
mod key;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use dedupe::{DedupeKey, DedupeWindow};
pub use key::{Key, RequestHash, Source, slot};

use crate::ids::{RunId, TenantId};

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Taken in; perhaps somebody is at work on it.
    Processing,
    Completed,
    Failed,
}

impl RequestStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// What is remembered of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRecord {
    pub key: Key,
    pub source: Source,
    pub tenant_id: TenantId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub status: RequestStatus,
    pub request_hash: RequestHash,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub expires_at: Timestamp,
    /// Set while a worker has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_expires_at: Option<Timestamp>,
    pub attempts: u32,
}

/// How long things are remembered, and how often they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxPolicy {
    /// Long enough for retries to get the cached response.
    pub completed_ttl: SignedDuration,
    /// Short enough to try again after a passing trouble.
    pub failed_ttl: SignedDuration,
    /// A worker that has not finished by then is taken for dead.
    pub lock: SignedDuration,
    pub max_attempts: u32,
}

impl Default for InboxPolicy {
    fn default() -> Self {
        Self {
            completed_ttl: SignedDuration::from_hours(24),
            failed_ttl: SignedDuration::from_hours(1),
            lock: SignedDuration::from_mins(5),
            max_attempts: 3,
        }
    }
}

/// What an arrival gets.
#[derive(Debug, Clone, PartialEq)]
pub enum ArrivalDecision {
    /// Never seen, or forgotten: a record is made and the work begins.
    New,
    /// Done before: the cached response, marked as replayed.
    Replay { response: Option<serde_json::Value>, run_id: Option<RunId> },
    /// Somebody is at work on it, or it waits its turn.
    InFlight { run_id: Option<RunId> },
    /// It failed, or its worker died: it is tried again.
    Retry,
    /// It failed as often as it may.
    Exhausted { error: String },
    /// The same key with another payload: never the old response. `IDEMPOTENCY_CONFLICT`.
    Conflict,
}

/// Decides what an arrival gets, given what is remembered under its tenant and key.
pub fn judge(
    remembered: Option<&RequestRecord>,
    hash: &RequestHash,
    now: Timestamp,
    policy: &InboxPolicy,
) -> ArrivalDecision {
    let Some(record) = remembered else { return ArrivalDecision::New };
    // What is unfinished is never forgotten: it was acknowledged.
    if record.status != RequestStatus::Processing && record.expires_at <= now {
        return ArrivalDecision::New;
    }
    if record.request_hash != *hash {
        return ArrivalDecision::Conflict;
    }
    let again = || {
        if record.attempts < policy.max_attempts {
            ArrivalDecision::Retry
        } else {
            let error = record.error.clone();
            ArrivalDecision::Exhausted { error: error.unwrap_or_else(|| "its worker died at every attempt".to_owned()) }
        }
    };
    match (record.status, record.lock_expires_at) {
        (RequestStatus::Completed, _) => {
            ArrivalDecision::Replay { response: record.response.clone(), run_id: record.run_id.clone() }
        }
        (RequestStatus::Failed, _) => again(),
        (RequestStatus::Processing, Some(lock)) if lock <= now => again(),
        (RequestStatus::Processing, _) => ArrivalDecision::InFlight { run_id: record.run_id.clone() },
    }
}

#[cfg(test)]
mod tests;
