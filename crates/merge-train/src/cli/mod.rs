//! The command line: a module for each command.

mod app;
mod bench;
mod demo;
mod doctor;
mod init;
mod manual;
mod plan;
mod private_file;
mod ratchet;
mod remote;
pub(crate) mod runs;
mod serve;
mod session;
mod sim;
mod state;
mod status;
mod train;

use std::process::ExitCode;

use clap::{FromArgMatches as _, Parser, Subcommand};

use crate::daemon::failpoint;
use crate::terminal;

/// Lands stacks of GitHub pull requests, fixes what breaks on the way, and never loses its place.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Create the GitHub App the daemon runs as.
    ///
    /// Exit code 0: created, and every check passed. 1: an error, or a check failed. 2: wrong arguments.
    App(app::Args),
    /// Measure how fast the durable parts are on this machine.
    #[command(hide = true)]
    Bench(bench::Args),
    /// Print a shell completion script for merge-train's commands.
    ///
    /// Exit code 0: printed. 2: wrong arguments.
    Completion(manual::CompletionArgs),
    /// Start a simulated GitHub with a stack of pull requests, and a daemon that lands it.
    ///
    /// Exit code 0: stopped; with --once: everything has landed. 1: an error; with --once: not everything has landed.
    Demo(demo::Args),
    /// Check the daemon's setup: configuration, git, signing, disk, database, GitHub.
    ///
    /// Changes nothing. Exit code 0 if nothing failed, 1 otherwise.
    Doctor(doctor::Args),
    /// Write a starter configuration that only you can read.
    ///
    /// Exit code 0: written. 1: the file already exists, or cannot be written. 2: wrong arguments.
    Init(init::Args),
    /// Print the manual page, or write one for each command.
    ///
    /// Exit code 0: done. 1: the folder cannot be written. 2: wrong arguments.
    Man(manual::ManArgs),
    /// Show what landing a stack of pull requests would do: every push, squash and retarget, and every conflict.
    ///
    /// Changes nothing, on GitHub or anywhere else. The plan covers the pull request's whole stack.
    ///
    /// Exit code 0: the stack would land. 2: it would not, because of a conflict, or because a start would be refused. 1: an
    /// error.
    Plan(plan::Args),
    /// Turn the ratchet on or off, and show what it does: for one pull request, one repository, or all.
    ///
    /// Needs a running daemon. Exit code 0: done. 3: the daemon does not know the pull request or repository. 1: refused, or an
    /// error. 2: wrong arguments.
    Ratchet(ratchet::Args),
    /// List, show, watch, start and control runs (workflows, trains, fixers).
    ///
    /// Needs a running daemon. Exit code 0: done. 3: there is no such run. 1: refused, or an error. 2: wrong arguments.
    /// `runs watch` has its own.
    Runs(runs::Args),
    /// Run the daemon.
    ///
    /// Exit code 0: stopped, after finishing work in progress. 1: it did not start, or an error ended it.
    Serve(serve::Args),
    /// Run a program while you work on a pull request; meanwhile the ratchet starts no fixer there.
    ///
    /// Opens a session with a running daemon, and runs nothing if that fails. Exit code: the program's; 1 if it was not run, 126
    /// or 127 if it could not be run, 128 plus the signal number if a signal ended it. 2: wrong arguments.
    Session(session::Args),
    /// Run a simulated GitHub on this machine: REST, GraphQL, git over HTTP, signed webhooks, CI.
    ///
    /// It is a separate program, github-sim, next to merge-train or on the PATH. `merge-train sim --help` lists its options.
    ///
    /// Exit code 0: stopped. 1: it did not start, or it is not installed.
    Sim(sim::Args),
    /// Export, import, inspect or verify the state.
    ///
    /// Exit code 0: done, and nothing is wrong. 1: an error, or the state does not match its events.
    State(state::Args),
    /// Show trains: their progress, what they wait for, and who can help; and the pull requests that the ratchet is working on or
    /// gave up on.
    ///
    /// Needs a running daemon. Exit code 0: success. 3: there is no such train. 1: an error. 2: wrong arguments.
    Status(status::Args),
    /// Start or stop a train.
    ///
    /// Needs a running daemon. Exit code 0: accepted. 3: there is no train to stop. 1: an error. 2: wrong arguments.
    Train(train::Args),
}

/// Does what the arguments say, and tells how that ended.
#[tokio::main]
pub async fn run() -> ExitCode {
    failpoint::arm();
    let parsed = manual::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let command = match parsed {
        Ok(cli) => cli.command,
        Err(usage) => return explain(&usage),
    };
    terminal::fit();
    let done = |()| ExitCode::SUCCESS;
    let outcome = match command {
        Command::App(args) => app::run(args).await,
        Command::Bench(args) => bench::run(args).await.map(done),
        Command::Completion(args) => manual::completion(&args),
        Command::Demo(args) => demo::run(args).await.map(done),
        Command::Doctor(args) => doctor::run(args).await,
        Command::Init(args) => init::run(&args),
        Command::Man(args) => manual::man(&args),
        Command::Plan(args) => Box::pin(plan::run(args)).await,
        Command::Ratchet(args) => ratchet::run(args).await,
        Command::Runs(args) => Box::pin(runs::run(args)).await,
        Command::Serve(args) => serve::run(args).await.map(done),
        Command::Session(args) => Box::pin(session::run(args)).await,
        Command::Sim(args) => sim::run(&args).map(done),
        Command::State(args) => state::run(args).await.map(done),
        Command::Status(args) => status::run(args).await,
        Command::Train(args) => train::run(args).await,
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            // Causes, not a backtrace: whoever reads this runs the program, and did not write it.
            eprintln!("error: {error}");
            error.chain().skip(1).for_each(|cause| eprintln!("  because: {cause}"));
            ExitCode::FAILURE
        }
    }
}

/// Help, or what is wrong with the arguments. That is 2, as usual, but for the older commands: there 2 is what `plan` exits
/// with when it has an answer that nobody likes.
fn explain(usage: &clap::Error) -> ExitCode {
    let _ = usage.print();
    let command = std::env::args().nth(1);
    match command.as_deref() {
        _ if !usage.use_stderr() => ExitCode::SUCCESS,
        Some("app" | "completion" | "init" | "man" | "ratchet" | "runs" | "session" | "status" | "train") => {
            ExitCode::from(2)
        }
        _ => ExitCode::FAILURE,
    }
}
