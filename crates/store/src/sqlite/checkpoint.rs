//! Moving what was written from the log into the database: when it is quiet, or else beside the writer.
//!
//! Both flush the same disk, so that a commit during a checkpoint takes some fifty times as long. A burst of deliveries
//! therefore goes into the log first, as far as that may grow.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::Result;

/// How often the log is looked at; if nothing was written in between, it is quiet.
const PERIOD: Duration = Duration::from_millis(250);

/// A log longer than this is not waited with. Reading it back after a crash takes about a second.
const LONG_BYTES: u64 = 512 * 1024 * 1024;

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
    let (mut seen, mut done) = (None, None);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = &mut stopped => break,
        }
        let Ok(metadata) = tokio::fs::metadata(&log).await else { continue };
        let written = metadata.modified().ok();
        let quiet = written == std::mem::replace(&mut seen, written);
        if written == done || !(quiet || metadata.len() > LONG_BYTES) {
            continue;
        }
        done = written;
        if let Err(error) = checkpoint(&mut conn, &options).await {
            // The writer meets the same trouble and tells its callers.
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
