//! `merge-train state`: the state as files, to look at, and to check.

mod inspect;
mod verify;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use merge_train_core::ids::StreamId;
use merge_train_core::repo::{Event, SyncReason, mirror};
use serde_json::{Value, json};
use store::{NewEvent, Owner, Store, layout};

use crate::config::{Config, Environment, Storage};
use crate::daemon::storage;
use crate::terminal::patiently;
use crate::{clock, telemetry};

#[derive(clap::Args)]
pub struct Args {
    /// The configuration (default: merge-train.toml in the working directory, if it exists).
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Write the state as files: generation, snapshot.N.json and events.N.log for each repository.
    ///
    /// The daemon may keep running; the export may or may not contain what it appends in the meantime.
    Export {
        /// Must be empty or not exist yet.
        dir: PathBuf,
    },
    /// Import files written by `export` into the database: all of them, or nothing if anything is wrong.
    Import { dir: PathBuf },
    /// Print the state in readable form.
    Inspect(inspect::Args),
    /// Replay all stored events and compare the result with the state that the daemon starts from.
    Verify,
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    telemetry::init_plain();
    let environment = Environment::of_process();
    let config = || Config::load(args.config.as_deref(), &environment).context("the configuration");
    match args.command {
        Command::Export { dir } => {
            let store = open_to_read(&config()?).await?;
            let work = Box::pin(layout::export(store.as_ref(), &dir));
            let summary = patiently(|| format!("exporting to {}", dir.display()), work).await?;
            match args.json {
                true => println!("{}", counts(&summary, &dir)),
                false => println!("exported {} to {}", tell(&summary), dir.display()),
            }
        }
        Command::Import { dir } => {
            let config = config()?;
            let store = storage::open(&config, &config.storage()?, &this_command()).await?;
            let work = Box::pin(layout::import(store.as_ref(), &dir, look_again));
            let imported = patiently(|| format!("importing from {}", dir.display()), work).await;
            store.close().await;
            let summary = imported.context("nothing was imported")?;
            for warning in &summary.warnings {
                eprintln!("warning: {warning}");
            }
            match args.json {
                true => println!("{}", counts(&summary, &dir)),
                false => println!("imported {} from {}", tell(&summary), dir.display()),
            }
        }
        Command::Inspect(what) => inspect::run(what, args.json, async || open_to_read(&config()?).await).await?,
        Command::Verify => verify::run(open_to_read(&config()?).await?.as_ref(), args.json).await?,
    }
    Ok(())
}

/// However fresh an export is, GitHub may have gone on since: the trains wait until all is read again.
fn look_again(stream: &StreamId) -> Option<NewEvent> {
    let StreamId::Repo(_) = stream else { return None };
    let event = Event::Mirror(mirror::Event::SyncRequested { reason: SyncReason::Behind });
    Some(NewEvent { ts: clock::now(), data: serde_json::to_string(&event).expect("an event is JSON") })
}

async fn open_to_read(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    let storage = match &config.state.database_url {
        Some(url) => Storage::Postgres(url.clone()),
        // Nothing is made here: a directory that is not there is an error worth telling.
        None => Storage::Directory(config.state.state_dir.clone()),
    };
    storage::open_to_read(&storage, &this_command()).await
}

fn this_command() -> Owner {
    Owner(format!("merge-train state, process {}", std::process::id()))
}

fn counts(summary: &layout::Summary, dir: &Path) -> Value {
    json!({
        "dir": dir, "streams": summary.streams, "events": summary.events, "waiting": summary.entries,
        "warnings": summary.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn tell(summary: &layout::Summary) -> String {
    let count = |number: usize, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    format!(
        "{}, {} and {}",
        count(summary.streams, "stream", "streams"),
        count(summary.events, "event", "events"),
        count(summary.entries, "waiting request", "waiting requests"),
    )
}
