//! `merge-train status`: the trains, how far they are, and what they wait for; and what the ratchet is at work on or gave up on.

pub mod table;
pub mod target;
mod watch;

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::Progress;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::ratchet::{self, Subset, Which};
use crate::cli::remote::{Access, Daemon, Error};
use crate::daemon::server::settings::Settings;
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
    /// A repository, or the train that includes this pull request (default: everything the key may see).
    #[arg(value_name = "OWNER/REPO[#N]")]
    scope: Option<Scope>,
    #[command(flatten)]
    access: Access,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Keep updating: in place on a terminal, elsewhere whenever something has changed.
    #[arg(long)]
    watch: bool,
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
    if args.watch {
        return watch::run(&daemon, args.scope.as_ref(), args.json).await;
    }
    match Sight::of(&daemon, args.scope.as_ref()).await {
        Ok(sight) => print!("{}", if args.json { sight.pretty()? } else { sight.text }),
        Err(error) if is_no_such_train(&error) => {
            eprintln!("error: {error}");
            return Ok(ExitCode::from(NO_SUCH_TRAIN));
        }
        Err(error) => return Err(error),
    }
    Ok(ExitCode::SUCCESS)
}

fn is_no_such_train(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(Error::is_no_such_train)
}

/// What was seen at one moment, for programs and for people.
struct Sight {
    json: Value,
    text: String,
}

impl Sight {
    async fn of(daemon: &Daemon, scope: Option<&Scope>) -> anyhow::Result<Self> {
        match scope {
            Some(Scope { repo, pull: Some(pull) }) => Self::of_one(daemon, repo, *pull).await,
            Some(Scope { repo, pull: None }) => {
                let mut seen = look(daemon, repo.clone()).await?;
                seen.settings = Some(daemon.get(&format!("/api/v1/repos/{repo}/settings")).await?);
                Self::of_all(&[seen], &stirring(daemon, Some(repo)).await?)
            }
            None => {
                let repos: Vec<Listed> = daemon.list("/api/v1/repos", "repos").await?;
                let asked = repos.into_iter().map(|Listed { repo }| look(daemon, repo));
                let all: Vec<_> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
                Self::of_all(&all, &stirring(daemon, None).await?)
            }
        }
    }

    async fn of_one(daemon: &Daemon, repo: &RepoId, pull: PrNumber) -> anyhow::Result<Self> {
        let json: Value = daemon.get(&format!("/api/v1/repos/{repo}/trains/{pull}")).await?;
        let text = table::detail(&Train::read(&json)?, Ink::of(&io::stdout()), clock::now());
        Ok(Self { json, text })
    }

    /// All trains of these repositories: for a program one list, for a person a table for each. And these workspaces.
    fn of_all(all: &[Seen], workspaces: &[Value]) -> anyhow::Result<Self> {
        let trains: Vec<&Value> = all.iter().flat_map(|seen| &seen.trains).collect();
        let repos: Vec<Value> = all.iter().map(Seen::json).collect();
        let json = json!({ "trains": trains, "workspaces": workspaces, "repos": repos });
        Ok(Self { text: told(all, workspaces)?, json })
    }

    fn pretty(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(&self.json)? + "\n")
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
    let progress = serde_json::from_value(rest["sync"].take()).context("the daemon has a different version")?;
    Ok(Seen { repo, trains, progress, settings: None })
}

fn told(all: &[Seen], workspaces: &[Value]) -> anyhow::Result<String> {
    let (ink, now) = (Ink::of(&io::stdout()), clock::now());
    let count: usize = all.iter().map(|seen| seen.trains.len()).sum();
    let mut text = String::new();
    for seen in all {
        text += &table::progress(&seen.repo, &seen.progress, now);
        text += &seen.settings.as_ref().map(table::settings).unwrap_or_default();
    }
    if let ([seen], 0) = (all, count) {
        text += &format!("No trains in {}.\n", seen.repo);
    } else if count == 0 {
        text += &format!("No trains in any of {} repositories.\n", all.len());
    } else {
        for Seen { repo, trains, .. } in all.iter().filter(|seen| !seen.trains.is_empty()) {
            let trains: Vec<Train> = trains.iter().map(Train::read).collect::<Result<_, _>>()?;
            text += &table::overview(repo, &trains, ink, now);
        }
    }
    if !workspaces.is_empty() {
        let workspaces: Vec<_> = workspaces.iter().map(ratchet::table::Workspace::read).collect::<Result<_, _>>()?;
        text += "\nPull requests that the ratchet is working on, or that need a person (!):\n";
        text += &ratchet::table::overview(&workspaces, ink, now);
    }
    Ok(text)
}
