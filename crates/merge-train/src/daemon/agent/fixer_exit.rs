//! How a fixer ended, in words for whoever looks after the daemon.

use std::io;
use std::path::Path;
use std::time::Duration;

use merge_train_core::workflow::Program;

use super::ResourceLimits;
use super::disk::DiskProblem;
use super::fixer::FixerCommand;
use super::guard_process::GuardedExit;
use super::guard_protocol::ExceededLimit;
use super::messages::{
    CommandSource, UNSEEN, count_of, is_about_a_long_file, killed, name, refused, scarce, size, size_of,
};
use super::supervision::SupervisionEnd;

const FIXER: CommandSource = CommandSource { who: "The fixer", place: "[ratchet.fixer]" };

#[derive(Clone, Debug, PartialEq)]
pub enum FixerProcessExit {
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

impl FixerProcessExit {
    pub fn tell(&self, program: &Program, limits: &ResourceLimits) -> String {
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

pub(super) fn of(over: SupervisionEnd, command: &FixerCommand<'_>) -> FixerProcessExit {
    match over {
        SupervisionEnd::Ended(GuardedExit::Exited(0)) => FixerProcessExit::Done,
        SupervisionEnd::Ended(GuardedExit::Exited(code)) => FixerProcessExit::Failed { code },
        SupervisionEnd::Ended(GuardedExit::Killed(signal)) if is_about_a_long_file(signal) => {
            FixerProcessExit::OverDisk
        }
        SupervisionEnd::Ended(GuardedExit::Killed(signal)) => FixerProcessExit::Killed { signal },
        SupervisionEnd::Ended(GuardedExit::Refused(refusal)) => {
            FixerProcessExit::NotStarted { why: refused(command.program, &refusal, &FIXER) }
        }
        SupervisionEnd::Ended(GuardedExit::Over(ExceededLimit::Memory)) => FixerProcessExit::OverMemory,
        SupervisionEnd::Ended(GuardedExit::Over(ExceededLimit::Processes)) => FixerProcessExit::OverProcesses,
        SupervisionEnd::Ended(GuardedExit::Lost) => FixerProcessExit::Lost,
        SupervisionEnd::Stopped => FixerProcessExit::Stopped,
        SupervisionEnd::Disk(DiskProblem::Full) => FixerProcessExit::OverDisk,
        SupervisionEnd::Disk(DiskProblem::Unseen) => FixerProcessExit::Unseen,
        SupervisionEnd::Disk(DiskProblem::Scarce) => FixerProcessExit::DiskScarce,
        SupervisionEnd::Deadline => FixerProcessExit::TimedOut,
    }
}

/// Of one whose guard cannot be started.
pub(super) fn unguarded(command: &FixerCommand<'_>, guard: &Path, error: &io::Error) -> FixerProcessExit {
    let (name, guard) = (name(command.program), guard.display());
    FixerProcessExit::NotStarted {
        why: format!("{name} was not started, because its guard {guard} cannot start: {error}; restart the daemon."),
    }
}

/// Of one from which something is to be kept that cannot be.
pub(super) fn unsealable(command: &FixerCommand<'_>, error: &io::Error) -> FixerProcessExit {
    let name = name(command.program);
    FixerProcessExit::NotStarted { why: format!("{name} was not started, because it cannot be sandboxed ({error}).") }
}

/// Of one whose folder is not there.
pub(super) fn homeless(command: &FixerCommand<'_>) -> FixerProcessExit {
    let (name, folder) = (name(command.program), command.folder.display());
    FixerProcessExit::NotStarted { why: format!("{name} was not started, because its folder {folder} does not exist.") }
}
