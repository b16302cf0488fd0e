//! Keeping what trains and runs need in order: the signing key is tried; in the clones, what a crash left behind goes, and
//! what lies about is packed; the folders of forgotten runs go.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use merge_train_core::ids::{PrNumber, RepoId, RunId, StreamId};
use store::{Since, Store};
use tokio::fs::DirEntry;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::daemon::clones::Clones;
use crate::daemon::{driver, run_orders};

/// How often; the first time is at start.
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The work, to be done beside everything else.
pub struct Upkeep {
    pub store: Arc<dyn Store>,
    pub clones: Arc<Clones>,
    /// Worktrees of no active train go when they are older.
    pub worktree_max_age: Duration,
    /// Where each run has a folder. One whose run is forgotten goes.
    pub run_folders: PathBuf,
}

impl Upkeep {
    /// Goes on until `stopping`, which also ends what is under way.
    pub async fn run(self, stopping: CancellationToken) {
        let mut due = tokio::time::interval(INTERVAL);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                _ = due.tick() => {}
            }
            self.try_signing().await;
            self.round(&stopping).await;
            if let Err(error) = self.sweep_run_folders().await {
                tracing::warn!(error = format!("{error:#}"), "the folders of runs could not be looked after");
            }
        }
    }

    async fn sweep_run_folders(&self) -> anyhow::Result<()> {
        let Ok(mut folders) = tokio::fs::read_dir(&self.run_folders).await else { return Ok(()) };
        while let Some(folder) = folders.next_entry().await? {
            let name = folder.file_name();
            // What else is there is somebody else's.
            let Some(run) = name.to_str().and_then(run_orders::made_run_id) else { continue };
            if let Err(error) = self.sweep_run_folder(&run, &folder).await {
                tracing::warn!(%run, error = format!("{error:#}"), "the folder of a run could not be looked after");
            }
        }
        Ok(())
    }

    async fn sweep_run_folder(&self, run: &RunId, folder: &DirEntry) -> anyhow::Result<()> {
        let metadata = folder.metadata().await?;
        let age = metadata.modified()?.elapsed().unwrap_or_default();
        // A run is stored before its folder is made.
        if metadata.is_dir() && age > INTERVAL && self.store.run(None, run).await?.is_none() {
            let path = folder.path();
            // Who worked in it may have made it deeper than any path is long.
            tokio::task::spawn_blocking(move || git::gateway::remove_all(&path)).await??;
            tracing::info!(%run, "removed the folder of a run that is forgotten");
        }
        Ok(())
    }

    /// A key that has expired is told before a train needs it.
    async fn try_signing(&self) {
        if let Err(fault) = self.clones.try_signing().await {
            tracing::error!(error = format!("{:#}", anyhow::Error::new(fault)), "commits cannot be signed");
        }
    }

    /// One clone after the other: packing is work for the disk, and others wait for that too.
    async fn round(&self, stopping: &CancellationToken) {
        let streams = match self.store.streams(None).await {
            Ok(streams) => streams,
            Err(error) => return tracing::warn!(%error, "the clones are not looked after: nobody knows whose they are"),
        };
        for info in streams {
            let StreamId::Repo(repo) = &info.stream else { continue };
            if stopping.is_cancelled() {
                return;
            }
            if !self.clones.has(repo) {
                continue;
            }
            match self.look_after(repo, &info.stream, stopping).await {
                Ok(()) => tracing::debug!(%repo, "the clone is in order"),
                Err(_) if stopping.is_cancelled() => return,
                Err(error) => {
                    tracing::warn!(%repo, error = format!("{error:#}"), "the clone could not be looked after");
                }
            }
        }
    }

    async fn look_after(&self, repo: &RepoId, stream: &StreamId, stopping: &CancellationToken) -> anyhow::Result<()> {
        let loaded = self.store.load(stream, Since::Newest).await?;
        let state = driver::replay(stream, loaded)?;
        let active: BTreeSet<PrNumber> = state.active_trains().keys().copied().collect();
        let clone = self.clones.open(repo).await?;
        let swept = clone.worktrees().sweep(&active, self.worktree_max_age, SystemTime::now()).await;
        let removed = swept.context("sweeping its worktrees")?;
        if !removed.is_empty() {
            tracing::info!(%repo, ?removed, "removed the worktrees of stacks that are no more");
        }
        clone.tidy(stopping).await.context("packing it")
    }
}
