//! `merge-train serve`: the daemon.

use std::path::PathBuf;

use crate::config::{Config, Environment};
use crate::daemon::{self, agent};
use crate::telemetry;

#[derive(clap::Args)]
pub struct Args {
    /// The configuration (default: merge-train.toml in the working directory, if it exists).
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    let config = Config::load(args.config.as_deref(), &Environment::of_process())?;
    telemetry::init(&config.log)?;
    // Before a secret is used: commands of steps run as the same user.
    agent::privacy::close_to_others();
    let listening = |address| println!("merge-train is listening on http://{address}");
    daemon::run(config, args.config.as_deref(), listening, daemon::asked_to_stop()).await
}
