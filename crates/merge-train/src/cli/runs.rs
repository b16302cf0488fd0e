//! `merge-train runs`: runs, and what people want of them.

mod actions;
mod detail;
mod list;
mod logs;
mod lookup;
mod show;
mod start;
mod table;
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::NonEmptyStringValueParser;
use merge_train_core::ids::RunId;
use merge_train_core::workflow::Run;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cli::remote::{self, DaemonAccess};
use crate::telemetry;
use actions::RunAction;

/// The exit code where a run was named that is not there.
const NO_SUCH_RUN: u8 = 3;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    access: DaemonAccess,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List runs, the newest first.
    List(list::Args),
    /// Show a run: its state and the reason, its steps, its result, and what you can do next.
    Show(RunArgument),
    /// Follow a run from its start to its end.
    ///
    /// Exit code 0: the run completed. 1: it failed, or an error. 2: it was cancelled. 3: there is no such run. 130:
    /// interrupted.
    Watch(RunArgument),
    /// Print the output of a run's commands, or of its fixer.
    Logs(logs::Args),
    /// Approve a waiting run.
    Approve {
        #[command(flatten)]
        named: RunArgument,
        #[command(flatten)]
        why: ReasonArgument,
    },
    /// Reject a waiting run, which ends it.
    Reject {
        #[command(flatten)]
        named: RunArgument,
        /// Why; it is recorded with the run.
        #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
        reason: String,
    },
    /// Cancel a run: stop what it does, and undo its steps where the workflow says how.
    Cancel {
        #[command(flatten)]
        named: RunArgument,
        #[command(flatten)]
        why: ReasonArgument,
    },
    /// Let a run continue now: without the event it waits for, or before the pause after a failure is over; at a gate
    /// this counts as your approval.
    Resume {
        #[command(flatten)]
        named: RunArgument,
        #[command(flatten)]
        why: ReasonArgument,
    },
    /// Start a run of a workflow.
    ///
    /// Exit code 0: started. 1: refused, or an error. With --watch: the exit codes of `runs watch`.
    Start(start::Args),
}

#[derive(clap::Args)]
struct RunArgument {
    /// The run ID, or a prefix of it that is unique among the newest runs.
    #[arg(value_name = "RUN")]
    run: RunId,
}

#[derive(clap::Args)]
struct ReasonArgument {
    /// Why; it is recorded with the run.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: Option<String>,
}

/// For whom is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutputFormat {
    Text,
    Json,
}

/// Exits with 3 where a run is named that is not there.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let daemon = args.access.daemon()?;
    let format = if args.json { OutputFormat::Json } else { OutputFormat::Text };
    let outcome = match args.command {
        Command::List(which) => list::run(&daemon, &which, format).await,
        Command::Show(RunArgument { run }) => show::run(&daemon, &run, format).await,
        Command::Watch(RunArgument { run }) => watch::run(&daemon, &run, format).await,
        Command::Logs(args) => logs::run(&daemon, &args, format).await,
        Command::Approve { named, why } => {
            actions::run(&daemon, &named.run, RunAction::Approve, why.reason, format).await
        }
        Command::Reject { named, reason } => {
            actions::run(&daemon, &named.run, RunAction::Reject, Some(reason), format).await
        }
        Command::Cancel { named, why } => {
            actions::run(&daemon, &named.run, RunAction::Cancel, why.reason, format).await
        }
        Command::Resume { named, why } => {
            actions::run(&daemon, &named.run, RunAction::Resume, why.reason, format).await
        }
        Command::Start(wanted) => Box::pin(start::run(&daemon, wanted, format)).await,
    };
    match outcome {
        Err(error) if is_no_such_run(&error) => {
            eprintln!("error: {error}");
            Ok(ExitCode::from(NO_SUCH_RUN))
        }
        outcome => outcome,
    }
}

fn is_no_such_run(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(lookup::Error::Nothing { .. }))
        || error.downcast_ref().is_some_and(remote::Error::is_no_such_run)
}

/// Reads what the API says of a run. For programs it is printed as it came.
fn read(run: &Value) -> anyhow::Result<Run> {
    Run::deserialize(run).context("the daemon has a different version than this command")
}

fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    say(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Prints it. Whoever reads it may have gone, which is no reason to panic.
pub fn say(text: &str) -> anyhow::Result<()> {
    io::stdout().lock().write_all(text.as_bytes()).context("nobody reads what is told")
}

/// An id under which something is wanted once, however often it is sent.
fn new_id() -> String {
    format!("cli-{:032x}", fastrand::u128(..))
}

#[cfg(test)]
pub(crate) mod tests;
