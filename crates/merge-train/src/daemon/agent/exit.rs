//! How a fixer ended, in words for whoever looks after the daemon.

use std::io;
use std::path::Path;
use std::time::Duration;

use merge_train_core::workflow::Program;

use super::Limits;
use super::attend::Over;
use super::disk::Trouble;
use super::errand::Errand;
use super::guarded::Ended;
use super::order::Excess;
use super::words::{Author, UNSEEN, count_of, is_about_a_long_file, killed, name, refused, scarce, size, size_of};

const FIXER: Author = Author { who: "The fixer", place: "[ratchet.fixer]" };

#[derive(Clone, Debug, PartialEq)]
pub enum Exit {
    Done,
    Failed {
        code: i32,
    },
    /// By a signal that did not come from merge-train.
    Killed {
        signal: i32,
    },
    TimedOut,
    Stopped,
    OverMemory,
    OverProcesses,
    /// Its folder holds too much, or a file of it is too long.
    OverDisk,
    /// Part of its folder cannot be measured.
    Unseen,
    /// The disk of its folder is nearly full.
    DiskScarce,
    NotStarted {
        /// A sentence for a person.
        why: String,
    },
    /// The guard was ended by something else.
    Lost,
}

impl Exit {
    pub fn tell(&self, program: &Program, limits: &Limits) -> String {
        let name = name(program);
        match self {
            Self::Done => format!("{name} ended by itself."),
            Self::Failed { code } => {
                format!("{name} failed with exit code {code}; its log may say why.")
            }
            Self::Killed { signal } => killed(&name, *signal),
            Self::TimedOut => format!(
                "{name} did not finish within {:?} and was stopped; give it more time with timeout_mins in \
                 [ratchet.fixer], or check in its log what it waits for.",
                Duration::from_millis(program.timeout_ms)
            ),
            Self::Stopped => format!("{name} was stopped because its run was stopped."),
            Self::OverMemory => format!(
                "{name} and its child processes used more than {} of memory and were stopped; make it use less, or \
                 raise max_memory_mb in [ratchet.fixer].",
                size_of(limits.memory_bytes)
            ),
            Self::OverProcesses => format!(
                "{name} ran more than {} processes at once and was stopped with all of them; make it start fewer, or \
                 raise max_processes in [ratchet.fixer].",
                count_of(limits.processes)
            ),
            Self::OverDisk => format!(
                "{name} wrote more than {} to its folder, or a file of that size, and was stopped; make it remove what \
                 it does not need, or raise max_disk_mb in [ratchet.fixer].",
                size(limits.disk_bytes)
            ),
            Self::Unseen => format!("{name} {UNSEEN}"),
            Self::DiskScarce => format!("{name} {}", scarce(limits.free_bytes)),
            Self::NotStarted { why } => why.clone(),
            Self::Lost => format!(
                "{name} was stopped because its guard process was killed; if the machine ran out of memory, give it \
                 more."
            ),
        }
    }

    /// Whether nothing but merge-train can say in the log why it ended.
    pub(super) fn is_of_our_doing(&self) -> bool {
        !matches!(self, Self::Done | Self::Failed { .. })
    }
}

pub(super) fn of(over: Over, errand: &Errand<'_>) -> Exit {
    match over {
        Over::Ended(Ended::Exited(0)) => Exit::Done,
        Over::Ended(Ended::Exited(code)) => Exit::Failed { code },
        Over::Ended(Ended::Killed(signal)) if is_about_a_long_file(signal) => Exit::OverDisk,
        Over::Ended(Ended::Killed(signal)) => Exit::Killed { signal },
        Over::Ended(Ended::Refused(refusal)) => Exit::NotStarted { why: refused(errand.program, &refusal, &FIXER) },
        Over::Ended(Ended::Over(Excess::Memory)) => Exit::OverMemory,
        Over::Ended(Ended::Over(Excess::Processes)) => Exit::OverProcesses,
        Over::Ended(Ended::Lost) => Exit::Lost,
        Over::Stopped => Exit::Stopped,
        Over::Disk(Trouble::Full) => Exit::OverDisk,
        Over::Disk(Trouble::Unseen) => Exit::Unseen,
        Over::Disk(Trouble::Scarce) => Exit::DiskScarce,
        Over::Deadline => Exit::TimedOut,
    }
}

/// Of one whose guard cannot be started.
pub(super) fn unguarded(errand: &Errand<'_>, guard: &Path, error: &io::Error) -> Exit {
    let (name, guard) = (name(errand.program), guard.display());
    Exit::NotStarted {
        why: format!("{name} was not started, because its guard {guard} cannot start: {error}; restart the daemon."),
    }
}

/// Of one from which something is to be kept that cannot be.
pub(super) fn unsealable(errand: &Errand<'_>, error: &io::Error) -> Exit {
    let name = name(errand.program);
    Exit::NotStarted { why: format!("{name} was not started, because it cannot be sandboxed ({error}).") }
}

/// Of one whose folder is not there.
pub(super) fn homeless(errand: &Errand<'_>) -> Exit {
    let (name, folder) = (name(errand.program), errand.folder.display());
    Exit::NotStarted { why: format!("{name} was not started, because its folder {folder} does not exist.") }
}
