//! A fixer at work: any program that fixes a pull request. It is not trusted.

use std::io;
use std::path::{Path, PathBuf};

use merge_train_core::workflow::Program;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::super::telemetry::redact::Mask;
use super::fixer_exit::{self, FixerProcessExit};
use super::guard_process::{CommandOutputs, GuardProcess};
use super::guard_protocol::{Seal, UnixSockets};
use super::supervision::{self, SupervisedCommand, SupervisionEnd};
use super::{LINGER, ResourceLimits, disk, log};

/// What every fixer gets of the daemon's environment.
const INHERITED: [&str; 2] = ["PATH", "LANG"];
/// What none gets of it, whatever is listed: these say where its files go, and that is not where the daemon's go.
const NEVER_INHERITED: [&str; 2] = ["HOME", "TMPDIR"];
/// More than is ever said in one log.
const NOTICES: usize = 4;

/// A fixer that is to be run, what it gets, and what is kept from it.
#[derive(Clone, Copy, Debug)]
pub struct FixerCommand<'a> {
    pub program: &'a Program,
    /// What it reads on standard input: the prompt.
    pub input: &'a [u8],
    /// Where it runs, the checkout. It has to be there.
    pub folder: &'a Path,
    /// All that is its own: the checkout, its home, its temporary files. Its size is bounded.
    pub own: &'a Path,
    /// What it prints, on either output, is added to this file as it comes.
    pub log: &'a Path,
    /// What it gets besides what it inherits, and in its stead where the names are the same.
    pub environment: &'a [(String, String)],
    /// The variables of the daemon that it inherits besides `PATH` and `LANG`; never `HOME` and `TMPDIR`.
    pub inherited: &'a [String],
    /// Files and folders of the daemon that it may neither read, list nor write; but for `own`, if that is in one of them.
    /// Where the daemon may not mount, a folder above one of these takes nothing new from it, and is not listed for it.
    pub sealed: &'a [PathBuf],
    pub unix_sockets: UnixSockets,
    pub limits: ResourceLimits,
}

/// What became of a fixer.
#[derive(Debug)]
pub struct FixerRunResult {
    pub exit: FixerProcessExit,
    /// The last lines of its log, as text that is safe on a terminal and in a comment: what it inherits is masked in both.
    pub tail: String,
}

/// Runs a fixer to its end, or until `stop`.
///
/// Who drops this has it killed at once, without the grace that `stop` gives.
pub async fn run_fixer(command: FixerCommand<'_>, stop: CancellationToken) -> FixerRunResult {
    run_fixer_guarded_by(&super::this_program(), command, stop).await
}

/// The same with another program that knows [`super::guard::SUBCOMMAND`].
pub async fn run_fixer_guarded_by(guard: &Path, command: FixerCommand<'_>, stop: CancellationToken) -> FixerRunResult {
    let (pipe, outputs) = match output() {
        Ok(output) => output,
        Err(error) => {
            return FixerRunResult { exit: fixer_exit::unguarded(&command, guard, &error), tail: String::new() };
        }
    };
    let (notices, heard) = mpsc::channel(NOTICES);
    let mask = Mask::of(&values_of(listed(&command)));
    let log = tokio::spawn(log::keep(pipe, command.log.to_owned(), command.limits.log_bytes, mask, heard));
    let notice = |exit: &FixerProcessExit| {
        if exit.is_of_our_doing() {
            let _ = notices.try_send(exit.tell(command.program, &command.limits));
        }
    };
    let exit = Box::pin(attend(guard, &command, outputs, notice, &stop)).await;
    drop(notices);
    let tail = tokio::time::timeout(LINGER, log).await.ok().and_then(Result::ok).unwrap_or_default();
    FixerRunResult { exit, tail: tail.text() }
}

/// One pipe for both outputs: what is printed arrives in the order in which it was.
fn output() -> io::Result<(tokio::net::unix::pipe::Receiver, CommandOutputs)> {
    let (pipe, stdout) = supervision::output()?;
    let stderr = stdout.try_clone()?;
    Ok((pipe, (stdout, stderr)))
}

/// `notice` is told of the exit as soon as it is known: what the command says of it stands behind.
async fn attend(
    guard: &Path,
    command: &FixerCommand<'_>,
    outputs: CommandOutputs,
    notice: impl Fn(&FixerProcessExit),
    stop: &CancellationToken,
) -> FixerProcessExit {
    let limits = &command.limits;
    let begun = seal(command).and_then(|seal| Ok((seal, begin(guard, command, outputs, stop)?)));
    let (seal, mut guarded) = match begun {
        Ok(begun) => begun,
        Err(exit) => {
            notice(&exit);
            return exit;
        }
    };
    let supervised = SupervisedCommand {
        program: command.program,
        input: command.input,
        own: command.own,
        limits,
        seal: Some(seal),
    };
    let over = supervision::run_to_end(&mut guarded, &supervised, stop).await;
    let is_to_be_ended = !matches!(over, SupervisionEnd::Ended(_));
    let exit = fixer_exit::of(over, command);
    notice(&exit);
    if is_to_be_ended {
        guarded.ask_to_end().await;
    }
    guarded.gone(limits.grace).await;
    // One that was quick may have ended before its folder was ever measured.
    if exit == FixerProcessExit::Done && disk::is_beyond(command.own, limits.disk_bytes, stop).await {
        notice(&FixerProcessExit::OverDisk);
        return FixerProcessExit::OverDisk;
    }
    exit
}

/// What the guard is to seal off. It runs elsewhere: a path that begins where the daemon runs would mean another there.
fn seal(command: &FixerCommand<'_>) -> Result<Seal, FixerProcessExit> {
    let absolute = |path: &Path| Ok(std::path::absolute(path)?.into_os_string());
    let seal = || -> io::Result<Seal> {
        let sealed = command.sealed.iter().map(|path| absolute(path)).collect::<io::Result<_>>()?;
        Ok(Seal { sealed, own: absolute(command.own)?, unix_sockets: command.unix_sockets })
    };
    seal().map_err(|error| fixer_exit::unsealable(command, &error))
}

/// The variables that it inherits because somebody listed them.
fn listed<'a>(command: &FixerCommand<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    command.inherited.iter().map(String::as_str).filter(|name| !NEVER_INHERITED.contains(name))
}

/// What they hold, as far as it is text.
fn values_of<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    names.filter_map(|name| std::env::var(name).ok()).collect()
}

fn begin(
    guard: &Path,
    command: &FixerCommand<'_>,
    outputs: CommandOutputs,
    stop: &CancellationToken,
) -> Result<GuardProcess, FixerProcessExit> {
    if stop.is_cancelled() {
        return Err(FixerProcessExit::Stopped);
    }
    if !command.folder.is_dir() {
        return Err(fixer_exit::homeless(command));
    }
    let environment = supervision::environment(INHERITED.into_iter().chain(listed(command)), command.environment);
    GuardProcess::start(guard, command.folder, environment, outputs)
        .map_err(|error| fixer_exit::unguarded(command, guard, &error))
}
