//! The disk: what must be written, and whether there is room.

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
    let room = match writable(directory).and_then(free_mib) {
        Ok(room) => room,
        Err(error) => {
            return Finding::failed(CHECK, format!("{} cannot be written: {error}", directory.display()), fix);
        }
    };
    let found = format!("{}, {} free", directory.display(), size(room));
    match room {
        ..NO_ROOM_MIB => Finding::failed(CHECK, found, fix),
        NO_ROOM_MIB..LITTLE_ROOM_MIB => Finding::warning(CHECK, found, fix),
        _ => Finding::ok(CHECK, found),
    }
}

/// Tries to write in the directory, or else where it would be made; gives the place that was tried. Nothing is left behind:
/// a directory that this made would belong to whoever runs this, and not to the daemon.
pub fn writable(directory: &Path) -> io::Result<&Path> {
    let existing = directory.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    tempfile::tempfile_in(existing)?;
    Ok(existing)
}

fn free_mib(directory: &Path) -> io::Result<u64> {
    let disk = statvfs(directory)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize) / MIB)
}

fn size(mib: u64) -> String {
    if mib < 10 * 1024 { format!("{mib} MiB") } else { format!("{} GiB", mib / 1024) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_yet_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = folder.path().join("a/b");
        assert_eq!(writable(&wanted).unwrap(), folder.path());
        assert!(!folder.path().join("a").exists());
        std::fs::write(folder.path().join("a"), "").unwrap();
        assert!(writable(&wanted).is_err(), "a file is in the way");
        assert!(writable(Path::new("/proc/none")).is_err());
    }
}
