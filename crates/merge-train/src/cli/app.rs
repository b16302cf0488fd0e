//! `merge-train app`: the GitHub App that the daemon is.

mod app_files;
mod create;
mod manifest;
mod page;

use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make a GitHub App with the permissions and events that merge-train needs, and keep its key, secret and configuration.
    ///
    /// Opens a page on this machine that leads to GitHub, where you agree. The key, the webhook secret and the configuration are
    /// written for you alone to read; a configuration that is there is added to, and nothing in it is changed. Then it waits until
    /// the app is installed somewhere, and tries everything out as `merge-train doctor` does.
    ///
    /// Exit code 0: made, and nothing failed. 1: an error, or something failed. 130: interrupted.
    Create(create::Args),
}

pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Create(args) => Box::pin(create::run(args)).await,
    }
}
