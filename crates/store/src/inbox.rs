//! What comes in, and how it leaves again.

pub(crate) mod admit;
pub(crate) mod finish;
pub(crate) mod record;
pub(crate) mod settle;
pub(crate) mod take;
pub(crate) mod waiting;

use jiff::Timestamp;
use merge_train_core::ids::{RunId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use serde_json::Value;

/// A request at the door.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub tenant: TenantId,
    pub key: Key,
    pub source: Source,
    pub hash: RequestHash,
    pub received_at: Timestamp,
    pub route: Route,
}

/// Who is to work on a request.
#[derive(Debug, Clone)]
pub enum Route {
    /// The owner of the stream, in order of arrival. `label` is the name of the event.
    Stream { stream: StreamId, priority: Priority, label: String, body: Vec<u8> },
    /// The caller itself, which gets a claim and must `finish` it.
    Caller,
    /// Nobody: that it came is all there is to it.
    Done { response: Value },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    Normal,
    /// A person wants a train to halt.
    Stop,
}

impl Priority {
    pub(crate) fn rank(self) -> i64 {
        match self {
            Self::Normal => 0,
            Self::Stop => 1,
        }
    }

    pub(crate) fn of_rank(rank: i64) -> Self {
        if rank > 0 { Self::Stop } else { Self::Normal }
    }
}

/// What became of a request at the door.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// It was new (or may be tried again) and waits for the stream's owner, or is done.
    Accepted,
    /// It was new (or may be tried again), and it is the caller's to work on.
    Claimed(Claim),
    Replay {
        response: Option<Value>,
        run_id: Option<RunId>,
    },
    InFlight {
        run_id: Option<RunId>,
    },
    Exhausted {
        error: String,
    },
    Conflict,
}

/// The right to finish a request, until somebody takes it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub tenant: TenantId,
    pub key: Key,
    /// Rises with every takeover.
    pub fence: u64,
    pub attempts: u32,
}

/// The order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub i64);

/// A request, in the hands of its stream's owner.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: EntryId,
    pub tenant: TenantId,
    pub key: Key,
    pub source: Source,
    pub hash: RequestHash,
    pub priority: Priority,
    pub label: String,
    pub received_at: Timestamp,
    /// This one included.
    pub attempts: u32,
    pub body: Vec<u8>,
}

/// How much a worker takes at once. At least one entry is handed out, however large.
#[derive(Debug, Clone, Copy)]
pub struct TakeLimit {
    pub entries: usize,
    pub bytes: usize,
}

impl TakeLimit {
    /// Whether more may wait than was handed out.
    pub fn is_reached_by(&self, entries: &[Entry]) -> bool {
        let bytes: usize = entries.iter().map(|entry| entry.body.len()).sum();
        entries.len() >= self.entries || bytes > self.bytes / 2
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Completed { response: Value, run_id: Option<RunId> },
    Failed { error: String },
}

/// How an entry ended, written with the events it caused.
#[derive(Debug, Clone)]
pub struct Settlement {
    pub entry: EntryId,
    pub outcome: Outcome,
}
