//! Words that all sentences about commands share.

use merge_train_core::workflow::Program;
use rustix::process::Signal;

use super::guard_protocol::StartRefusal;
use super::log::harmless;

/// The longest name of a command in an error.
const LONGEST_NAME: usize = 120;

/// The command in an error: the program, not its arguments, which may be long.
pub fn name(program: &Program) -> String {
    let name = program.command.first().map_or("", String::as_str);
    let name: String = name.replace('`', "'").replace('\n', " ").chars().map(harmless).take(LONGEST_NAME).collect();
    if name.is_empty() { "The command".to_owned() } else { format!("`{name}`") }
}

/// Who names a command, and where that is corrected.
pub struct CommandSource {
    pub who: &'static str,
    pub place: &'static str,
}

pub fn refused(program: &Program, refusal: &StartRefusal, author: &CommandSource) -> String {
    let (name, CommandSource { who, place }) = (name(program), author);
    let is_path = program.command.first().is_some_and(|program| program.contains('/'));
    match refusal {
        _ if program.command.first().is_none_or(String::is_empty) => {
            format!("{who} has no command; set the program and its arguments in {place}.")
        }
        StartRefusal::NotFound if is_path => format!(
            "{name} cannot start: the file or the interpreter in its first line does not exist; install it, or correct \
             the path in {place}."
        ),
        StartRefusal::NotFound => {
            format!("{name} cannot start: it is not on the daemon's PATH; install it, or set its full path in {place}.")
        }
        StartRefusal::NotExecutable => {
            format!("{name} cannot start: the daemon's user may not execute it; make it executable with chmod +x.")
        }
        StartRefusal::Other(error) => {
            format!("{name} cannot start: {error}; try the command by hand as the daemon's user.")
        }
    }
}

/// A command that was killed by something else.
pub fn killed(name: &str, number: i32) -> String {
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
    let signal = known.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| format!(" ({name})"));
    let signal = signal.unwrap_or_default();
    let advice = if number == Signal::KILL.as_raw() {
        "if the machine ran out of memory, give it more, or make the command use less."
    } else {
        "it crashed, or someone stopped it; its log may say why."
    };
    format!("{name} was killed by signal {number}{signal}, which did not come from merge-train: {advice}")
}

/// Whether a signal means that a file became longer than files may be.
pub fn is_about_a_long_file(signal: i32) -> bool {
    signal == Signal::XFSZ.as_raw()
}

/// What is said of a command whose folder cannot be measured, after its name.
pub const UNSEEN: &str =
    "has folders that cannot be measured (locked or nested too deeply) and was stopped; make it unlock or remove them.";

/// What is said of a command whose disk is nearly full, after its name.
pub fn scarce(free_bytes: u64) -> String {
    format!("was stopped because less than {} is free on its disk; free some disk space.", size(free_bytes))
}

pub fn size(bytes: u64) -> String {
    [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        .into_iter()
        .find(|(unit, _)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{bytes} bytes"), |(unit, name)| format!("{} {name}", bytes / unit))
}

/// As [`size`], of a limit that may not be there.
pub fn size_of(limit: Option<u64>) -> String {
    limit.map_or_else(|| "it may".to_owned(), size)
}

/// As [`size_of`], of things that are counted.
pub fn count_of(limit: Option<u32>) -> String {
    limit.map_or_else(|| "it may".to_owned(), |count| count.to_string())
}
