//! `merge-train ratchet`: pull requests that are kept moving, and the switch for that.

pub mod table;

use std::io;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use merge_train_core::ids::{PrNumber, RepoId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::plan::target::PullRequestArgument;
use crate::cli::remote::{DaemonAccess, DaemonClient, Error, ListRemainder, PartialList, ResponseProgress};
use crate::cli::status::target::ScopeArgument;
use crate::terminal::Ink;
use crate::{clock, telemetry};
use table::{RatchetDefaultRow, TransitionRow, WorkspaceRow};

/// The exit code where something was named that the daemon does not know.
const NOT_KNOWN: u8 = 3;

const WORKSPACES: (&str, &str) = ("/api/v1/workspaces", "workspaces");

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
    /// Turn the ratchet on: for a pull request, or for all in a repository without a setting of their own.
    ///
    /// For a pull request, this resets its fix attempts.
    On(SwitchArguments),
    /// Turn the ratchet off: for a pull request, or for all in a repository without a setting of their own.
    ///
    /// A running fixer may finish; no other starts.
    Off(SwitchArguments),
    /// Show the ratchet's state for one pull request, one repository, or all.
    Status {
        /// A pull request or a repository (default: everything the key may see).
        #[arg(value_name = "OWNER/REPO[#N]")]
        scope: Option<ScopeArgument>,
        /// Only pull requests that need a person.
        #[arg(long)]
        attention: bool,
        /// Also closed and merged pull requests.
        #[arg(long)]
        all: bool,
    },
    /// Show the ratchet's decisions about a pull request, the newest last.
    Log {
        #[arg(value_name = "OWNER/REPO#N")]
        target: PullRequestArgument,
        /// How many decisions to show at most.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
}

#[derive(clap::Args)]
struct SwitchArguments {
    #[arg(value_name = "OWNER/REPO[#N]")]
    scope: ScopeArgument,
    /// Why; it is recorded in the log.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    note: Option<String>,
}

/// Which way the switch is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SwitchPosition {
    On,
    Off,
}

/// What came of turning it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SwitchResult {
    On,
    Off,
    /// It was taken in, and takes longer than anybody waits here.
    Pending,
}

/// Exits with 3 where something is named that the daemon does not know.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    telemetry::init_plain();
    let daemon = args.access.daemon()?;
    let outcome = match &args.command {
        Command::On(arguments) => switch(&daemon, arguments, SwitchPosition::On, args.json).await,
        Command::Off(arguments) => switch(&daemon, arguments, SwitchPosition::Off, args.json).await,
        Command::Status { scope: Some(ScopeArgument { repo, pull: Some(pull) }), .. } => {
            one(&daemon, repo, *pull, args.json).await
        }
        Command::Status { scope, attention, all } => {
            let repo = scope.as_ref().map(|scope| &scope.repo);
            let subset = if *attention { WorkspaceSubset::NeedsSomebody } else { WorkspaceSubset::All };
            let filter = WorkspaceFilter { repo, subset, with_archived: *all };
            overview(&daemon, filter, args.json).await
        }
        Command::Log { target, limit } => log(&daemon, target, usize::try_from(*limit)?, args.json).await,
    };
    match outcome {
        Err(error) if error.downcast_ref().is_some_and(Error::is_not_found) => {
            eprintln!("error: {error}");
            Ok(ExitCode::from(NOT_KNOWN))
        }
        outcome => outcome.map(|()| ExitCode::SUCCESS),
    }
}

async fn switch(
    daemon: &DaemonClient,
    SwitchArguments { scope: ScopeArgument { repo, pull }, note }: &SwitchArguments,
    to: SwitchPosition,
    as_json: bool,
) -> anyhow::Result<()> {
    let id = format!("cli-{:032x}", fastrand::u128(..));
    let (path, name) = match pull {
        Some(pull) => (format!("/api/v1/workspaces/{repo}/{pull}/ratchet"), "workspace"),
        None => (format!("/api/v1/repos/{repo}/ratchet"), "ratchet"),
    };
    let mut wanted = json!({ "enabled": to == SwitchPosition::On });
    if let Some(note) = note {
        wanted["note"] = json!(note);
    }
    let response = daemon.put::<Value>(&path, &id, &wanted).await?;
    let result = match (response.progress, to) {
        (ResponseProgress::UnderWay, _) => SwitchResult::Pending,
        (ResponseProgress::Done, SwitchPosition::On) => SwitchResult::On,
        (ResponseProgress::Done, SwitchPosition::Off) => SwitchResult::Off,
    };
    if as_json {
        return print_json(&json!({ "result": result, name: response.body }));
    }
    let what = pull.map_or_else(
        || format!("all pull requests of {repo} without a setting of their own"),
        |pull| format!("{repo}#{pull}"),
    );
    let follow = pull.map_or_else(|| repo.to_string(), |pull| format!("'{repo}#{pull}'"));
    match result {
        SwitchResult::On => {
            println!("The ratchet is on for {what}.\nTo follow it: merge-train ratchet status {follow}");
        }
        SwitchResult::Off => println!("The ratchet is off for {what}."),
        SwitchResult::Pending => {
            println!("Accepted; it takes a while.\nTo follow it: merge-train ratchet status {follow}");
        }
    }
    Ok(())
}

async fn one(daemon: &DaemonClient, repo: &RepoId, pull: PrNumber, as_json: bool) -> anyhow::Result<()> {
    let shown: Value = daemon.get(&format!("/api/v1/workspaces/{repo}/{pull}")).await?;
    if as_json {
        return print_json(&shown);
    }
    print!("{}", table::detail(&WorkspaceRow::read(&shown)?, Ink::of(&io::stdout()), clock::now()));
    Ok(())
}

/// Which workspaces are listed.
#[derive(Clone, Copy)]
pub struct WorkspaceFilter<'a> {
    pub repo: Option<&'a RepoId>,
    pub subset: WorkspaceSubset,
    pub with_archived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceSubset {
    All,
    NeedsSomebody,
    /// By a fixer, or by a person.
    WorkedOn,
}

impl WorkspaceFilter<'_> {
    pub async fn fetch(self, daemon: &DaemonClient) -> Result<Vec<Value>, Error> {
        let mut query: Vec<(&str, String)> = self.repo.iter().map(|repo| ("repo", repo.to_string())).collect();
        match self.subset {
            WorkspaceSubset::All => {}
            WorkspaceSubset::NeedsSomebody => query.push(("attention", "true".to_owned())),
            WorkspaceSubset::WorkedOn => query.push(("column", "WORKING".to_owned())),
        }
        let PartialList { mut items, .. } = daemon.partial_list::<Value>(WORKSPACES, &query, None).await?;
        items.retain(|it| self.with_archived || it["archivedAt"].is_null());
        Ok(items)
    }
}

async fn overview(daemon: &DaemonClient, filter: WorkspaceFilter<'_>, as_json: bool) -> anyhow::Result<()> {
    let default: Option<Value> = match filter.repo {
        Some(repo) => Some(daemon.get(&format!("/api/v1/repos/{repo}/ratchet")).await?),
        None => None,
    };
    let items = filter.fetch(daemon).await?;
    if as_json {
        let mut all = json!({ "workspaces": items });
        if let Some(default) = default {
            all["ratchet"] = default;
        }
        return print_json(&all);
    }
    if let Some(default) = &default {
        print!("{}", RatchetDefaultRow::read(default)?.sentence());
    }
    let workspaces: Vec<WorkspaceRow> = items.iter().map(WorkspaceRow::read).collect::<Result<_, _>>()?;
    if workspaces.is_empty() {
        println!("{}", filter.nothing());
    } else {
        print!("{}", table::overview(&workspaces, Ink::of(&io::stdout()), clock::now()));
    }
    Ok(())
}

impl WorkspaceFilter<'_> {
    fn nothing(self) -> String {
        match (self.repo, self.subset) {
            (_, WorkspaceSubset::NeedsSomebody) => "No pull request needs a person.".to_owned(),
            (Some(repo), _) => format!("The ratchet is not on for any pull request of {repo}."),
            (None, _) => {
                "The ratchet is not on for any pull request. To turn it on: merge-train ratchet on OWNER/REPO#N"
                    .to_owned()
            }
        }
    }
}

async fn log(
    daemon: &DaemonClient,
    PullRequestArgument { repo, pull }: &PullRequestArgument,
    limit: usize,
    as_json: bool,
) -> anyhow::Result<()> {
    let path = format!("/api/v1/workspaces/{repo}/{pull}/transitions");
    let PartialList { items, rest } = daemon.partial_list::<Value>((&path, "transitions"), &[], Some(limit)).await?;
    if as_json {
        return print_json(&json!({ "transitions": items, "has_more": rest == ListRemainder::More }));
    }
    if items.is_empty() {
        println!("The ratchet has decided nothing about {repo}#{pull}.");
        return Ok(());
    }
    if rest == ListRemainder::More {
        println!("There are older decisions: use --limit N to show more.");
    }
    let read: Vec<TransitionRow> = items.iter().rev().map(TransitionRow::read).collect::<Result<_, _>>()?;
    print!("{}", table::timeline(&read, Ink::of(&io::stdout())));
    Ok(())
}

fn print_json(value: &Value) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
