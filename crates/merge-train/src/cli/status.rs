//! `merge-train status`: the trains, how far they are, and what they wait for; and what the ratchet is at work on or gave up on.

pub mod table;
pub mod target;
mod watch;

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::SyncProgress;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::ratchet::{self, WorkspaceFilter, WorkspaceSubset};
use crate::cli::remote::{DaemonAccess, DaemonClient, Error};
use crate::daemon::server::settings::RepoSettingsDocument;
use crate::terminal::Ink;
use crate::{clock, telemetry};
use table::TrainRow;
use target::ScopeArgument;

/// The exit code where a train was named that is not there.
pub const NO_SUCH_TRAIN: u8 = 3;

/// How many repositories are asked about at once.
const AT_ONCE: usize = 8;

#[derive(clap::Args)]
pub struct Args {
    /// A repository, or the train that includes this pull request (default: everything the key may see).
    #[arg(value_name = "OWNER/REPO[#N]")]
    scope: Option<ScopeArgument>,
    #[command(flatten)]
    access: DaemonAccess,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Keep updating: in place on a terminal, elsewhere whenever something has changed.
    #[arg(long)]
    watch: bool,
}

/// A repository as the list of them has it.
#[derive(Deserialize)]
struct ListedRepository {
    repo: RepoId,
}

/// Exits with 3 where a train is named and there is none.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let daemon = args.access.daemon()?;
    if args.watch {
        return watch::run(&daemon, args.scope.as_ref(), args.json).await;
    }
    match StatusReport::of(&daemon, args.scope.as_ref()).await {
        Ok(report) => print!("{}", if args.json { report.pretty()? } else { report.text }),
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
struct StatusReport {
    json: Value,
    text: String,
}

impl StatusReport {
    async fn of(daemon: &DaemonClient, scope: Option<&ScopeArgument>) -> anyhow::Result<Self> {
        match scope {
            Some(ScopeArgument { repo, pull: Some(pull) }) => Self::of_one(daemon, repo, *pull).await,
            Some(ScopeArgument { repo, pull: None }) => {
                let mut status = look(daemon, repo.clone()).await?;
                status.settings = Some(daemon.get(&format!("/api/v1/repos/{repo}/settings")).await?);
                Self::of_all(&[status], &workspaces_of_interest(daemon, Some(repo)).await?)
            }
            None => {
                let repos: Vec<ListedRepository> = daemon.list("/api/v1/repos", "repos").await?;
                let asked = repos.into_iter().map(|ListedRepository { repo }| look(daemon, repo));
                let all: Vec<_> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
                Self::of_all(&all, &workspaces_of_interest(daemon, None).await?)
            }
        }
    }

    async fn of_one(daemon: &DaemonClient, repo: &RepoId, pull: PrNumber) -> anyhow::Result<Self> {
        let json: Value = daemon.get(&format!("/api/v1/repos/{repo}/trains/{pull}")).await?;
        let text = table::detail(&TrainRow::read(&json)?, Ink::of(&io::stdout()), clock::now());
        Ok(Self { json, text })
    }

    /// All trains of these repositories: for a program one list, for a person a table for each. And these workspaces.
    fn of_all(all: &[RepositoryStatus], workspaces: &[Value]) -> anyhow::Result<Self> {
        let trains: Vec<&Value> = all.iter().flat_map(|status| &status.trains).collect();
        let repos: Vec<Value> = all.iter().map(RepositoryStatus::json).collect();
        let json = json!({ "trains": trains, "workspaces": workspaces, "repos": repos });
        Ok(Self { text: told(all, workspaces)?, json })
    }

    fn pretty(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(&self.json)? + "\n")
    }
}

/// The workspaces that somebody is at work on, or that need somebody.
async fn workspaces_of_interest(daemon: &DaemonClient, repo: Option<&RepoId>) -> anyhow::Result<Vec<Value>> {
    let which = |subset| WorkspaceFilter { repo, subset, with_archived: false };
    let mut workspaces_of_interest = which(WorkspaceSubset::NeedsSomebody).fetch(daemon).await?;
    for worked_on in which(WorkspaceSubset::WorkedOn).fetch(daemon).await? {
        if !workspaces_of_interest.iter().any(|known| known["id"] == worked_on["id"]) {
            workspaces_of_interest.push(worked_on);
        }
    }
    Ok(workspaces_of_interest)
}

/// A repository: its trains, and how well it is known.
struct RepositoryStatus {
    repo: RepoId,
    trains: Vec<Value>,
    progress: SyncProgress,
    /// How it is treated, where only one is shown.
    settings: Option<RepoSettingsDocument>,
}

impl RepositoryStatus {
    fn json(&self) -> Value {
        let mut shown = json!({ "repo": self.repo, "sync": self.progress });
        if let Some(settings) = &self.settings {
            shown["settings"] = json!(settings.settings);
            shown["settings_file"] = json!(settings.file);
        }
        shown
    }
}

async fn look(daemon: &DaemonClient, repo: RepoId) -> anyhow::Result<RepositoryStatus> {
    let (trains, mut rest) = daemon.list_and_rest(&format!("/api/v1/repos/{repo}/trains"), "trains").await?;
    let progress = serde_json::from_value(rest["sync"].take()).context("the daemon has a different version")?;
    Ok(RepositoryStatus { repo, trains, progress, settings: None })
}

fn told(all: &[RepositoryStatus], workspaces: &[Value]) -> anyhow::Result<String> {
    let (ink, now) = (Ink::of(&io::stdout()), clock::now());
    let count: usize = all.iter().map(|status| status.trains.len()).sum();
    let mut text = String::new();
    for status in all {
        text += &table::progress(&status.repo, &status.progress, now);
        text += &status.settings.as_ref().map(table::settings).unwrap_or_default();
    }
    if let ([status], 0) = (all, count) {
        text += &format!("No trains in {}.\n", status.repo);
    } else if count == 0 {
        text += &format!("No trains in any of {} repositories.\n", all.len());
    } else {
        for RepositoryStatus { repo, trains, .. } in all.iter().filter(|status| !status.trains.is_empty()) {
            let trains: Vec<TrainRow> = trains.iter().map(TrainRow::read).collect::<Result<_, _>>()?;
            text += &table::overview(repo, &trains, ink, now);
        }
    }
    if !workspaces.is_empty() {
        let workspaces: Vec<_> = workspaces.iter().map(ratchet::table::WorkspaceRow::read).collect::<Result<_, _>>()?;
        text += "\nPull requests that the ratchet is working on, or that need a person (!):\n";
        text += &ratchet::table::overview(&workspaces, ink, now);
    }
    Ok(text)
}
