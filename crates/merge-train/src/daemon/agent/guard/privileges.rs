//! What a superuser may do that no rule about files bounds.

use std::io;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities, set_no_new_privs};

/// What a daemon that runs as the superuser leaves to a command: to deal with files, users and sockets as one does who
/// installs programs. Without the others it can neither look into other processes, nor mount, nor trace the kernel.
const LEFT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT);

/// Gives up the rest of them, for this thread and what it starts: no program gives anything back.
pub fn give_up() -> io::Result<()> {
    set_no_new_privs(true)?;
    let mut sets = capabilities(None)?;
    for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
        *set = set.intersection(LEFT);
    }
    Ok(set_capabilities(None, sets)?)
}
