//! `merge-train train`: starting and stopping a train from outside GitHub.

mod follow;

use std::io;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::plan::target::PullRequestArgument;
use crate::cli::remote::DaemonAccess;
use crate::cli::status::NO_SUCH_TRAIN;
use crate::cli::status::table::{self, TrainRow};
use crate::terminal::Ink;
use crate::{clock, telemetry};
use follow::{TrainCommandFollower, TrainCommandResult};

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
    /// Start a train at this pull request, the root of its stack, like `@merge-train start`.
    ///
    /// If it cannot start, the bot says why in a comment on the pull request.
    Start {
        #[arg(value_name = "OWNER/REPO#N")]
        target: PullRequestArgument,
    },
    /// Stop the train that includes this pull request, like `@merge-train stop`.
    Stop {
        #[arg(value_name = "OWNER/REPO#N")]
        target: PullRequestArgument,
    },
}

/// Exits with 1 where a start is refused, and with 3 where there is no train to stop.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let daemon = args.access.daemon()?;
    let (target, (result, train)) = match &args.command {
        Command::Start { target } => (target, TrainCommandFollower::new(&daemon, target).await?.start().await?),
        Command::Stop { target } => (target, TrainCommandFollower::new(&daemon, target).await?.stop().await?),
    };
    if args.json {
        println!("{}", serde_json::to_string_pretty(&json!({ "result": result, "train": train }))?);
    }
    let PullRequestArgument { repo, pull } = target;
    let follow = format!("To follow it: merge-train status '{repo}#{pull}'");
    let told = match result {
        TrainCommandResult::Refused => {
            anyhow::bail!("{repo}#{pull} cannot be started; a comment on the pull request says why, and what to do")
        }
        TrainCommandResult::NoTrain => {
            eprintln!("error: no current train of {repo} includes pull request #{pull}");
            return Ok(ExitCode::from(NO_SUCH_TRAIN));
        }
        TrainCommandResult::Pending => format!("Accepted; it takes a while.\n{follow}\n"),
        TrainCommandResult::Landed => format!("{repo}#{pull} has landed.\n"),
        TrainCommandResult::Started | TrainCommandResult::Ended => match &train {
            Some(train) => table::detail(&TrainRow::read(train)?, Ink::of(&io::stdout()), clock::now()),
            None => format!("{repo}#{pull} no longer has a train.\n"),
        },
    };
    if !args.json {
        print!("{told}");
    }
    Ok(ExitCode::SUCCESS)
}
