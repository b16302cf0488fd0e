//! What a caller can do about a failure of the store.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use merge_train_core::ids::{RunId, StreamId};
use merge_train_core::inbox::Key;
use sqlx::postgres::PgDatabaseError;

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

    /// Nobody has asked for it, or all of it is forgotten.
    #[error("there is no stream {stream}, and nothing waits for it")]
    Unknown { stream: StreamId },

    /// Drop the result: somebody else finished the request, or is about to.
    #[error("the lock on {key} was lost")]
    LockLost { key: Key },

    /// The record is gone: `IDEMPOTENCY_EXPIRED`.
    #[error("the record of {key} has expired")]
    Expired { key: Key },

    /// The run has ended: what it ended as never changes. `RUN_TERMINAL_STATE`.
    #[error("run {run} is already {status}")]
    RunEnded { run: RunId, status: String },

    /// What is to be brought in is there already.
    #[error("stream {stream} exists already; it is only brought into a store that has none of that name")]
    Exists { stream: StreamId },

    /// It was opened to be looked at.
    #[error("{} was opened for reading only", dir.display())]
    ReadOnly { dir: PathBuf },

    /// Another process has the state directory.
    #[error("{} is in use by {holder}; only one merge-train can work on a state directory at a time", dir.display())]
    InUse { dir: PathBuf, holder: String },

    /// Try again later: it may be well by then. Nothing was written, unless the database went away in the very moment
    /// of the commit, when nobody can know: `load`, or `admit` again, and see.
    #[error("the database cannot be used now: {reason}")]
    Unavailable {
        reason: String,
        #[source]
        source: Option<sqlx::Error>,
    },

    /// Will not go away by waiting.
    #[error("the database holds something unexpected: {reason}")]
    Corrupt { reason: String },

    /// The same, where the file is known that holds it.
    #[error(
        "{file} is damaged: {reason}. Stop merge-train, keep the state directory for analysis, and start with an empty \
         one: `merge-train state import` restores the last export, and without one the trains are recovered from \
         GitHub",
        file = file.display()
    )]
    Damaged { file: PathBuf, reason: String },

    /// Nothing was changed in it.
    #[error(
        "the database was written by a newer merge-train: its schema is version {found}, and this program knows {known} at \
         most. Run the newer program, or give this one an empty database and import an export that it can read"
    )]
    NewerSchema { found: i64, known: i64 },

    /// It was opened to be looked at, and that changes nothing.
    #[error(
        "the database was written by an older merge-train: its schema is version {found}, and this program works with \
         {known}. `merge-train serve` upgrades it at start; until then use the older program"
    )]
    OlderSchema { found: i64, known: i64 },

    #[error("the database's schema could not be brought up to date")]
    Migration(#[from] sqlx::migrate::MigrateError),

    /// A statement that the database did not take: a mistake in this program.
    #[error("the database refused a statement")]
    Database(#[source] sqlx::Error),

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

    /// Whether the call itself was turned down, the database being well.
    pub(crate) fn is_refusal(&self) -> bool {
        use Error::{Exists, Expired, Fenced, Held, LockLost, OutOfOrder, RunEnded, Unknown};
        matches!(
            self,
            Fenced { .. }
                | OutOfOrder { .. }
                | Held { .. }
                | Unknown { .. }
                | LockLost { .. }
                | Expired { .. }
                | RunEnded { .. }
                | Exists { .. }
        )
    }

    /// Whether two transactions stood in each other's way: again, it may well succeed at once.
    pub(crate) fn is_collision(&self) -> bool {
        let Self::Unavailable { source: Some(sqlx::Error::Database(refusal)), .. } = self else { return false };
        refusal.code().is_some_and(|code| code.starts_with("40"))
    }

    /// Damage, with where it is.
    pub(crate) fn in_file(self, file: Option<&Path>) -> Self {
        match (self, file) {
            (Self::Corrupt { reason }, Some(file)) => Self::Damaged { file: file.to_owned(), reason },
            (other, _) => other,
        }
    }

    /// For another caller that suffers from the same.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Unavailable { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match diagnose(&error) {
            Diagnosis::Outage(reason) => Self::Unavailable { reason, source: Some(error) },
            Diagnosis::Damage(reason) => Self::Corrupt { reason },
            Diagnosis::Mistake => Self::Database(error),
        }
    }
}

enum Diagnosis {
    Outage(String),
    Damage(String),
    Mistake,
}

fn diagnose(error: &sqlx::Error) -> Diagnosis {
    match error {
        sqlx::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => {
            Diagnosis::Outage("no space left on the disk".to_owned())
        }
        sqlx::Error::Io(io) => Diagnosis::Outage(format!("it cannot be reached: {io}")),
        sqlx::Error::Tls(tls) => Diagnosis::Outage(format!("it cannot be reached: {tls}")),
        sqlx::Error::PoolTimedOut => Diagnosis::Outage("no connection became free in time".to_owned()),
        sqlx::Error::PoolClosed => Diagnosis::Outage("it was closed".to_owned()),
        sqlx::Error::WorkerCrashed => Diagnosis::Outage("its thread ended".to_owned()),
        sqlx::Error::Protocol(text) => Diagnosis::Outage(format!("the connection broke: {text}")),
        sqlx::Error::Database(refusal) => {
            let code = refusal.code().unwrap_or_default();
            match refusal.try_downcast_ref::<PgDatabaseError>() {
                Some(_) => postgres_code(&code, refusal.message()),
                None => sqlite_code(code.parse().unwrap_or_default(), refusal.message()),
            }
        }
        sqlx::Error::ColumnDecode { source, .. } | sqlx::Error::Decode(source) => Diagnosis::Damage(source.to_string()),
        _ => Diagnosis::Mistake,
    }
}

/// What to do where something cannot be written.
pub const OWNED: &str = "the user who runs merge-train must be able to write to the state directory and all in it";

/// <https://www.sqlite.org/rescode.html>: the low byte is the kind, the rest says more.
fn sqlite_code(code: u32, message: &str) -> Diagnosis {
    match code & 0xff {
        13 => Diagnosis::Outage("no space left for the database: the disk is full, or its quota is used up".to_owned()),
        10 => Diagnosis::Outage(format!("the disk cannot be read or written: {message}")),
        8 => Diagnosis::Outage(format!("it is read-only, or its disk is ({message}); {OWNED}")),
        14 => Diagnosis::Outage(format!("cannot open its file, or create one next to it ({message}); {OWNED}")),
        5 | 6 => Diagnosis::Outage(format!(
            "another program holds it ({message}); end that program, or let it end its transaction"
        )),
        7 => Diagnosis::Outage("no memory left".to_owned()),
        11 | 26 => Diagnosis::Damage(message.to_owned()),
        _ => Diagnosis::Mistake,
    }
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>: the first two characters are the class.
fn postgres_code(code: &str, message: &str) -> Diagnosis {
    match code.get(..2) {
        Some("53") => Diagnosis::Outage(format!("the server has no room left: {message}")),
        // 3D: the database is not there; 28: not with this password. Both are fixed outside of this program.
        Some("08" | "28" | "3D" | "40" | "55" | "57" | "58") => {
            Diagnosis::Outage(format!("the server says: {message}"))
        }
        Some("25") if code == "25006" => Diagnosis::Outage(format!("the server only lets read: {message}")),
        Some("XX") => Diagnosis::Damage(message.to_owned()),
        _ => Diagnosis::Mistake,
    }
}
