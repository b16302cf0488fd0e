//! The database that the configuration names.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use store::Owner;

use super::{Finding, disk};
use crate::config::{Config, Storage};
use crate::daemon::storage;

const CHECK: &str = "database";
/// What the daemon locks in its state directory, and writes its name into.
const LOCK: &str = "lock";

pub async fn opens(config: &Config) -> Finding {
    match &config.state.database_url {
        Some(url) => match look(&Storage::Postgres(url.clone())).await {
            Ok(found) => Finding::ok(CHECK, format!("PostgreSQL, {found}")),
            Err(error) => {
                let fix = "check state.database_url, that the server runs and that it accepts connections from this \
                     machine";
                Finding::failed(CHECK, format!("{error:#}"), newer(&error).unwrap_or(fix))
            }
        },
        None => embedded(&config.state.state_dir).await,
    }
}

async fn embedded(directory: &Path) -> Finding {
    let shown = directory.display();
    let place = "set state.state_dir or MERGE_TRAIN_STATE_DIR to a writable directory on a persistent disk with free \
                 space";
    let room = match disk::writable(directory) {
        Ok(room) => room,
        Err(error) => return Finding::failed(CHECK, format!("{shown} cannot be written: {error}"), place),
    };
    match look(&Storage::Directory(directory.to_owned())).await {
        Ok(found) => {
            let used = holder(directory).map(|holder| format!(", in use by a running daemon: {holder}"));
            room.judge(CHECK, &format!("SQLite in {shown}, {found}{}", used.unwrap_or_default()), place)
        }
        Err(error) if is_absent(&error) => {
            room.judge(CHECK, &format!("none in {shown} yet; `merge-train serve` creates it"), place)
        }
        Err(error) if is_older(&error) => {
            room.judge(CHECK, &format!("from an older merge-train in {shown}; `merge-train serve` upgrades it"), place)
        }
        Err(error) => {
            let fix = "make the user who runs merge-train the owner of the directory; if the database is damaged, \
                       import the last `merge-train state export` into a new one";
            Finding::failed(CHECK, format!("{error:#}"), newer(&error).unwrap_or(fix))
        }
    }
}

fn is_older(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(store::Error::OlderSchema { .. }))
}

/// What to do about a database that this program is too old for.
fn newer(error: &anyhow::Error) -> Option<&'static str> {
    matches!(error.downcast_ref(), Some(store::Error::NewerSchema { .. })).then_some(
        "install the merge-train version that last used it, or a later one; docs/recovery.md explains how to go back \
         to an export",
    )
}

/// Opens it as `merge-train state inspect` does, which is no hindrance to a daemon.
async fn look(storage: &Storage) -> anyhow::Result<String> {
    let owner = Owner(format!("merge-train doctor, process {}", std::process::id()));
    let store = storage::open_to_read(storage, &owner).await?;
    let examined = store.examine().await;
    let streams = store.streams(None).await;
    store.close().await;
    examined?;
    let count = streams?.len();
    Ok(format!("{count} {}", if count == 1 { "stream" } else { "streams" }))
}

fn is_absent(error: &anyhow::Error) -> bool {
    let file = error.downcast_ref::<store::Error>();
    matches!(file, Some(store::Error::File { source, .. }) if source.kind() == std::io::ErrorKind::NotFound)
}

/// Which daemon holds the directory, if one does. The lock is tried shared, and let go of at once.
pub fn holder(directory: &Path) -> Option<String> {
    let path = directory.join(LOCK);
    let file = File::open(&path).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Some(std::fs::read_to_string(&path).unwrap_or_default().trim().to_owned()),
        _ => None,
    }
}
