//! Hiding what is sealed under mounts that nobody sees but the command.
//!
//! It takes a superuser. But other than rules about what is allowed it leaves the folders above what is sealed as they are:
//! they can be listed, and take new files.
//!
//! **Invariant:** nothing is mounted but in a namespace of the calling thread, from which nothing gets out and which is gone with
//! the last of what the thread started.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::chdir;

use super::sealed_paths::SealedPaths;

/// Of a device it makes one that nobody can open.
const LIFELESS: MountFlags =
    MountFlags::RDONLY.union(MountFlags::NODEV).union(MountFlags::NOSUID).union(MountFlags::NOEXEC);

/// Covers what is sealed, as this thread and all that it starts see it. What is still to be kept from them otherwise: what
/// cannot be covered because it is not there yet; and everything, where this thread may not mount.
pub fn cover(places: SealedPaths) -> io::Result<SealedPaths> {
    let folder = std::env::current_dir()?;
    if !is_alone() {
        return Ok(places);
    }
    let (covered, left): (Vec<_>, Vec<_>) = places.sealed.iter().cloned().partition(|place| can_be_covered(place));
    let mut covers = Covers::default();
    let laid = covers.lay(&covered, &places.own).and_then(|()| {
        // Where this thread is now is below the covers, and the folders above it are not covered from there.
        Ok(chdir(&folder)?)
    });
    match laid {
        Ok(()) => Ok(SealedPaths { sealed: left, own: places.own }),
        Err(_) => covers.lift().map(|()| places),
    }
}

/// Leaves the namespace of everybody else for one from which nothing gets out. Not everybody may.
fn is_alone() -> bool {
    let nothing_gets_out = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    unshare(CloneFlags::CLONE_NEWNS).is_ok() && mount_change("/", nothing_gets_out).is_ok()
}

/// A link has to be one that leads nowhere yet: the rest were followed.
fn can_be_covered(place: &Path) -> bool {
    place.parent().is_some() && fs::symlink_metadata(place).is_ok_and(|found| !found.is_symlink())
}

/// Where something was mounted, in that order.
#[derive(Default)]
struct Covers(Vec<PathBuf>);

impl Covers {
    fn lay(&mut self, sealed: &[PathBuf], own: &Path) -> io::Result<()> {
        let own_as_it_is = rustix::fs::open(own, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        // Nobody moves or removes what something is mounted on: whoever moved a folder above could put one of his own there.
        let above = sealed.iter().flat_map(|place| place.ancestors().skip(1)).filter(|above| above.parent().is_some());
        for folder in above.collect::<BTreeSet<_>>() {
            mount_bind_recursive(folder, folder)?;
            self.0.push(folder.to_owned());
        }
        for place in sealed {
            if !place.is_dir() {
                self.lay_over_file(place)?;
                continue;
            }
            self.lay_over_folder(place)?;
            if own.starts_with(place) {
                fs::create_dir_all(own)?;
                mount_bind_recursive(format!("/proc/self/fd/{}", own_as_it_is.as_raw_fd()), own)?;
            }
            mount_remount(place, LIFELESS, c"")?;
        }
        Ok(())
    }

    fn lay_over_folder(&mut self, folder: &Path) -> io::Result<()> {
        let empty = LIFELESS.difference(MountFlags::RDONLY);
        mount("merge-train", folder, "tmpfs", empty, c"mode=0755")?;
        self.0.push(folder.to_owned());
        Ok(())
    }

    fn lay_over_file(&mut self, file: &Path) -> io::Result<()> {
        mount_bind("/dev/null", file)?;
        self.0.push(file.to_owned());
        Ok(mount_remount(file, LIFELESS | MountFlags::BIND, c"")?)
    }

    /// Everything is as it was before.
    fn lift(self) -> io::Result<()> {
        Ok(self.0.iter().rev().try_for_each(|place| unmount(place, UnmountFlags::DETACH))?)
    }
}
