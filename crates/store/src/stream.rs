//! Streams of numbered events, their snapshots and their owners.

pub(crate) mod append;
pub(crate) mod compact;
pub(crate) mod lease;
pub(crate) mod load;

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use merge_train_core::ids::{StreamId, TenantId};

use crate::inbox::Settlement;
use crate::rows::Row;

/// Who works: unique to each start of a process, readable by a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner(pub String);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone)]
pub struct LeaseRequest {
    pub stream: StreamId,
    /// Whose it is to be if there is none of that name yet; none: it is whoever's entries wait for it.
    pub tenant: Option<TenantId>,
    pub owner: Owner,
    pub ttl: Duration,
    pub now: Timestamp,
}

/// Ownership of a stream. The epoch rises with every owner; a write under an old one is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub stream: StreamId,
    pub owner: Owner,
    pub epoch: u64,
    /// What the first event under it gets.
    pub next_seq: u64,
    pub ttl: Duration,
}

impl Lease {
    /// Whether nothing was ever written under an earlier one.
    pub fn is_first(&self) -> bool {
        self.next_seq == load::FIRST_SEQ
    }
}

#[derive(Debug, Clone)]
pub struct Batch {
    /// The sequence number that the first event is to get.
    pub expected_next_seq: u64,
    pub events: Vec<NewEvent>,
    pub settled: Vec<Settlement>,
    pub rows: Vec<Row>,
    /// When the stream wants to be looked at although nothing comes in; none where it can wait for its next entry.
    pub wake_at: Option<Timestamp>,
    /// Whether the stream is nobody's afterwards, as after `release`.
    pub lets_go: bool,
    pub now: Timestamp,
}

/// `data` is a JSON object with a `type`, without `seq` and `ts`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub ts: Timestamp,
    pub data: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEvent {
    pub seq: u64,
    pub ts: Timestamp,
    pub data: String,
}

/// The state before the event `next_seq`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    pub next_seq: u64,
    pub taken_at: Timestamp,
    /// JSON, as the owner of the stream writes it.
    pub data: String,
}

/// From where to load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The newest snapshot: the shortest way to the state of now.
    Newest,
    /// The oldest that is still kept (or the beginning): the longest way, to check the other.
    Oldest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The stream's current generation, however far back was loaded.
    pub generation: u64,
    pub snapshot: Option<Snapshot>,
    pub events: Vec<StoredEvent>,
    /// What the next event gets.
    pub next_seq: u64,
}

/// All streams in numbers, and those with the most to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Busiest {
    /// The most unsettled entries first; among equals those with an owner, and then those with the most events.
    pub streams: Vec<StreamInfo>,
    pub count: u64,
    /// Those of repositories.
    pub repos: u64,
    /// Those with an owner.
    pub owned: u64,
    /// The entries of all that are not settled.
    pub unsettled: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInfo {
    pub stream: StreamId,
    pub tenant: TenantId,
    pub generation: u64,
    pub next_seq: u64,
    /// Entries in the inbox that are not settled.
    pub unsettled: u64,
    pub owner: Option<String>,
}
