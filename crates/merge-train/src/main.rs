//! The `merge-train` program.

mod demo;
mod sim;

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
    /// Run a GitHub on this machine: REST, GraphQL, git over HTTP, signed webhooks, CI.
    Sim(sim::Args),
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match Cli::parse().command {
        Command::Demo(args) => demo::run(args).await,
        Command::Sim(args) => sim::run(args).await,
    }
}
