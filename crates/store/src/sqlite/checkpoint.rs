//! Moving what was written from the log into the database, beside the writer, so that no commit waits for it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::Result;

/// How often the log is looked at.
const PERIOD: Duration = Duration::from_millis(100);

/// A log shorter than this is left alone.
const WORTHWHILE_BYTES: u64 = 4 * 1024 * 1024;

/// The task that does it.
pub struct Checkpoints {
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Checkpoints {
    /// `options` are those of the writer, `file` the database.
    pub fn start(options: SqliteConnectOptions, file: &Path) -> Self {
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(run(options, PathBuf::from(log), stopped));
        Self { running: Mutex::new(Some((stop, task))) }
    }

    /// Returns when nothing is under way any more.
    pub async fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some((stop, task)) = running {
            drop(stop);
            // It ends by itself once told; that it had panicked changes nothing.
            let _ = task.await;
        }
    }
}

async fn run(options: SqliteConnectOptions, log: PathBuf, mut stopped: oneshot::Receiver<()>) {
    let mut conn = None;
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The size at the last checkpoint: nothing was written since if it is the same.
    let mut done = 0;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = &mut stopped => break,
        }
        let size = tokio::fs::metadata(&log).await.map_or(0, |metadata| metadata.len());
        if size < WORTHWHILE_BYTES || size == done {
            continue;
        }
        done = size;
        if let Err(error) = checkpoint(&mut conn, &options).await {
            // The writer meets the same trouble and tells its callers; its own checkpoints are the way out.
            tracing::debug!(%error, "no checkpoint this time");
            conn = None;
        }
    }
    if let Some(conn) = conn {
        let _ = conn.close().await;
    }
}

/// Passive: it waits for nobody, and nobody waits for it.
async fn checkpoint(conn: &mut Option<SqliteConnection>, options: &SqliteConnectOptions) -> Result<()> {
    if conn.is_none() {
        *conn = Some(SqliteConnection::connect_with(options).await?);
    }
    if let Some(conn) = conn {
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(conn).await?;
    }
    Ok(())
}
