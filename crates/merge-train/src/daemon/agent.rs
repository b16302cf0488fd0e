//! Commands: those of workflow steps, which read JSON and write JSON ([`run`]), and fixers, which read a prompt, work in a
//! folder of their own, and are not trusted ([`fixer::run_fixer`]). None leaves anything running.
//!
//! ```text
//! daemon ──orders──► guard ──starts──► command ──► whatever it starts
//!    ▲  ◄─reports──    │ everything that loses its parent becomes the guard's child
//!    └── stdout, stderr of the command
//! ```
//!
//! **Invariant:** no shell reads a command, and nothing of the daemon's environment reaches it but what is named here:
//! [`INHERITED`] for a step, and for a fixer `PATH`, `LANG` and what its configuration lists.
//!
//! **Invariant:** a fixer touches neither the daemon's files nor the daemon's processes, where the kernel has Landlock.
//! Where it has not, its log and the daemon's say so.
//!
//! **Invariant:** when [`run`] or [`fixer::run_fixer`] returns, nothing that the command started runs any more, or the log says that it could not be
//! ended. When the daemon dies, however it does, the guard ends all of it at once.
//!
//! **Invariant:** what is kept of a command's output is bounded, however much it prints.

mod disk;
pub mod fixer;
mod fixer_exit;
pub mod guard;
mod guard_process;
mod guard_protocol;
mod log;
pub mod memory;
mod messages;
pub mod privacy;
mod session;
mod step_failure;
mod step_output;
mod supervision;

use std::path::{Path, PathBuf};
use std::time::Duration;

use merge_train_core::workflow::{CommandOutput, Program};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::telemetry::redact::Mask;
pub use fixer_exit::FixerProcessExit;
pub use guard_protocol::UnixSockets;

use guard_process::{GuardProcess, GuardedExit};
use step_failure::StepFailure;
use supervision::{SupervisedCommand, SupervisionEnd};

/// What of the daemon's environment concerns the command of a step: where programs are, and where files go.
const INHERITED: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];
/// How long the end of an output may take once nothing is left that could write to it: a disk may stall under the log.
const LINGER: Duration = Duration::from_secs(5);

/// How much of this machine a command may use.
#[derive(Clone, Copy, Debug)]
pub struct ResourceLimits {
    /// The longest answer on standard output.
    pub output_bytes: usize,
    /// How much of standard error is kept.
    pub log_bytes: u64,
    /// How much the working folder may hold, and the longest file.
    pub disk_bytes: u64,
    /// How much has to be left on the disk of the working folder, whoever fills it.
    pub free_bytes: u64,
    /// How much memory it and all that it starts may have together; unbounded without.
    pub memory_bytes: Option<u64>,
    /// How many processes it and all that it starts may be at once; unbounded without.
    pub processes: Option<u32>,
    /// How long a command that is asked to end may take to clean up before it is killed.
    pub grace: Duration,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            output_bytes: 1 << 20,
            log_bytes: 10 << 20,
            disk_bytes: 1 << 30,
            free_bytes: 0,
            memory_bytes: None,
            processes: None,
            grace: Duration::from_secs(10),
        }
    }
}

impl ResourceLimits {
    fn disk_limits(&self) -> disk::DiskLimits {
        disk::DiskLimits { most_bytes: self.disk_bytes, least_free_bytes: self.free_bytes }
    }
}

/// A command that is to be run, and what it gets.
#[derive(Clone, Copy, Debug)]
pub struct StepCommand<'a> {
    pub program: &'a Program,
    /// What it reads on standard input.
    pub input: &'a Value,
    /// Where it runs; made if it is missing.
    pub folder: &'a Path,
    /// What it writes on standard error is added to this file.
    pub log: &'a Path,
    /// What it gets besides [`INHERITED`], and in its stead where the names are the same.
    pub environment: &'a [(String, String)],
    pub limits: ResourceLimits,
}

/// Runs a command to its end, or until `stop`. An error is for a person: what happened, and what to do.
///
/// Who drops this has the command killed at once, without the grace that `stop` gives.
pub async fn run(command: StepCommand<'_>, stop: CancellationToken) -> Result<CommandOutput, String> {
    run_guarded_by(&this_program(), command, stop).await
}

/// The same with another program that knows [`guard::SUBCOMMAND`].
pub async fn run_guarded_by(
    guard: &Path,
    command: StepCommand<'_>,
    stop: CancellationToken,
) -> Result<CommandOutput, String> {
    let outcome = Box::pin(attend(guard, &command, &stop)).await;
    outcome.map_err(|failure| failure.tell(command.program, &command.limits))
}

/// This program, as it was started: an upgrade that replaces the file meanwhile does not change which guard is used.
fn this_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { std::env::current_exe().unwrap_or_else(|_| "merge-train".into()) }
}

async fn attend(
    guard: &Path,
    command: &StepCommand<'_>,
    stop: &CancellationToken,
) -> Result<CommandOutput, StepFailure> {
    let limits = &command.limits;
    if stop.is_cancelled() {
        return Err(StepFailure::Stopped);
    }
    tokio::fs::create_dir_all(command.folder)
        .await
        .map_err(|error| StepFailure::Folder { folder: command.folder.to_owned(), error })?;
    let input = serde_json::to_vec(command.input).expect("a JSON value is JSON");
    let supervised =
        SupervisedCommand { program: command.program, input: &input, own: command.folder, limits, seal: None };
    let cannot = |error| StepFailure::Guard { guard: guard.to_owned(), error };
    let (stdout, prints) = supervision::output().map_err(cannot)?;
    let (stderr, logs) = supervision::output().map_err(cannot)?;
    let environment = supervision::environment(INHERITED, command.environment);
    let mut guarded = GuardProcess::start(guard, command.folder, environment, (prints, logs)).map_err(cannot)?;
    let too_much = CancellationToken::new();
    let answer = tokio::spawn(step_output::read(stdout, limits.output_bytes, too_much.clone()));
    let log =
        tokio::spawn(log::keep(stderr, command.log.to_owned(), limits.log_bytes, Mask::default(), log::no_notices()));
    let verdict = tokio::select! {
        biased;
        over = supervision::run_to_end(&mut guarded, &supervised, stop) => verdict(over),
        () = too_much.cancelled() => Err(StepFailure::TooMuch),
    };
    if verdict.is_err() {
        guarded.ask_to_end().await;
    }
    guarded.gone(limits.grace).await;
    let answer = tokio::time::timeout(LINGER, answer).await;
    let tail = tokio::time::timeout(LINGER, log).await.ok().and_then(Result::ok).unwrap_or_default();
    match (verdict, answer) {
        // A command whose output is no longer read may well fail of that; the reason is the output.
        (
            Ok(()) | Err(StepFailure::Exited { .. } | StepFailure::Killed { .. }),
            Ok(Ok(Err(step_output::OutputTooLarge))),
        ) => Err(StepFailure::TooMuch),
        // One that was quick may have ended before its folder was ever measured.
        (Ok(()), _) if disk::is_beyond(command.folder, limits.disk_bytes, stop).await => Err(StepFailure::Full),
        (Ok(()), Ok(Ok(Ok(bytes)))) => step_output::parse(&bytes),
        (Ok(()), _) => Err(StepFailure::Lost { tail }),
        (Err(failure), _) => Err(failure.with_log(tail)),
    }
}

/// Whether a command may have an answer.
fn verdict(over: SupervisionEnd) -> Result<(), StepFailure> {
    match over {
        SupervisionEnd::Ended(GuardedExit::Exited(0)) => Ok(()),
        SupervisionEnd::Ended(GuardedExit::Exited(code)) => Err(StepFailure::exited(code)),
        SupervisionEnd::Ended(GuardedExit::Killed(signal)) => Err(StepFailure::killed(signal)),
        SupervisionEnd::Ended(GuardedExit::Refused(refusal)) => Err(StepFailure::Refused(refusal)),
        SupervisionEnd::Ended(GuardedExit::Over(exceeded)) => Err(StepFailure::Over(exceeded)),
        SupervisionEnd::Ended(GuardedExit::Lost) => Err(StepFailure::lost()),
        SupervisionEnd::Stopped => Err(StepFailure::Stopped),
        SupervisionEnd::Disk(trouble) => Err(StepFailure::Disk(trouble)),
        SupervisionEnd::Deadline => Err(StepFailure::deadline()),
    }
}
