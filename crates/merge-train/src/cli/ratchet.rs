//! `merge-train ratchet`: pull requests that are kept moving, and the switch for that.

pub mod table;

use std::io;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use merge_train_core::ids::{PrNumber, RepoId};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::plan::target::Target;
use crate::cli::remote::{Access, Beginning, Daemon, Error, Progress, Rest};
use crate::cli::status::target::Scope;
use crate::terminal::Ink;
use crate::{clock, telemetry};
use table::{Default, Transition, Workspace};

/// The exit code where something was named that the daemon does not know.
const NOT_KNOWN: u8 = 3;

const WORKSPACES: (&str, &str) = ("/api/v1/workspaces", "workspaces");

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
    /// Turn the ratchet on: for a pull request, or for all in a repository without a setting of their own.
    ///
    /// For a pull request, this resets its fix attempts.
    On(Turn),
    /// Turn the ratchet off: for a pull request, or for all in a repository without a setting of their own.
    ///
    /// A running fixer may finish; no other starts.
    Off(Turn),
    /// Show the ratchet's state for one pull request, one repository, or all.
    Status {
        /// A pull request or a repository (default: everything the key may see).
        #[arg(value_name = "OWNER/REPO[#N]")]
        scope: Option<Scope>,
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
        target: Target,
        /// How many decisions to show at most.
        #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
}

#[derive(clap::Args)]
struct Turn {
    #[arg(value_name = "OWNER/REPO[#N]")]
    scope: Scope,
    /// Why; it is recorded in the log.
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    note: Option<String>,
}

/// Which way the switch is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Switch {
    On,
    Off,
}

/// What came of turning it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Turned {
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
        Command::On(turn) => switch(&daemon, turn, Switch::On, args.json).await,
        Command::Off(turn) => switch(&daemon, turn, Switch::Off, args.json).await,
        Command::Status { scope: Some(Scope { repo, pull: Some(pull) }), .. } => {
            one(&daemon, repo, *pull, args.json).await
        }
        Command::Status { scope, attention, all } => {
            let repo = scope.as_ref().map(|scope| &scope.repo);
            let subset = if *attention { Subset::NeedsSomebody } else { Subset::All };
            let which = Which { repo, subset, with_archived: *all };
            overview(&daemon, which, args.json).await
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
    daemon: &Daemon,
    Turn { scope: Scope { repo, pull }, note }: &Turn,
    to: Switch,
    as_json: bool,
) -> anyhow::Result<()> {
    let id = format!("cli-{:032x}", fastrand::u128(..));
    let (path, name) = match pull {
        Some(pull) => (format!("/api/v1/workspaces/{repo}/{pull}/ratchet"), "workspace"),
        None => (format!("/api/v1/repos/{repo}/ratchet"), "ratchet"),
    };
    let mut wanted = json!({ "enabled": to == Switch::On });
    if let Some(note) = note {
        wanted["note"] = json!(note);
    }
    let taken = daemon.put::<Value>(&path, &id, &wanted).await?;
    let turned = match (taken.progress, to) {
        (Progress::UnderWay, _) => Turned::Pending,
        (Progress::Done, Switch::On) => Turned::On,
        (Progress::Done, Switch::Off) => Turned::Off,
    };
    if as_json {
        return print_json(&json!({ "result": turned, name: taken.body }));
    }
    let what = pull.map_or_else(
        || format!("all pull requests of {repo} without a setting of their own"),
        |pull| format!("{repo}#{pull}"),
    );
    let follow = pull.map_or_else(|| repo.to_string(), |pull| format!("'{repo}#{pull}'"));
    match turned {
        Turned::On => println!("The ratchet is on for {what}.\nTo follow it: merge-train ratchet status {follow}"),
        Turned::Off => println!("The ratchet is off for {what}."),
        Turned::Pending => {
            println!("Accepted; it takes a while.\nTo follow it: merge-train ratchet status {follow}");
        }
    }
    Ok(())
}

async fn one(daemon: &Daemon, repo: &RepoId, pull: PrNumber, as_json: bool) -> anyhow::Result<()> {
    let shown: Value = daemon.get(&format!("/api/v1/workspaces/{repo}/{pull}")).await?;
    if as_json {
        return print_json(&shown);
    }
    print!("{}", table::detail(&Workspace::read(&shown)?, Ink::of(&io::stdout()), clock::now()));
    Ok(())
}

/// Which workspaces are listed.
#[derive(Clone, Copy)]
pub struct Which<'a> {
    pub repo: Option<&'a RepoId>,
    pub subset: Subset,
    pub with_archived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subset {
    All,
    NeedsSomebody,
    /// By a fixer, or by a person.
    WorkedOn,
}

impl Which<'_> {
    pub async fn ask(self, daemon: &Daemon) -> Result<Vec<Value>, Error> {
        let mut query: Vec<(&str, String)> = self.repo.iter().map(|repo| ("repo", repo.to_string())).collect();
        match self.subset {
            Subset::All => {}
            Subset::NeedsSomebody => query.push(("attention", "true".to_owned())),
            Subset::WorkedOn => query.push(("column", "WORKING".to_owned())),
        }
        let Beginning { mut items, .. } = daemon.beginning::<Value>(WORKSPACES, &query, None).await?;
        items.retain(|it| self.with_archived || it["archivedAt"].is_null());
        Ok(items)
    }
}

async fn overview(daemon: &Daemon, which: Which<'_>, as_json: bool) -> anyhow::Result<()> {
    let default: Option<Value> = match which.repo {
        Some(repo) => Some(daemon.get(&format!("/api/v1/repos/{repo}/ratchet")).await?),
        None => None,
    };
    let items = which.ask(daemon).await?;
    if as_json {
        let mut all = json!({ "workspaces": items });
        if let Some(default) = default {
            all["ratchet"] = default;
        }
        return print_json(&all);
    }
    if let Some(default) = &default {
        print!("{}", Default::read(default)?.sentence());
    }
    let workspaces: Vec<Workspace> = items.iter().map(Workspace::read).collect::<Result<_, _>>()?;
    if workspaces.is_empty() {
        println!("{}", which.nothing());
    } else {
        print!("{}", table::overview(&workspaces, Ink::of(&io::stdout()), clock::now()));
    }
    Ok(())
}

impl Which<'_> {
    fn nothing(self) -> String {
        match (self.repo, self.subset) {
            (_, Subset::NeedsSomebody) => "No pull request needs a person.".to_owned(),
            (Some(repo), _) => format!("The ratchet is not on for any pull request of {repo}."),
            (None, _) => {
                "The ratchet is not on for any pull request. To turn it on: merge-train ratchet on OWNER/REPO#N"
                    .to_owned()
            }
        }
    }
}

async fn log(daemon: &Daemon, Target { repo, pull }: &Target, limit: usize, as_json: bool) -> anyhow::Result<()> {
    let path = format!("/api/v1/workspaces/{repo}/{pull}/transitions");
    let Beginning { items, rest } = daemon.beginning::<Value>((&path, "transitions"), &[], Some(limit)).await?;
    if as_json {
        return print_json(&json!({ "transitions": items, "has_more": rest == Rest::More }));
    }
    if items.is_empty() {
        println!("The ratchet has decided nothing about {repo}#{pull}.");
        return Ok(());
    }
    if rest == Rest::More {
        println!("There are older decisions: use --limit N to show more.");
    }
    let read: Vec<Transition> = items.iter().rev().map(Transition::read).collect::<Result<_, _>>()?;
    print!("{}", table::timeline(&read, Ink::of(&io::stdout())));
    Ok(())
}

fn print_json(value: &Value) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}
