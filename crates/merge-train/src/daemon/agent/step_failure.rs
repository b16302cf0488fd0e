//! Why a command gave no answer, in words for whoever wrote the workflow.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use merge_train_core::workflow::{DEEPEST, Program};

use super::ResourceLimits;
use super::disk::DiskProblem;
use super::guard_protocol::{ExceededLimit, StartRefusal};
use super::log::LogTail;
use super::messages::{
    CommandSource, UNSEEN, count_of, is_about_a_long_file, killed, name, refused, scarce, size, size_of,
};

const WORKFLOW: CommandSource = CommandSource { who: "The step", place: "the workflow" };

#[derive(Debug)]
pub enum StepFailure {
    /// The working folder cannot be made.
    Folder {
        folder: PathBuf,
        error: io::Error,
    },
    /// The guard cannot be started.
    Guard {
        guard: PathBuf,
        error: io::Error,
    },
    Refused(StartRefusal),
    Exited {
        code: i32,
        tail: LogTail,
    },
    Killed {
        signal: i32,
        tail: LogTail,
    },
    Silent,
    NotUtf8(std::str::Utf8Error),
    NotJson(serde_json::Error),
    /// What it printed is nested too deeply.
    TooDeep,
    TooMuch,
    Disk(DiskProblem),
    /// It holds too much, of a command that ended before anybody noticed.
    Full,
    Over(ExceededLimit),
    Deadline {
        tail: LogTail,
    },
    Stopped,
    /// The guard was ended by something else.
    Lost {
        tail: LogTail,
    },
}

impl StepFailure {
    pub fn exited(code: i32) -> Self {
        Self::Exited { code, tail: LogTail::default() }
    }

    pub fn killed(signal: i32) -> Self {
        Self::Killed { signal, tail: LogTail::default() }
    }

    pub fn deadline() -> Self {
        Self::Deadline { tail: LogTail::default() }
    }

    pub fn lost() -> Self {
        Self::Lost { tail: LogTail::default() }
    }

    /// With the last lines of the log, where they help.
    pub fn with_log(self, tail: LogTail) -> Self {
        match self {
            Self::Exited { code, .. } => Self::Exited { code, tail },
            Self::Killed { signal, .. } => Self::Killed { signal, tail },
            Self::Deadline { .. } => Self::Deadline { tail },
            Self::Lost { .. } => Self::Lost { tail },
            other => other,
        }
    }

    pub fn tell(&self, program: &Program, limits: &ResourceLimits) -> String {
        let name = name(program);
        match self {
            Self::Folder { folder, error } => {
                let folder = folder.display();
                format!("Cannot create the working folder {folder} of {name}: {error}; free some disk space there.")
            }
            Self::Guard { guard, error } => {
                let guard = guard.display();
                format!("{name} was not started, because its guard {guard} cannot start: {error}; restart the daemon.")
            }
            Self::Refused(refusal) => refused(program, refusal, &WORKFLOW),
            Self::Exited { code, tail } => {
                format!("{name} failed with exit code {code}; its log may say why.{}", quoted(tail))
            }
            Self::Killed { signal, tail } if is_about_a_long_file(*signal) => format!(
                "{name} was stopped by the system: it wrote a file larger than {}; make it write less, or raise \
                 max_disk_mb in [runs].{}",
                size(limits.disk_bytes),
                quoted(tail)
            ),
            Self::Killed { signal, tail } => format!("{}{}", killed(&name, *signal), quoted(tail)),
            Self::Silent => {
                format!("{name} printed nothing; it must print its result as one JSON value on standard output.")
            }
            Self::NotUtf8(error) => format!(
                "{name} printed something that is not UTF-8 ({error}); it must print one JSON value on standard \
                 output, and everything else on standard error."
            ),
            Self::NotJson(error) => format!(
                "{name} did not print exactly one JSON value ({error}); it must print its result as one JSON value on \
                 standard output, and everything else on standard error."
            ),
            Self::TooDeep => {
                format!("{name} printed JSON nested more than {DEEPEST} levels deep; make it print a flatter result.")
            }
            Self::TooMuch => format!(
                "{name} printed more than {} on standard output and was stopped; make it print a smaller result and \
                 everything else on standard error, or raise max_output_kb in [runs].",
                size(limits.output_bytes as u64)
            ),
            Self::Disk(DiskProblem::Full) => format!(
                "{name} wrote more than {} to its working folder and was stopped; make it remove what it does not \
                 need, or raise max_disk_mb in [runs].",
                size(limits.disk_bytes)
            ),
            Self::Disk(DiskProblem::Unseen) => format!("{name} {UNSEEN}"),
            Self::Disk(DiskProblem::Scarce) => format!("{name} {}", scarce(limits.free_bytes)),
            Self::Full => format!(
                "{name} left more than {} in its working folder; make it remove what it does not need, or raise \
                 max_disk_mb in [runs].",
                size(limits.disk_bytes)
            ),
            Self::Over(ExceededLimit::Memory) => format!(
                "{name} and its child processes used more than {} of memory and were stopped; make it use less.",
                size_of(limits.memory_bytes)
            ),
            Self::Over(ExceededLimit::Processes) => format!(
                "{name} ran more than {} processes at once and was stopped with all of them; make it start fewer.",
                count_of(limits.processes)
            ),
            Self::Deadline { tail } => format!(
                "{name} did not finish within {:?} and was stopped; give the step more time, or check what the command \
                 waits for.{}",
                Duration::from_millis(program.timeout_ms),
                quoted(tail)
            ),
            Self::Stopped => format!("{name} was stopped because its run was stopped; start the run again if needed."),
            Self::Lost { tail } => format!(
                "{name} was stopped because its guard process was killed; if the machine ran out of memory, give it \
                 more, and run the step again.{}",
                quoted(tail)
            ),
        }
    }
}

fn quoted(tail: &LogTail) -> String {
    match tail.text() {
        text if text.is_empty() => " Its log is empty.".to_owned(),
        text => format!(" The end of its log:\n{text}"),
    }
}
