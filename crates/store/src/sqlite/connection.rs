//! The one connection that writes.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use merge_train_core::inbox::InboxPolicy;
use rustix::fs::{Access, access};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection as _, SqliteConnection};

use super::lock::Lock;
use super::{sound, wal};
use crate::db::{Conn, corrupt};
use crate::error::{Error, OWNED, Result};
use crate::inbox::{Arrival, admit};
use crate::room;
use crate::schema;
use crate::stream::lease;
use crate::writer::{Admitted, Transactions};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

const PAGE_BYTES: u32 = 4096;

/// The log begins again at this length (640 MB) at the latest, and at the first quiet moment before (see `checkpoint`).
const LONGEST_LOG_PAGES: u32 = 160 * 1024;

/// What is left of the log's file when it begins again.
const SHORT_LOG_BYTES: u32 = 16 * 1024 * 1024;

/// Only a tool that looks at the file could hold it, and not for long. Shorter than a sender or a probe waits: they are to
/// hear the reason.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);

/// The settings that every connection has.
pub fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", "-16384")
        .statement_cache_capacity(256)
        .disable_statement_logging()
}

/// The settings of a connection that writes.
pub fn writing(file: &Path, max_bytes: Option<u64>) -> SqliteConnectOptions {
    let options = options(file)
        .create_if_missing(true)
        .page_size(PAGE_BYTES)
        .journal_mode(SqliteJournalMode::Wal)
        // What is acknowledged survives a loss of power.
        .synchronous(SqliteSynchronous::Full)
        .pragma("wal_autocheckpoint", LONGEST_LOG_PAGES.to_string())
        .pragma("journal_size_limit", SHORT_LOG_BYTES.to_string());
    match max_bytes {
        Some(bytes) => options.pragma("max_page_count", (bytes / u64::from(PAGE_BYTES)).max(1).to_string()),
        None => options,
    }
}

/// Refuses a database of another schema than ours.
pub async fn expect_current(conn: &mut SqliteConnection) -> Result<()> {
    schema::expect_current(conn, &MIGRATIONS).await
}

/// Whether there is a database. One that was cut short is none, and SQLite would take it for a new one.
pub fn is_there(file: &Path) -> Result<bool> {
    match std::fs::metadata(file) {
        Ok(metadata) if metadata.len() >= u64::from(PAGE_BYTES) => Ok(true),
        Ok(metadata) => Err(corrupt(format!("it was cut short: {} bytes are left", metadata.len()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::File { path: file.to_owned(), source }),
    }
}

/// SQLite would begin with a file that can only be read, and leave others beside it that can only be read as well.
fn expect_writable(file: &Path) -> Result<()> {
    access(file, Access::WRITE_OK).map_err(|errno| {
        let (file, error) = (file.display(), std::io::Error::from(errno));
        Error::Unavailable { reason: format!("{file} cannot be written ({error}); {OWNED}"), source: None }
    })
}

/// Makes a database under another name and gives it its own when it is whole: what has the name is never still empty.
async fn make_if_missing(file: &Path) -> Result<()> {
    if is_there(file)? {
        return Ok(());
    }
    let failed = |source| Error::File { path: file.to_owned(), source };
    let new = file.with_extension("new");
    for left in ["new", "new-wal", "new-shm"] {
        // Of a start that was cut short: nothing was taken in yet.
        let _ = std::fs::remove_file(file.with_extension(left));
    }
    let mut conn = SqliteConnection::connect_with(&writing(&new, None)).await?;
    schema::migrate_sqlite(&mut conn, &MIGRATIONS).await?;
    conn.close().await?;
    std::fs::rename(&new, file).map_err(failed)?;
    let dir = file.parent().unwrap_or(Path::new("."));
    std::fs::File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed)
}

pub struct Connection {
    options: SqliteConnectOptions,
    policy: InboxPolicy,
    /// None after trouble: the next transaction begins with a new one.
    conn: Option<SqliteConnection>,
    /// Held as long as anything could still be written.
    _lock: Lock,
}

impl Connection {
    pub async fn open(file: &Path, max_bytes: Option<u64>, policy: InboxPolicy, lock: Lock) -> Result<Self> {
        wal::examine(file)?;
        make_if_missing(file).await?;
        expect_writable(file)?;
        let options = writing(file, max_bytes);
        let mut conn = SqliteConnection::connect_with(&options).await?;
        if sound::examine(&mut conn, Some(sound::AT_START)).await? == sound::Extent::Part {
            tracing::info!(file = %file.display(), "too large to check completely; `merge-train state verify` does");
        }
        schema::migrate_sqlite(&mut conn, &MIGRATIONS).await?;
        sound::examine_streams(&mut conn).await?;
        // Whoever had them is dead: the directory is ours.
        lease::clear(&mut Conn::Sqlite(&mut conn)).await?;
        Ok(Self { options, policy, conn: Some(conn), _lock: lock })
    }

    fn open_conn(&mut self) -> Result<&mut SqliteConnection> {
        self.conn.as_mut().ok_or_else(|| Error::Unavailable { reason: "it is not open".to_owned(), source: None })
    }

    async fn say(&mut self, statement: &'static str) -> Result<()> {
        sqlx::query(statement).execute(self.open_conn()?).await?;
        Ok(())
    }
}

#[async_trait]
impl Transactions for Connection {
    async fn begin(&mut self) -> Result<()> {
        if self.conn.is_none() {
            self.conn = Some(SqliteConnection::connect_with(&self.options).await?);
        }
        let begun = self.say("BEGIN IMMEDIATE").await;
        if begun.is_err() {
            self.conn = None;
        }
        begun
    }

    async fn commit(&mut self) -> Result<()> {
        fail::fail_point!("store: before commit");
        self.say("COMMIT").await?;
        fail::fail_point!("store: after commit");
        Ok(())
    }

    async fn rollback(&mut self) {
        // Some failures end the transaction by themselves; a new connection certainly has none.
        if self.say("ROLLBACK").await.is_err() {
            self.conn = None;
        }
    }

    fn conn(&mut self) -> Result<Conn<'_>> {
        Ok(Conn::Sqlite(self.open_conn()?))
    }

    async fn admit(&mut self, arrivals: &[&Arrival]) -> Result<Admitted> {
        let policy = self.policy;
        let mut conn = self.conn()?;
        if let Err(reason) = room::look(&mut conn).await? {
            return Ok(Admitted::NoRoom(reason));
        }
        admit::admit(&mut conn, &policy, arrivals).await.map(Admitted::Each)
    }

    async fn close(&mut self) {
        if let Some(conn) = self.conn.take()
            && let Err(error) = conn.close().await
        {
            tracing::warn!(%error, "the database was not closed in good order; it mends itself when it is opened");
        }
    }
}
