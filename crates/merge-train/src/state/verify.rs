//! `merge-train state verify`: is the state what the events say?

use anyhow::bail;
use merge_train_core::ids::StreamId;
use merge_train_core::repo::{Position, RepoState, Snapshot};
use serde_json::{Value, json};
use store::{Since, Store};

use crate::{clock, driver};

/// A daemon may append between two looks; then they are repeated.
const LOOKS: usize = 10;

struct Verified {
    stream: StreamId,
    replayed: usize,
    generation: u64,
    /// Where the two ways differ.
    differences: Vec<String>,
}

pub async fn run(store: &dyn Store, as_json: bool) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for info in store.streams(None).await? {
        // A run's stream has no state yet that could differ.
        if matches!(info.stream, StreamId::Repo(_)) {
            all.push(one(store, &info.stream).await?);
        }
    }
    if as_json {
        let shown = |verified: &Verified| {
            json!({ "stream": verified.stream, "events_replayed": verified.replayed, "generation": verified.generation,
                    "ok": verified.differences.is_empty(), "differences": verified.differences })
        };
        println!("{}", Value::from(all.iter().map(shown).collect::<Vec<_>>()));
    } else {
        all.iter().for_each(print);
    }
    let wrong = all.iter().filter(|verified| !verified.differences.is_empty()).count();
    match wrong {
        0 => Ok(()),
        _ => bail!("{wrong} of {} streams are not what their events say", all.len()),
    }
}

fn print(verified: &Verified) {
    let Verified { stream, replayed, generation, differences } = verified;
    let verdict = if differences.is_empty() { "ok" } else { "WRONG" };
    println!("{verdict:5} {stream}: {replayed} events replayed, generation {generation}");
    differences.iter().for_each(|difference| println!("      {difference}"));
}

async fn one(store: &dyn Store, stream: &StreamId) -> anyhow::Result<Verified> {
    for _ in 0..LOOKS {
        let long = store.load(stream, Since::Oldest).await?;
        let short = store.load(stream, Since::Newest).await?;
        if long.next_seq != short.next_seq {
            continue;
        }
        let (replayed, generation) = (long.events.len(), short.generation);
        let (long, short) = (driver::replay(stream, long)?, driver::replay(stream, short)?);
        return Ok(Verified { stream: stream.clone(), replayed, generation, differences: compare(&long, &short) });
    }
    bail!("{stream} changes too fast to be looked at; stop the daemon, or try again")
}

fn compare(replayed: &RepoState, live: &RepoState) -> Vec<String> {
    if replayed == live {
        return Vec::new();
    }
    let at = Position { generation: 0, next_seq: 0, taken_at: clock::now() };
    let json = |state| serde_json::to_value(Snapshot::of(state, at)).expect("a snapshot is JSON");
    let mut differences = Vec::new();
    differ("", &json(replayed), &json(live), &mut differences);
    if differences.is_empty() {
        differences.push("what is derived from the pull requests differs".to_owned());
    }
    differences
}

fn differ(path: &str, replayed: &Value, live: &Value, differences: &mut Vec<String>) {
    match (replayed, live) {
        (Value::Object(left), Value::Object(right)) => {
            let names: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for name in names {
                let value = |side: &serde_json::Map<String, Value>| side.get(name).cloned().unwrap_or_default();
                differ(&format!("{path}/{name}"), &value(left), &value(right), differences);
            }
        }
        (left, right) if left != right => {
            differences.push(format!("{path}: the events say {left}, the state says {right}"));
        }
        _ => {}
    }
}
