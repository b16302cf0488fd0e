//! How much a working folder holds.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// How often a folder is measured.
const PAUSE: Duration = Duration::from_secs(1);
/// A folder that takes long to measure is measured less often, but not less often than this.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How much longer than a measurement the pause after it is: no more than a tenth of a thread goes into it.
const SHARE: u32 = 10;
/// The unit of `st_blocks`, on every system.
const BLOCK: u64 = 512;

/// Waits until a folder holds more than `limit` bytes.
pub async fn beyond(folder: &Path, limit: u64) {
    let called_off = CancellationToken::new();
    let _guard = called_off.clone().drop_guard();
    let mut pause = PAUSE;
    loop {
        tokio::time::sleep(pause).await;
        let began = Instant::now();
        if is_beyond(folder, limit, &called_off).await {
            return;
        }
        pause = (began.elapsed() * SHARE).clamp(PAUSE, LONGEST_PAUSE);
    }
}

/// Whether a folder holds more than `limit` bytes.
pub async fn is_beyond(folder: &Path, limit: u64, called_off: &CancellationToken) -> bool {
    let (folder, called_off) = (folder.to_owned(), called_off.clone());
    tokio::task::spawn_blocking(move || used(folder, limit, &called_off)).await.is_ok_and(|used| used > limit)
}

/// What is used on the disk, counted no further than it takes to know that it is more than `limit`. What vanishes meanwhile,
/// or cannot be read, counts for nothing; links are not followed.
fn used(folder: PathBuf, limit: u64, called_off: &CancellationToken) -> u64 {
    let mut total = 0;
    // A file with many names is one file.
    let mut known = HashSet::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            if total > limit || called_off.is_cancelled() {
                return total;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else if metadata.nlink() > 1 && !known.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            total += metadata.blocks() * BLOCK;
        }
    }
    total
}
