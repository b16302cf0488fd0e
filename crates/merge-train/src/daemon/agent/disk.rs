//! How much a working folder holds, and how much is left on its disk for everybody else.

use std::collections::HashSet;
use std::fs;
use std::io;
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
/// So often in a row something of a folder may be out of sight. Tests of programs lock folders for a moment; whoever keeps one
/// locked hides what is in it.
const MOST_UNSEEN: u32 = 3;

/// What is wrong with a folder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DiskProblem {
    /// It holds too much.
    Full,
    /// Part of it cannot be measured, and stays so.
    Unseen,
    /// Its disk has too little left, whoever filled it.
    Scarce,
}

/// What a folder may hold, and what it has to leave.
#[derive(Clone, Copy, Debug)]
pub struct DiskLimits {
    pub most_bytes: u64,
    pub least_free_bytes: u64,
}

/// Waits until something is wrong with a folder.
pub async fn beyond(folder: &Path, disk_limits: DiskLimits) -> DiskProblem {
    let called_off = CancellationToken::new();
    let _guard = called_off.clone().drop_guard();
    let (mut pause, mut unseen) = (PAUSE, 0);
    loop {
        tokio::time::sleep(pause).await;
        let began = Instant::now();
        if is_scarce(folder, disk_limits.least_free_bytes) {
            return DiskProblem::Scarce;
        }
        let measure = measure(folder, disk_limits.most_bytes, &called_off).await;
        if measure.bytes > disk_limits.most_bytes {
            return DiskProblem::Full;
        }
        unseen = if measure.is_whole { 0 } else { unseen + 1 };
        if unseen >= MOST_UNSEEN {
            return DiskProblem::Unseen;
        }
        pause = (began.elapsed() * SHARE).clamp(PAUSE, LONGEST_PAUSE);
    }
}

/// Whether a folder holds more than `limit` bytes.
pub async fn is_beyond(folder: &Path, limit: u64, called_off: &CancellationToken) -> bool {
    measure(folder, limit, called_off).await.bytes > limit
}

/// A disk that cannot be asked is not scarce: whatever is wrong with it shows elsewhere.
fn is_scarce(folder: &Path, least_free_bytes: u64) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < least_free_bytes)
}

async fn measure(folder: &Path, limit: u64, called_off: &CancellationToken) -> FolderMeasurement {
    let (folder, called_off) = (folder.to_owned(), called_off.clone());
    let measured = tokio::task::spawn_blocking(move || used(folder, limit, &called_off)).await;
    measured.unwrap_or_else(|_| FolderMeasurement::default())
}

struct FolderMeasurement {
    bytes: u64,
    /// Whether all of it could be seen.
    is_whole: bool,
}

impl Default for FolderMeasurement {
    fn default() -> Self {
        Self { bytes: 0, is_whole: true }
    }
}

impl FolderMeasurement {
    /// What vanishes meanwhile counts for nothing.
    fn miss(&mut self, error: &io::Error) {
        self.is_whole &= error.kind() == io::ErrorKind::NotFound;
    }
}

/// What is used on the disk, counted no further than it takes to know that it is more than `limit`. Links are not followed.
fn used(folder: PathBuf, limit: u64, called_off: &CancellationToken) -> FolderMeasurement {
    let mut measure = FolderMeasurement::default();
    // A file with many names is one file.
    let mut known = HashSet::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                measure.miss(&error);
                continue;
            }
        };
        for entry in entries {
            if measure.bytes > limit || called_off.is_cancelled() {
                return measure;
            }
            let (path, metadata) = match entry.and_then(|entry| Ok((entry.path(), entry.metadata()?))) {
                Ok(entry) => entry,
                Err(error) => {
                    measure.miss(&error);
                    continue;
                }
            };
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.nlink() > 1 && !known.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            measure.bytes += metadata.blocks() * BLOCK;
        }
    }
    measure
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;

    /// As somebody whom permissions bind.
    fn seen_by_a_common_user(folder: &Path) -> bool {
        let folder = folder.to_owned();
        let look = move || {
            let mut sets = capabilities(None).expect("they can be asked for");
            sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            set_capabilities(None, sets).expect("anybody may have fewer");
            used(folder, u64::MAX, &CancellationToken::new()).is_whole
        };
        std::thread::spawn(look).join().expect("it only looks")
    }

    #[test]
    fn a_folder_that_cannot_be_listed_or_entered_is_not_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let locked = folder.path().join("locked");
        fs::create_dir(&locked).unwrap();
        fs::write(locked.join("file"), "x").unwrap();
        for (mode, is_whole) in [(0o700, true), (0o300, false), (0o600, false), (0o500, true), (0o000, false)] {
            fs::set_permissions(&locked, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(seen_by_a_common_user(folder.path()), is_whole, "{mode:o}");
        }
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
        fs::remove_dir_all(&locked).unwrap();
        assert!(seen_by_a_common_user(&locked), "what is gone hides nothing");
    }
}
