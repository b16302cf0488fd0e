//! Housekeeping, beside the work and not in its way.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use super::Repository;
use crate::Error;

/// How often what nothing refers to is thrown away.
const COLLECTION_INTERVAL: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Repacking a large repository takes its time, and nothing waits for it.
const DEADLINE: Duration = Duration::from_secs(60 * 60);
const COLLECTED: &str = "collected";

impl Repository {
    /// Packs what lies about, keeps the commit graph current, and once a week throws away what nothing refers to. What is
    /// younger than two weeks stays, so that work under way never loses an object.
    pub async fn tidy(&self, cancel: &CancellationToken) -> Result<(), Error> {
        let clone = self.clone_dir();
        let tasks: &[&str] = match has_packs(&clone) {
            true => &["commit-graph", "loose-objects", "incremental-repack", "pack-refs"],
            // Git fails to index no packs.
            false => &["commit-graph", "loose-objects", "pack-refs"],
        };
        let tasks = tasks.iter().map(|task| format!("--task={task}"));
        let maintenance = self.git.on(&clone, ["maintenance", "run", "--quiet"]).args(tasks);
        maintenance.deadline(DEADLINE).until(cancel).run().await?;
        let stamp = clone.join(COLLECTED);
        let last = fs::metadata(&stamp).and_then(|found| found.modified());
        let age = last.map_or(Duration::MAX, |last| SystemTime::now().duration_since(last).unwrap_or_default());
        if age > COLLECTION_INTERVAL {
            let collection = self.git.on(&clone, ["gc", "--quiet", "--prune=2.weeks.ago"]);
            collection.deadline(DEADLINE).until(cancel).run().await?;
            fs::write(&stamp, "").map_err(Error::io("noting when the clone was tidied"))?;
        }
        Ok(())
    }
}

fn has_packs(clone: &Path) -> bool {
    let mut entries = fs::read_dir(clone.join("objects/pack")).into_iter().flatten().flatten();
    entries.any(|entry| entry.path().extension().is_some_and(|extension| extension == "pack"))
}
