//! `merge-train train`: starting and stopping a train from outside GitHub.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use merge_train_core::repo::RequestOutcome;
use merge_train_core::train::TrainState;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::plan::target::Target;
use crate::remote::{Access, Daemon, Error};
use crate::status::NO_SUCH_TRAIN;
use crate::status::table::{self, Ink, Train};
use crate::{clock, telemetry};

/// How long a command waits to see what comes of it. It is taken in all the same.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(200);

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    access: Access,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Start the train of the stack whose root this pull request is, as `@merge-train start` does.
    ///
    /// Why it cannot start, if so, the bot says in a comment on the pull request.
    Start {
        #[arg(value_name = "OWNER/REPO#N")]
        target: Target,
    },
    /// Stop the train that has this pull request on board, as `@merge-train stop` does.
    Stop {
        #[arg(value_name = "OWNER/REPO#N")]
        target: Target,
    },
}

/// What the daemon answers to an order.
#[derive(Deserialize)]
struct Taken {
    /// `accepted` or `processing` as long as it waits, then `processed`.
    status: String,
    outcome: Option<RequestOutcome>,
}

/// Exits with 3 where there is no train to stop.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let (target, order) = match &args.command {
        Command::Start { target } => (target, "start"),
        Command::Stop { target } => (target, "stop"),
    };
    let daemon = args.access.daemon()?;
    let Target { repo, pull } = target;
    let address = format!("/api/v1/repos/{repo}/trains/{pull}");
    // One id for all attempts: the order is given once, and each repetition says how far it is.
    let id = format!("cli-{:032x}", fastrand::u128(..));
    let deadline = Instant::now() + PATIENCE;
    let taken = match settled(&daemon, &format!("{address}/{order}"), &id, deadline).await {
        Ok(taken) => taken,
        Err(error) if error.is_no_such_train() => {
            eprintln!("error: {error}");
            return Ok(ExitCode::from(NO_SUCH_TRAIN));
        }
        Err(error) => return Err(error.into()),
    };
    if taken.outcome == Some(RequestOutcome::Nothing) {
        return in_vain(&args.command, target);
    }
    let train = follow(&daemon, &address, &args.command, deadline).await?;
    if args.json {
        let told = json!({ "status": taken.status, "outcome": taken.outcome, "train": train });
        println!("{}", serde_json::to_string_pretty(&told)?);
    } else {
        print!("{}", told(&args.command, target, train.as_ref())?);
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked for makes no sense any more, or never did.
fn in_vain(order: &Command, Target { repo, pull }: &Target) -> anyhow::Result<ExitCode> {
    match order {
        Command::Start { .. } => {
            anyhow::bail!("{repo}#{pull} cannot be started; a comment on the pull request says why, and what to do")
        }
        Command::Stop { .. } => {
            eprintln!("error: no train of {repo} has pull request #{pull} on board");
            Ok(ExitCode::from(NO_SUCH_TRAIN))
        }
    }
}

/// Gives the order, and waits until it was worked on.
async fn settled(daemon: &Daemon, path: &str, id: &str, deadline: Instant) -> Result<Taken, Error> {
    loop {
        let taken: Taken = daemon.order(path, id).await?;
        if taken.status == "processed" || Instant::now() >= deadline {
            return Ok(taken);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The train, as soon as it shows that the order had its effect; what there is of it by then otherwise.
async fn follow(daemon: &Daemon, address: &str, order: &Command, deadline: Instant) -> anyhow::Result<Option<Value>> {
    loop {
        let train = match daemon.get::<Value>(address).await {
            Ok(train) => Some(train),
            Err(error) if error.is_no_such_train() => None,
            Err(error) => return Err(error.into()),
        };
        let is_under_way = match &train {
            Some(train) => matches!(Train::read(train)?.state, TrainState::Running | TrainState::WaitingCi),
            None => false,
        };
        let wanted = matches!(order, Command::Start { .. });
        if is_under_way == wanted || Instant::now() >= deadline {
            return Ok(train);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn told(order: &Command, Target { repo, pull }: &Target, train: Option<&Value>) -> anyhow::Result<String> {
    let train = train.map(Train::read).transpose()?;
    let shown = train.as_ref().map(|train| table::detail(train, Ink::of(&io::stdout()), clock::now()));
    let is_under_way =
        train.as_ref().is_some_and(|train| matches!(train.state, TrainState::Running | TrainState::WaitingCi));
    Ok(match (order, is_under_way) {
        (Command::Start { .. }, true) | (Command::Stop { .. }, false) => {
            shown.unwrap_or_else(|| format!("There is no train of {repo}#{pull} any more.\n"))
        }
        (Command::Start { .. }, false) => format!(
            "The start was taken in, and {repo}#{pull} has not started yet. If it was refused, a comment on the pull \
             request says why.\nTo follow it: merge-train status '{repo}#{pull}'\n"
        ),
        (Command::Stop { .. }, true) => format!(
            "The stop was taken in, and the train has not ended yet.\nTo follow it: merge-train status '{repo}#{pull}'\n"
        ),
    })
}
