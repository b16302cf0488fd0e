//! Where merge-train keeps what it must never lose: one trait, SQLite and PostgreSQL behind it.
//!
//! When a call that writes has returned, what it wrote is durable. What a call could not write, it wrote nothing of.

mod error;
mod inbox;
mod rows;
mod stream;

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::{Key, Record};
use tokio::sync::broadcast;

pub use error::{Error, Result};
pub use inbox::{Admission, Arrival, Claim, Entry, EntryId, Outcome, Priority, Route, Settlement, TakeLimit};
pub use rows::Row;
pub use stream::{Batch, Lease, LeaseRequest, Loaded, NewEvent, Owner, Since, Snapshot, StoredEvent, StreamInfo};

#[async_trait]
pub trait Store: Send + Sync + 'static {
    // ── Inbox ──

    /// Takes in a request, or says what its twin got. Durable before it returns.
    async fn admit(&self, arrival: Arrival) -> Result<Admission>;

    /// Streams with entries that nobody is at work on, those that wait longest first.
    async fn waiting(&self, now: Timestamp, limit: usize) -> Result<Vec<StreamId>>;

    /// Hands the owner of a stream its next entries, stop commands first, else in order of arrival. Each counts as an
    /// attempt and is locked to the lease. Entries that this very lease has in hand are not handed out again.
    async fn take(&self, lease: &Lease, limit: TakeLimit, now: Timestamp) -> Result<Vec<Entry>>;

    /// Closes a request that its caller worked on itself. A claim that was taken over is refused: `Error::LockLost`.
    async fn finish(&self, claim: &Claim, outcome: Outcome, now: Timestamp) -> Result<()>;

    async fn record(&self, tenant: &TenantId, key: &Key) -> Result<Option<Record>>;

    /// Streams for which another instance took something in. Never fires where there can be no other instance.
    fn wakes(&self) -> broadcast::Receiver<StreamId>;

    // ── Streams ──

    /// Makes the caller the stream's owner, under a new epoch, unless somebody else's lease runs: `Error::Held`.
    async fn acquire(&self, request: LeaseRequest) -> Result<Lease>;

    async fn renew(&self, lease: &Lease, now: Timestamp) -> Result<()>;

    async fn release(&self, lease: &Lease) -> Result<()>;

    /// A snapshot and the events after it. A stream that never was is empty.
    async fn load(&self, stream: &StreamId, since: Since) -> Result<Loaded>;

    /// Events, settled entries and rows, all or nothing. Refused with `Error::Fenced` to a lease that is not the
    /// stream's newest, and with `Error::OutOfOrder` where the expected sequence is not the next one.
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()>;

    /// Begins a new generation with this snapshot; the events before it become history. Returns its number.
    async fn compact(&self, lease: &Lease, snapshot: Snapshot) -> Result<u64>;

    /// The last events before `before` (or at all), oldest first.
    async fn history(&self, stream: &StreamId, before: Option<u64>, limit: usize) -> Result<Vec<StoredEvent>>;

    async fn streams(&self, tenant: Option<&TenantId>) -> Result<Vec<StreamInfo>>;

    // ── The whole ──

    /// Proves that it can be written to.
    async fn check(&self, now: Timestamp) -> Result<()>;

    /// Ends what is under way and lets go of the files.
    async fn close(&self);
}
