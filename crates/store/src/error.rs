//! What a caller can do about a failure of the store.

use std::path::PathBuf;

use jiff::Timestamp;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::Key;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Stop working on this stream: somebody else owns it.
    #[error("stream {stream} was taken over: lease epoch {epoch} is not the newest")]
    Fenced { stream: StreamId, epoch: u64 },

    /// Load the stream again: it is not where the caller thinks.
    #[error("stream {stream} goes on at {found}, not at {expected}")]
    OutOfOrder { stream: StreamId, expected: u64, found: u64 },

    /// Ask again later, or leave it to the owner.
    #[error("stream {stream} belongs to {owner} until {until}")]
    Held { stream: StreamId, owner: String, until: Timestamp },

    /// Drop the result: somebody else finished the request, or is about to.
    #[error("the lock on {key} was lost")]
    LockLost { key: Key },

    /// The record is gone: `IDEMPOTENCY_EXPIRED`.
    #[error("the record of {key} has expired")]
    Expired { key: Key },

    /// Another process has the state directory.
    #[error("{} is in use by {holder}; only one merge-train can work on a state directory at a time", dir.display())]
    InUse { dir: PathBuf, holder: String },

    /// Try again later: nothing was written, and it may be well by then.
    #[error("the database cannot be used now: {reason}")]
    Unavailable {
        reason: String,
        #[source]
        source: Option<sqlx::Error>,
    },

    /// Will not go away by waiting.
    #[error("the database holds something unexpected: {reason}")]
    Corrupt { reason: String },

    #[error("the database's schema could not be brought up to date")]
    Migration(#[from] sqlx::migrate::MigrateError),

    #[error(transparent)]
    Database(sqlx::Error),

    #[error("{}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

impl Error {
    /// Whether the same call may well succeed later, with nothing changed by the caller.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}
