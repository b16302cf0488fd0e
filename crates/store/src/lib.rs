//! Where merge-train keeps what it must never lose: one trait, SQLite and PostgreSQL behind it.
//!
//! When a call that writes has returned, what it wrote is durable. What a call could not write, it wrote nothing of.

mod backend;
mod checksum;
mod db;
mod error;
mod inbox;
pub mod layout;
pub mod postgres;
mod room;
pub mod rows;
mod schedule;
mod schema;
pub mod sqlite;
mod store;
mod stream;
mod sweep;
mod view;
mod whole;
mod writer;

use std::collections::BTreeMap;

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::{RepoId, RunId, StreamId, TenantId};
use merge_train_core::inbox::{Key, RequestRecord};
use tokio::sync::broadcast;

pub use error::{Error, Result};
pub use inbox::{Admission, Arrival, Claim, Entry, EntryId, Outcome, Priority, Route, Settlement, TakeLimit};
pub use postgres::Postgres;
use rows::{Checkpoint, Endings, Run, RunStep, Session, Transition, Workspace};
pub use rows::{Row, RunCursor, RunQuery, RunStatus};
pub use sqlite::Sqlite;
pub use stream::{
    Batch, Busiest, Lease, LeaseRequest, Loaded, NewEvent, Owner, Since, Snapshot, StoredEvent, StreamInfo,
};
pub use sweep::{Retention, Swept};
pub use view::View;
pub use whole::ImportedStream;

#[async_trait]
pub trait Store: Send + Sync + 'static {
    // ── Inbox ──

    /// Takes in a request, or says what its twin got. Durable before it returns.
    async fn admit(&self, arrival: Arrival) -> Result<Admission>;

    /// Streams with entries that nobody is at work on: those with a stop command first, then those that wait longest. And
    /// then those that nobody owns and whose time to be looked at has come.
    async fn waiting(&self, now: Timestamp, limit: usize) -> Result<Vec<StreamId>>;

    /// Hands the owner of a stream its next entries, stop commands first, else in order of arrival. They are its own as
    /// long as the stream is, and are handed out again until they are settled. Each counts as an attempt: if the owner
    /// dies, its successor finds it counted.
    async fn take(&self, lease: &Lease, limit: TakeLimit) -> Result<Vec<Entry>>;

    /// Closes a request that its caller worked on itself. A claim that was taken over is refused: `Error::LockLost`.
    async fn finish(&self, claim: &Claim, outcome: Outcome, now: Timestamp) -> Result<()>;

    /// What is remembered of a request.
    async fn record(&self, tenant: &TenantId, key: &Key) -> Result<Option<RequestRecord>>;

    /// What is not settled of a stream, in order of arrival, after the given entry; nothing is taken by it.
    async fn unsettled(&self, stream: &StreamId, after: Option<EntryId>, limit: TakeLimit) -> Result<Vec<Entry>>;

    /// Streams for which another instance took something in. Never fires where there can be no other instance.
    fn wakes(&self) -> broadcast::Receiver<StreamId>;

    // ── Streams ──

    /// Makes the caller the stream's owner, under a new epoch, unless somebody else's lease runs: `Error::Held`. A stream
    /// that never was is made; without a tenant only if something waits for it: else `Error::Unknown`.
    async fn acquire(&self, request: LeaseRequest) -> Result<Lease>;

    /// Makes the lease run from now on again, and the locks on what its owner has in hand.
    async fn renew(&self, lease: &Lease, now: Timestamp) -> Result<()>;

    /// Lets go of a stream at once, until something comes in for it or `wake_at` is over. What its owner had in hand waits
    /// for the next one.
    async fn release(&self, lease: &Lease, wake_at: Option<Timestamp>) -> Result<()>;

    /// A snapshot and the events after it. A stream that never was is empty.
    async fn load(&self, stream: &StreamId, since: Since) -> Result<Loaded>;

    /// Events, settled entries and rows, all or nothing. Refused with `Error::Fenced` to a lease that is not the
    /// stream's newest, and with `Error::OutOfOrder` where the expected sequence is not the next one.
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<()>;

    /// Begins a new generation with this snapshot; the events before it become history. Returns its number.
    async fn compact(&self, lease: &Lease, snapshot: Snapshot) -> Result<u64>;

    /// The last events before `before` (or at all), oldest first.
    async fn history(&self, stream: &StreamId, before: Option<u64>, limit: usize) -> Result<Vec<StoredEvent>>;

    /// All streams, by name.
    async fn streams(&self, tenant: Option<&TenantId>) -> Result<Vec<StreamInfo>>;

    /// How many streams there are, and so many of them at most: those with the most to do first.
    async fn busiest(&self, tenant: Option<&TenantId>, limit: usize) -> Result<Busiest>;

    // ── Rows ──

    /// A run of this tenant, or of whomever.
    async fn run(&self, tenant: Option<&TenantId>, id: &RunId) -> Result<Option<Run>>;

    /// Newest first; the page after one begins at the `cursor` of its last run.
    async fn runs(&self, query: &RunQuery) -> Result<Vec<Run>>;

    /// The same for several questions at once: one way to the database, and one wait for it.
    async fn runs_of_each(&self, queries: &[RunQuery]) -> Result<Vec<Vec<Run>>>;

    /// Runs that are said to be running and have not shown a sign of life since, the longest silent first.
    async fn stale_runs(&self, before: Timestamp, limit: usize) -> Result<Vec<Run>>;

    /// Runs that have changed, or given a sign of life, at that time or later, in the order in which they did; so many of
    /// each state at most, and none that is later than one that was left out.
    async fn runs_since(&self, tenant: Option<&TenantId>, since: Timestamp, limit: usize) -> Result<Vec<Run>>;

    /// How many runs have not ended, by whose they are and what they are doing.
    async fn active_runs(&self) -> Result<Vec<(TenantId, RunStatus, u64)>>;

    /// What came of the runs of a kind that ended at that time or later: of all of them, however many.
    async fn endings(&self, tenant: Option<&TenantId>, kind: &str, since: Timestamp) -> Result<Endings>;

    /// How many pull requests trains have landed at that time or later, also those that did not arrive or are still under way:
    /// by the day, which is so many days after 1970 began, by UTC.
    async fn landed(&self, tenant: Option<&TenantId>, since: Timestamp) -> Result<BTreeMap<i64, u64>>;

    /// By position.
    async fn steps(&self, tenant: &TenantId, run: &RunId) -> Result<Vec<RunStep>>;

    /// Oldest first.
    async fn checkpoints(&self, tenant: &TenantId, run: &RunId) -> Result<Vec<Checkpoint>>;

    async fn workspaces(&self, tenant: Option<&TenantId>) -> Result<Vec<Workspace>>;

    /// Those whose pull requests are not closed, of a repository or of all.
    async fn open_workspaces(&self, tenant: Option<&TenantId>, repo: Option<&RepoId>) -> Result<Vec<Workspace>>;

    async fn workspace(&self, tenant: &TenantId, id: &str) -> Result<Option<Workspace>>;

    /// Newest first.
    async fn sessions(&self, tenant: &TenantId, workspace: &str) -> Result<Vec<Session>>;

    /// Newest first.
    async fn transitions(&self, tenant: &TenantId, workspace: &str, limit: usize) -> Result<Vec<Transition>>;

    // ── Schedules ──

    /// The last slot of a schedule that was dealt with. None: it was never heard of.
    async fn schedule(&self, tenant: &TenantId, name: &str) -> Result<Option<Timestamp>>;

    /// A slot of a schedule is dealt with, and all before it. One that is earlier than the last changes nothing.
    async fn schedule_done(&self, tenant: &TenantId, name: &str, slot: Timestamp) -> Result<()>;

    // ── The whole ──

    /// Brings in streams from elsewhere, all or none. Refused with `Error::Exists` where one is there already.
    async fn import(&self, streams: Vec<ImportedStream>) -> Result<()>;

    /// The whole as it is now, to be read at leisure.
    async fn view(&self) -> Result<View>;

    /// Forgets what is over for long enough, a little at a time. What is not settled is never forgotten.
    async fn sweep(&self, now: Timestamp, retention: &Retention) -> Result<Swept>;

    /// Proves that it can be written to.
    async fn check(&self, now: Timestamp) -> Result<()>;

    /// Looks at all of it, however long that takes, and refuses a database that is not in order as a whole: pages, indices.
    /// Whether a row says what was written shows when it is read. PostgreSQL looks after its pages itself.
    async fn examine(&self) -> Result<()>;

    /// Ends what is under way and lets go of the files.
    async fn close(&self);
}
