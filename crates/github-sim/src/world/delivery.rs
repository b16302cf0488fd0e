//! Webhooks: who listens, and what was sent to them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::table::{Doc, Key};
use super::{Id, Sha};
use crate::faults::FaultKind;

/// A repository's webhook.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hook {
    pub repo: Id,
    pub id: Id,
    pub url: String,
    pub secret: Option<String>,
    /// `json` or `form`.
    pub content_type: String,
    pub insecure_ssl: String,
    pub events: Vec<String>,
    pub active: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Doc for Hook {
    const KIND: &'static str = "hook";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

/// One delivery of one event to one receiver. Stored with the change that caused it, sent afterwards.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delivery {
    pub id: Id,
    /// `X-GitHub-Delivery`. A redelivery keeps it.
    pub guid: String,
    pub target: DeliveryTarget,
    pub event: String,
    pub action: Option<String>,
    pub repo: Option<Id>,
    pub installation: Option<Id>,
    pub payload: Value,
    /// What only git can say and is put into the payload before it is sent: transactions do not wait for git.
    pub from_git: Option<FromGit>,
    /// What goes wrong with it; decided when it is stored, so that a seed decides it.
    pub fault: Option<FaultKind>,
    pub redelivery: bool,
    pub created_at: Timestamp,
    /// None until it was sent.
    pub outcome: Option<DeliveryOutcome>,
}

impl Doc for Delivery {
    const KIND: &'static str = "delivery";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

/// The commit that a status, a check suite or a workflow run is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FromGit {
    pub repo: Id,
    pub sha: Sha,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DeliveryTarget {
    Hook { repo: Id, hook: Id },
    App { app: Id },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeliveryOutcome {
    pub at: Timestamp,
    pub duration_ms: u64,
    /// `OK`, `Invalid HTTP Response: 500`, `failed to connect to host`, `timed out`, `dropped by a fault`.
    pub status: String,
    /// 0 when there was no answer.
    pub status_code: u16,
    pub url: String,
    pub request_headers: Value,
    pub response_headers: Value,
    pub response_body: String,
}
