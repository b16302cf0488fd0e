//! `merge-train status`: the trains, how far they are, and what they wait for; and what the ratchet is at work on or gave up on.

pub mod table;
pub mod target;

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::Progress;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ratchet::{self, Subset, Which};
use crate::remote::{Access, Daemon};
use crate::server::settings::Settings;
use crate::terminal::Ink;
use crate::{clock, telemetry};
use table::Train;
use target::Scope;

/// The exit code where a train was named that is not there.
pub const NO_SUCH_TRAIN: u8 = 3;

/// How many repositories are asked about at once.
const AT_ONCE: usize = 8;

#[derive(clap::Args)]
pub struct Args {
    /// A repository, or the train that has this pull request on board; without it, all that the key may see.
    #[arg(value_name = "OWNER/REPO[#N]")]
    scope: Option<Scope>,
    #[command(flatten)]
    access: Access,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A repository as the list of them has it.
#[derive(Deserialize)]
struct Listed {
    repo: RepoId,
}

/// Exits with 3 where a train is named and there is none.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let daemon = args.access.daemon()?;
    match args.scope {
        Some(Scope { repo, pull: Some(pull) }) => one(&daemon, &repo, pull, args.json).await,
        Some(Scope { repo, pull: None }) => {
            let mut seen = look(&daemon, repo.clone()).await?;
            seen.settings = Some(daemon.get(&format!("/api/v1/repos/{repo}/settings")).await?);
            print(&[seen], &stirring(&daemon, Some(&repo)).await?, args.json)
        }
        None => {
            let repos: Vec<Listed> = daemon.list("/api/v1/repos", "repos").await?;
            let asked = repos.into_iter().map(|Listed { repo }| look(&daemon, repo));
            let all: Vec<_> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
            print(&all, &stirring(&daemon, None).await?, args.json)
        }
    }
}

/// The workspaces that somebody is at work on, or that need somebody.
async fn stirring(daemon: &Daemon, repo: Option<&RepoId>) -> anyhow::Result<Vec<Value>> {
    let which = |subset| Which { repo, subset, with_archived: false };
    let mut stirring = which(Subset::NeedsSomebody).ask(daemon).await?;
    for worked_on in which(Subset::WorkedOn).ask(daemon).await? {
        if !stirring.iter().any(|known| known["id"] == worked_on["id"]) {
            stirring.push(worked_on);
        }
    }
    Ok(stirring)
}

/// A repository: its trains, and how well it is known.
struct Seen {
    repo: RepoId,
    trains: Vec<Value>,
    progress: Progress,
    /// How it is treated, where only one is shown.
    settings: Option<Settings>,
}

impl Seen {
    fn json(&self) -> Value {
        let mut shown = json!({ "repo": self.repo, "sync": self.progress });
        if let Some(settings) = &self.settings {
            shown["settings"] = json!(settings.settings);
            shown["settings_file"] = json!(settings.file);
        }
        shown
    }
}

async fn look(daemon: &Daemon, repo: RepoId) -> anyhow::Result<Seen> {
    let (trains, mut rest) = daemon.list_and_rest(&format!("/api/v1/repos/{repo}/trains"), "trains").await?;
    let progress = serde_json::from_value(rest["sync"].take()).context("the daemon is of another version")?;
    Ok(Seen { repo, trains, progress, settings: None })
}

async fn one(daemon: &Daemon, repo: &RepoId, pull: PrNumber, as_json: bool) -> anyhow::Result<ExitCode> {
    match daemon.get::<Value>(&format!("/api/v1/repos/{repo}/trains/{pull}")).await {
        Ok(train) if as_json => println!("{}", serde_json::to_string_pretty(&train)?),
        Ok(train) => print!("{}", table::detail(&Train::read(&train)?, Ink::of(&io::stdout()), clock::now())),
        Err(error) if error.is_no_such_train() => {
            eprintln!("error: {error}");
            return Ok(ExitCode::from(NO_SUCH_TRAIN));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// All trains of these repositories: for a program one list, for a person a table for each. And these workspaces.
fn print(all: &[Seen], workspaces: &[Value], as_json: bool) -> anyhow::Result<ExitCode> {
    let count: usize = all.iter().map(|seen| seen.trains.len()).sum();
    if as_json {
        let trains: Vec<&Value> = all.iter().flat_map(|seen| &seen.trains).collect();
        let repos: Vec<Value> = all.iter().map(Seen::json).collect();
        println!(
            "{}",
            serde_json::to_string_pretty(&json!({ "trains": trains, "workspaces": workspaces, "repos": repos }))?
        );
        return Ok(ExitCode::SUCCESS);
    }
    for seen in all {
        print!("{}", table::progress(&seen.repo, &seen.progress, clock::now()));
        print!("{}", seen.settings.as_ref().map(table::settings).unwrap_or_default());
    }
    if let ([seen], 0) = (all, count) {
        println!("No trains in {}.", seen.repo);
    } else if count == 0 {
        println!("No trains in any of {} repositories.", all.len());
    } else {
        let ink = Ink::of(&io::stdout());
        for Seen { repo, trains, .. } in all.iter().filter(|seen| !seen.trains.is_empty()) {
            let trains: Vec<Train> = trains.iter().map(Train::read).collect::<Result<_, _>>()?;
            print!("{}", table::overview(repo, &trains, ink, clock::now()));
        }
    }
    if !workspaces.is_empty() {
        let workspaces: Vec<_> = workspaces.iter().map(ratchet::table::Workspace::read).collect::<Result<_, _>>()?;
        println!("\nPull requests that the ratchet is at work on, or that need somebody (!):");
        print!("{}", ratchet::table::overview(&workspaces, Ink::of(&io::stdout()), clock::now()));
    }
    Ok(ExitCode::SUCCESS)
}
