//! SQLite: a file in the state directory, which one process has for itself.

mod checkpoint;
mod connection;
mod lock;
mod sound;
mod wal;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::InboxPolicy;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use tokio::sync::broadcast;

use crate::backend::{Backend, Reader};
use crate::error::{Error, Result};
use crate::inbox::{Admission, Arrival};
use crate::stream::Owner;
use crate::writer::{Write, Writer};

use checkpoint::Checkpoints;
use connection::Connection;
use lock::Lock;

const FILE: &str = "merge-train.sqlite";

/// Readers never wait for the writer; more of them than this would only wait for the processor.
const READERS: u32 = 4;
const READER_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the state lies, and how it is written.
#[derive(Debug, Clone)]
pub struct Options {
    /// Made if it is not there, for its owner alone.
    pub dir: PathBuf,
    /// The most writes in one commit; with 1, each pays for its own flush of the disk.
    pub group: usize,
    pub policy: InboxPolicy,
    /// The most that the database may grow to.
    pub max_bytes: Option<u64>,
    /// Written into the lock file, for whoever finds the directory in use.
    pub owner: Owner,
}

/// A store in a directory.
pub struct Sqlite {
    dir: PathBuf,
    policy: InboxPolicy,
    /// None where it was opened for reading only.
    writer: Option<(Writer, Checkpoints)>,
    readers: SqlitePool,
    /// Kept so that those who listen wait for ever: there is no other instance.
    wakes: broadcast::Sender<StreamId>,
}

impl Sqlite {
    /// Takes the directory for this process, brings the schema up to date, and ends the leases of former processes.
    pub async fn open(options: Options) -> Result<Self> {
        let Options { dir, group, policy, max_bytes, owner } = options;
        let lock = Lock::take(&dir, &owner)?;
        let file = dir.join(FILE);
        let opened = Connection::open(&file, max_bytes, policy, lock).await;
        let connection = opened.map_err(|error| at_opening(error, &file))?;
        let checkpoints = Checkpoints::start(connection::writing(&file, max_bytes), &file);
        Ok(Self {
            writer: Some((Writer::start(connection, group), checkpoints)),
            readers: readers(&file),
            policy,
            dir,
            wakes: broadcast::channel(1).0,
        })
    }

    /// To look at, even while a daemon works on it.
    pub async fn open_read_only(dir: &Path) -> Result<Self> {
        let file = dir.join(FILE);
        if !connection::is_there(&file).map_err(|error| at_opening(error, &file))? {
            return Err(Error::File { path: file, source: std::io::ErrorKind::NotFound.into() });
        }
        let store = Self {
            writer: None,
            readers: readers(&file),
            policy: InboxPolicy::default(),
            dir: dir.to_owned(),
            wakes: broadcast::channel(1).0,
        };
        store.look(Some(sound::AT_START)).await.map_err(|error| at_opening(error, &file))?;
        Ok(store)
    }

    /// Whether it can be read, and says what was written.
    async fn look(&self, patience: Option<Duration>) -> Result<()> {
        let mut conn = self.readers.acquire().await?;
        connection::expect_current(&mut conn).await?;
        sound::examine(&mut conn, patience).await?;
        sound::examine_streams(&mut conn).await
    }

    fn writer(&self) -> Result<&Writer> {
        let (writer, _) = self.writer.as_ref().ok_or_else(|| Error::ReadOnly { dir: self.dir.clone() })?;
        Ok(writer)
    }
}

/// A file that cannot even be opened is damaged, whatever SQLite calls it.
fn at_opening(error: Error, file: &Path) -> Error {
    match error {
        Error::Database(cause) => Error::Damaged { file: file.to_owned(), reason: cause.to_string() },
        Error::Migration(cause) => Error::Damaged { file: file.to_owned(), reason: cause.to_string() },
        other => other.in_file(Some(file)),
    }
}

fn readers(file: &Path) -> SqlitePool {
    let options = connection::options(file).read_only(true).create_if_missing(false);
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(READER_TIMEOUT)
        // A file does not go away behind its connection.
        .test_before_acquire(false)
        .connect_lazy_with(options)
}

#[async_trait]
impl Backend for Sqlite {
    async fn admit(&self, arrival: Arrival) -> Result<Admission> {
        self.writer()?.admit(arrival).await.map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn write<W: Write>(&self, write: W) -> Result<W::Answer> {
        self.writer()?.write(write).await.map_err(|error| error.in_file(self.file().as_deref()))
    }

    async fn reader(&self) -> Result<Reader> {
        let begun = self.readers.begin().await;
        Ok(Reader::Sqlite(begun.map_err(|error| Error::from(error).in_file(self.file().as_deref()))?))
    }

    fn policy(&self) -> &InboxPolicy {
        &self.policy
    }

    fn file(&self) -> Option<PathBuf> {
        Some(self.dir.join(FILE))
    }

    async fn examine(&self) -> Result<()> {
        self.look(None).await.map_err(|error| error.in_file(self.file().as_deref()))
    }

    fn wakes(&self) -> broadcast::Receiver<StreamId> {
        self.wakes.subscribe()
    }

    async fn close(&self) {
        // Readers first: whoever closes the last connection puts the file in order, and that is to be the writer.
        self.readers.close().await;
        if let Some((writer, checkpoints)) = &self.writer {
            checkpoints.stop().await;
            writer.close().await;
        }
    }
}
