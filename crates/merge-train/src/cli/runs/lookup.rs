//! Which run is meant.

use std::io;

use merge_train_core::ids::RunId;
use merge_train_core::workflow::Run;
use serde_json::Value;

use super::table;
use crate::cli::remote::DaemonClient;
use crate::clock;
use crate::terminal::Ink;

/// Among how many runs the beginning of an id is looked for: one page of the list.
const NEWEST: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no run {meant}, and none of the newest {NEWEST} has an id that begins with it")]
    Nothing { meant: RunId },
    #[error("{} of the newest runs have an id that begins with {meant}; give more of it:\n{}", .candidates.len(), listed(.candidates))]
    Ambiguous { meant: RunId, candidates: Vec<Run> },
}

/// The run whose id it is, or else the only one of the newest whose id begins so.
pub async fn find(daemon: &DaemonClient, meant: &RunId) -> anyhow::Result<Value> {
    match daemon.get(&format!("/api/v1/runs/{meant}")).await {
        Err(error) if error.is_no_such_run() => {}
        found => return Ok(found?),
    }
    let newest = daemon.partial_list::<Value>(("/api/v1/runs", "runs"), &[], Some(NEWEST)).await?;
    let begins_so = |run: &Value| run["id"].as_str().is_some_and(|id| id.starts_with(meant.as_str()));
    let mut found: Vec<Value> = newest.items.into_iter().filter(begins_so).collect();
    match found.len() {
        0 => Err(Error::Nothing { meant: meant.clone() }.into()),
        1 => Ok(found.swap_remove(0)),
        _ => {
            let candidates = found.iter().map(super::read).collect::<Result<_, _>>()?;
            Err(Error::Ambiguous { meant: meant.clone(), candidates }.into())
        }
    }
}

/// Errors go where errors go.
fn listed(candidates: &[Run]) -> String {
    table::overview(candidates, Ink::of(&io::stderr()), clock::now()).trim_end().to_owned()
}
