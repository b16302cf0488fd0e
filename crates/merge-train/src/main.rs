//! The `merge-train` program.

mod clock;
mod config;
mod demo;
mod driver;
mod serve;
mod server;
mod sim;
mod state;
mod storage;
mod telemetry;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Lands stacks of GitHub pull requests, fixes what breaks on the way, and never loses its place.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a simulated GitHub with a stack of pull requests to look at.
    Demo(demo::Args),
    /// Run the daemon.
    Serve(serve::Args),
    /// Run a GitHub on this machine: REST, GraphQL, git over HTTP, signed webhooks, CI.
    Sim(sim::Args),
    /// Export, import, inspect or verify the state.
    State(state::Args),
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Demo(args) => demo::run(args).await,
        Command::Serve(args) => serve::run(args).await,
        Command::Sim(args) => sim::run(args).await,
        Command::State(args) => state::run(args).await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Causes, not a backtrace: whoever reads this runs the program, and did not write it.
            eprintln!("error: {error}");
            error.chain().skip(1).for_each(|cause| eprintln!("  because: {cause}"));
            ExitCode::FAILURE
        }
    }
}
