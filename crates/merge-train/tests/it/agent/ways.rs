//! The ways in which a guard can keep a fixer from files. Which one it goes depends on what whoever starts it may do.

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    Mounts,
    Rules,
}

/// Every way that is open to whoever runs the tests. A guard goes the one that came last.
pub fn ways() -> impl Iterator<Item = Way> {
    let mounts = may_mount().then_some(Way::Mounts);
    let rules = std::iter::once_with(move || {
        if mounts.is_some() {
            remove_capability_from_bounding_set(CapabilitySet::SYS_ADMIN).expect("a superuser may be less of one");
        }
        Way::Rules
    });
    mounts.into_iter().chain(rules)
}

/// Whether a guard of this user can have mounts of its own.
fn may_mount() -> bool {
    std::thread::spawn(|| has_mounts_of_its_own(MountPropagationFlags::PRIVATE)).join().expect("it only asks")
}

/// Gives this thread mounts of its own, if it may have them. Guards that it starts begin with these.
pub fn has_mounts_of_its_own(they_are: MountPropagationFlags) -> bool {
    unshare(CloneFlags::CLONE_NEWNS).is_ok() && mount_change("/", they_are | MountPropagationFlags::REC).is_ok()
}
