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
    /// Create a GitHub App with the permissions and events that merge-train needs, and save its key, secret and
    /// configuration.
    ///
    /// Opens a page on this machine that takes you to GitHub, where you confirm. Only you can read the files it writes: the key,
    /// the webhook secret and the configuration. It adds to an existing configuration and changes nothing in it. Then it waits
    /// until the app is installed, and checks the setup as `merge-train doctor` does.
    ///
    /// Exit code 0: created, and every check passed. 1: an error, or a check failed. 130: interrupted.
    Create(create::Args),
}

pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Create(args) => Box::pin(create::run(args)).await,
    }
}
