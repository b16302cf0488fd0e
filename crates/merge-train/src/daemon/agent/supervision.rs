//! What steps and fixers have in common while they run.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use merge_train_core::workflow::Program;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use super::ResourceLimits;
use super::disk::{self, DiskProblem};
use super::guard_process::{GuardProcess, GuardedExit};
use super::guard_protocol::{GuardOrder, Seal};

/// A command as its guard gets it, and for how long and how big it may be.
pub struct SupervisedCommand<'a> {
    pub program: &'a Program,
    pub input: &'a [u8],
    /// The folder whose size is bounded.
    pub own: &'a Path,
    pub limits: &'a ResourceLimits,
    pub seal: Option<Seal>,
}

/// Why a command is waited for no longer.
pub enum SupervisionEnd {
    /// By itself, or by its guard.
    Ended(GuardedExit),
    Stopped,
    Disk(DiskProblem),
    Deadline,
}

/// Has a command started, and waits until it is over or has to be ended.
pub async fn run_to_end(
    guarded: &mut GuardProcess,
    command: &SupervisedCommand<'_>,
    stop: &CancellationToken,
) -> SupervisionEnd {
    let deadline = Duration::from_millis(command.program.timeout_ms);
    tokio::select! {
        biased;
        () = stop.cancelled() => SupervisionEnd::Stopped,
        ended = guarded.ended(command.order(), command.input) => SupervisionEnd::Ended(ended),
        problem = disk::beyond(command.own, command.limits.disk_limits()) => SupervisionEnd::Disk(problem),
        () = tokio::time::sleep(deadline) => SupervisionEnd::Deadline,
    }
}

impl SupervisedCommand<'_> {
    fn order(&self) -> GuardOrder {
        let limits = self.limits;
        GuardOrder {
            command: self.program.command.clone(),
            file_bytes: limits.disk_bytes,
            memory_bytes: limits.memory_bytes,
            processes: limits.processes,
            grace_ms: u64::try_from(limits.grace.as_millis()).unwrap_or(u64::MAX),
            seal: self.seal.clone(),
            input_bytes: self.input.len() as u64,
        }
    }
}

/// The environment of a command: of the daemon's what is named, and what it is given, which counts where names are the same.
pub fn environment<'a>(
    inherited: impl IntoIterator<Item = &'a str>,
    given: &[(String, String)],
) -> Vec<(OsString, OsString)> {
    let inherited = inherited.into_iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    inherited.chain(given.iter().map(|(name, value)| (name.into(), value.into()))).collect()
}

/// A pipe for what a command prints: the end that is read, and the one that a process can be given.
pub fn output() -> io::Result<(pipe::Receiver, OwnedFd)> {
    let (sender, receiver) = pipe::pipe()?;
    Ok((receiver, sender.into_blocking_fd()?))
}
