//! The disk: what must be written, and whether there is room.

use std::fmt;
use std::io;
use std::path::Path;

use rustix::fs::statvfs;

use super::Finding;
use crate::config::Config;

const MIB: u64 = 1 << 20;
/// A partial clone of a large repository, twice while it is packed.
const LITTLE_ROOM_MIB: u64 = 2048;
/// Not even a small repository and its housekeeping.
const NO_ROOM_MIB: u64 = 64;

pub fn clones(config: &Config) -> Finding {
    const CHECK: &str = "clones";
    let directory = &config.git.clone_base_dir;
    let fix =
        "set git.clone_base_dir to a directory that the user who runs merge-train can write, with some gigabytes free";
    match writable(directory) {
        Ok(room) => room.judge(CHECK, &directory.display().to_string(), fix),
        Err(error) => Finding::failed(CHECK, format!("{} cannot be written: {error}", directory.display()), fix),
    }
}

/// How much is free on a disk, in MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeDiskSpace(u64);

impl FreeDiskSpace {
    /// What is well otherwise, is well if there is room for it.
    pub fn judge(self, check: &'static str, found: &str, fix: &str) -> Finding {
        let found = format!("{found}, {self} free");
        match self.0 {
            ..NO_ROOM_MIB => Finding::failed(check, found, fix),
            NO_ROOM_MIB..LITTLE_ROOM_MIB => Finding::warning(check, found, fix),
            _ => Finding::ok(check, found),
        }
    }
}

impl fmt::Display for FreeDiskSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            mib @ 0..10_240 => write!(f, "{mib} MiB"),
            mib => write!(f, "{} GiB", mib / 1024),
        }
    }
}

/// Tries to write in the directory, or else where it would be made, and says how much room there is. Nothing is left behind:
/// a directory that this made would belong to whoever runs this, and not to the daemon.
pub fn writable(directory: &Path) -> io::Result<FreeDiskSpace> {
    let existing = directory.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    tempfile::tempfile_in(existing)?;
    let disk = statvfs(existing)?;
    Ok(FreeDiskSpace(disk.f_bavail.saturating_mul(disk.f_frsize) / MIB))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_yet_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("a/b");
        writable(&wanted).unwrap();
        assert!(!folder.path().join("a").exists());
        std::fs::write(folder.path().join("a"), "").unwrap();
        assert!(writable(&wanted).is_err(), "a file is in the way");
        assert!(writable(Path::new("/proc/none")).is_err());
    }

    #[test]
    fn a_disk_that_is_almost_full_is_told_before_it_is() {
        let judged = |mib| FreeDiskSpace(mib).judge("clones", "/repos", "make room");
        assert_eq!(judged(63), Finding::failed("clones", "/repos, 63 MiB free", "make room"));
        assert_eq!(judged(2047), Finding::warning("clones", "/repos, 2047 MiB free", "make room"));
        assert_eq!(judged(2048), Finding::ok("clones", "/repos, 2048 MiB free"));
        assert_eq!(judged(10_240), Finding::ok("clones", "/repos, 10 GiB free"));
    }
}
