//! Why a command gave no answer, in words for whoever wrote the workflow.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use merge_train_core::run::{DEEPEST, Program};
use rustix::process::Signal;

use super::Limits;
use super::log::{Tail, harmless};
use super::order::Refusal;

/// The longest name of a command in an error.
const LONGEST_NAME: usize = 120;

#[derive(Debug)]
pub enum Failure {
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
    Refused(Refusal),
    Exited {
        code: i32,
        tail: Tail,
    },
    Killed {
        signal: i32,
        tail: Tail,
    },
    Silent,
    NotUtf8(std::str::Utf8Error),
    NotJson(serde_json::Error),
    /// What it printed is nested too deeply.
    TooDeep,
    TooMuch,
    Disk,
    /// The same, of a command that ended before anybody noticed.
    Full,
    Deadline {
        tail: Tail,
    },
    Stopped,
    /// The guard was ended by something else.
    Lost {
        tail: Tail,
    },
}

impl Failure {
    pub fn deadline() -> Self {
        Self::Deadline { tail: Tail::default() }
    }

    pub fn lost() -> Self {
        Self::Lost { tail: Tail::default() }
    }

    /// With the last lines of the log, where they help.
    pub fn with_log(self, tail: Tail) -> Self {
        match self {
            Self::Deadline { .. } => Self::Deadline { tail },
            Self::Lost { .. } => Self::Lost { tail },
            other => other,
        }
    }

    pub fn tell(&self, program: &Program, limits: &Limits) -> String {
        let name = name(program);
        match self {
            Self::Folder { folder, error } => {
                let folder = folder.display();
                format!("The working folder {folder} of {name} cannot be made: {error}; make room for it there.")
            }
            Self::Guard { guard, error } => {
                let guard = guard.display();
                format!("{name} was not started, because its guard {guard} cannot be: {error}; restart the daemon.")
            }
            Self::Refused(refusal) => refused(&name, program, refusal),
            Self::Exited { code, tail } => {
                format!("{name} failed with exit code {code}; its log says why, if anything does.{}", quoted(tail))
            }
            Self::Killed { signal, tail } => format!("{}{}", killed(&name, *signal, limits), quoted(tail)),
            Self::Silent => {
                format!("{name} printed nothing; it has to print its result as one JSON value on standard output.")
            }
            Self::NotUtf8(error) => format!(
                "{name} printed something that is not UTF-8 ({error}); it has to print one JSON value on standard \
                 output, and everything else on standard error."
            ),
            Self::NotJson(error) => format!(
                "{name} did not print exactly one JSON value ({error}); it has to print its result as one on standard \
                 output, and everything else on standard error."
            ),
            Self::TooDeep => format!(
                "{name} printed JSON that is nested more than {DEEPEST} levels deep; let it print a flatter result."
            ),
            Self::TooMuch => format!(
                "{name} printed more than {} on standard output and was ended; let it print a smaller result and \
                 everything else on standard error, or raise max_output_kb in [runs].",
                size(limits.output_bytes as u64)
            ),
            Self::Disk => format!(
                "{name} filled its working folder with more than {} and was ended; let it remove what it does not \
                 need, or raise max_disk_mb in [runs].",
                size(limits.disk_bytes)
            ),
            Self::Full => format!(
                "{name} left more than {} in its working folder; let it remove what it does not need, or raise \
                 max_disk_mb in [runs].",
                size(limits.disk_bytes)
            ),
            Self::Deadline { tail } => format!(
                "{name} did not end within {:?} and was ended; give the step more time, or find out what the command \
                 waits for.{}",
                Duration::from_millis(program.timeout_ms),
                quoted(tail)
            ),
            Self::Stopped => format!("{name} was ended because its run was stopped; start the run again if need be."),
            Self::Lost { tail } => format!(
                "{name} was ended because the guard that watches over it was killed; if the machine ran out of \
                 memory, give it more, and run the step again.{}",
                quoted(tail)
            ),
        }
    }
}

/// The command in an error: the program, not its arguments, which may be long.
fn name(program: &Program) -> String {
    let name = program.command.first().map_or("", String::as_str);
    let name: String = name.replace('`', "'").replace('\n', " ").chars().map(harmless).take(LONGEST_NAME).collect();
    if name.is_empty() { "The command".to_owned() } else { format!("`{name}`") }
}

fn refused(name: &str, program: &Program, refusal: &Refusal) -> String {
    let is_path = program.command.first().is_some_and(|program| program.contains('/'));
    match refusal {
        _ if program.command.first().is_none_or(String::is_empty) => {
            "The step names no command; write the program and its arguments into the workflow.".to_owned()
        }
        Refusal::NotFound if is_path => format!(
            "{name} cannot be started: there is no such file, or the interpreter that its first line names is missing; \
             install it, or correct the path in the workflow."
        ),
        Refusal::NotFound => format!(
            "{name} cannot be started: no folder of the daemon's PATH has a program of that name; install it, or write \
             its full path into the workflow."
        ),
        Refusal::NotExecutable => format!(
            "{name} cannot be started: the user that the daemon runs as may not execute it; make it executable with \
             chmod +x."
        ),
        Refusal::Other(error) => {
            format!("{name} cannot be started: {error}; try the command by hand as the user that the daemon runs as.")
        }
    }
}

fn killed(name: &str, number: i32, limits: &Limits) -> String {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
    ];
    if number == Signal::XFSZ.as_raw() {
        let most = size(limits.disk_bytes);
        return format!(
            "{name} was ended by the system: it wrote a file of more than {most}; let it write less, or raise max_disk_mb in [runs]."
        );
    }
    let signal = known.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| format!(" ({name})"));
    let signal = signal.unwrap_or_default();
    let advice = if number == Signal::KILL.as_raw() {
        "if the machine ran out of memory, give it more, or let the command use less."
    } else {
        "it crashed, or someone ended it; its log says why, if anything does."
    };
    format!("{name} was killed by signal {number}{signal}, which did not come from merge-train: {advice}")
}

fn quoted(tail: &Tail) -> String {
    match tail.text() {
        text if text.is_empty() => " Its log is empty.".to_owned(),
        text => format!(" The end of its log:\n{text}"),
    }
}

fn size(bytes: u64) -> String {
    [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}
