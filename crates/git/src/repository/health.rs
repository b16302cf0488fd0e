//! A clone that is damaged is found out and made again.
//!
//! Nobody reads git's complaints for this. When git fails in a way that has no explanation, the clone is examined; if it is
//! damaged, an empty one takes its place and the work is done once more, which fetches what it needs.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{Repository, folder};
use crate::Error;

/// A clone that is damaged again so soon lies on a disk that somebody should look at.
const SHORTEST_LIFE: Duration = Duration::from_secs(60 * 60);
/// Reading every object of a large repository takes its time.
const EXAMINATION_DEADLINE: Duration = Duration::from_secs(30 * 60);

#[derive(Debug, Default)]
pub(super) struct Watch {
    /// One examination at a time.
    examining: tokio::sync::Mutex<()>,
    /// When the clone was last made again.
    renewed: Mutex<Option<Instant>>,
}

impl Repository {
    /// For work that failed on the clone of `generation`: whether doing it once more makes sense, because there is another clone
    /// now. If not, the error is what it is.
    pub(crate) async fn heal(&self, generation: u64, error: Error) -> Result<(), Error> {
        if is_unexplained(&error) && self.is_replaced(generation).await? { Ok(()) } else { Err(error) }
    }

    /// Whether there is another clone now than the one of `generation`; a damaged one is replaced for that.
    async fn is_replaced(&self, generation: u64) -> Result<bool, Error> {
        let _one = self.health.examining.lock().await;
        if self.generation() != generation {
            return Ok(true);
        }
        if self.is_sound().await? {
            return Ok(false);
        }
        if self.health.renewed.lock().is_some_and(|last| last.elapsed() < SHORTEST_LIFE) {
            let clone = self.clone_dir();
            return Err(Error::Refused(format!(
                "the clone in {} is damaged for the second time within an hour; check the disk",
                clone.display()
            )));
        }
        self.renew().await?;
        *self.health.renewed.lock() = Some(Instant::now());
        Ok(true)
    }

    /// Whether every object of the clone is there and readable.
    pub async fn is_sound(&self) -> Result<bool, Error> {
        let args = ["fsck", "--no-dangling", "--no-progress", "--no-reflogs"];
        let examined = self.git.on(&self.clone_dir(), args).deadline(EXAMINATION_DEADLINE).run().await;
        match examined {
            Ok(_) => Ok(true),
            Err(Error::Failed { stderr, .. }) => {
                tracing::warn!(clone = %self.clone_dir().display(), %stderr, "the clone is damaged");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Puts an empty clone in the place of the one there is.
    async fn renew(&self) -> Result<(), Error> {
        let clone = self.clone_dir();
        if !folder::claim_alone(&self.lock) {
            folder::share(&self.lock)?;
            return Err(Error::Refused(format!(
                "the clone in {} is damaged, and another process uses it; stop that process, and merge-train clones \
                 again",
                clone.display()
            )));
        }
        tracing::warn!(clone = %clone.display(), "making the clone anew");
        let replaced = self.replace().await;
        folder::share(&self.lock)?;
        replaced
    }

    async fn replace(&self) -> Result<(), Error> {
        let clone = self.clone_dir();
        let broken = tempfile::Builder::new().prefix(".broken-").tempdir_in(&self.folder);
        let broken = broken.map_err(Error::io("setting the damaged clone aside"))?;
        match std::fs::rename(&clone, broken.path().join("clone")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("setting the damaged clone aside")(error));
            }
            _ => {}
        }
        folder::ensure(&self.git, &self.folder, &self.remote, self.extent).await?;
        self.generation.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
        Ok(())
    }
}

/// Failures that git has no good reason for: what a remote or a conflict causes has an error of its own.
pub(crate) fn is_unexplained(error: &Error) -> bool {
    matches!(error, Error::Failed { .. } | Error::Unexpected { .. })
}
