//! `merge-train state verify`: is the database whole, and is the state what the events say?

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;
use merge_train_core::ids::StreamId;
use merge_train_core::repo::{Position, RepoState, Snapshot};
use merge_train_core::workflow::{Run, RunState};
use serde_json::{Value, json};
use store::{Since, Store, StreamInfo, TakeLimit};

use crate::clock;
use crate::daemon::driver;
use crate::terminal::patiently;

/// What is held in memory at a time of what came in.
const PAGE: TakeLimit = TakeLimit { entries: 500, bytes: 32 << 20 };

struct VerifiedStream {
    stream: StreamId,
    replayed: usize,
    generation: u64,
    /// Where the two ways differ, or what cannot be read.
    differences: Vec<String>,
}

pub async fn run(store: &dyn Store, as_json: bool) -> anyhow::Result<()> {
    patiently(|| "scanning the database".to_owned(), store.examine()).await?;
    let streams = store.streams(None).await?;
    let (count, done) = (streams.len(), AtomicUsize::new(0));
    let told = || format!("replaying events: {} of {count} streams", done.load(Ordering::Relaxed));
    let all = patiently(told, Box::pin(replayed(store, streams, &done))).await?;
    if as_json {
        let shown = |verified: &VerifiedStream| {
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
        _ => bail!("{wrong} of {} streams do not match their events", all.len()),
    }
}

/// One after the other; `done` counts them.
async fn replayed(
    store: &dyn Store,
    streams: Vec<StreamInfo>,
    done: &AtomicUsize,
) -> anyhow::Result<Vec<VerifiedStream>> {
    let mut all = Vec::with_capacity(streams.len());
    for info in streams {
        all.push(match one(store, &info.stream).await {
            Ok(verified) => verified,
            Err(error) if is_outage(&error) => return Err(error),
            // One that cannot be read says nothing of the others.
            Err(error) => VerifiedStream {
                stream: info.stream,
                replayed: 0,
                generation: info.generation,
                differences: vec![error.to_string()],
            },
        });
        done.fetch_add(1, Ordering::Relaxed);
    }
    Ok(all)
}

fn print(verified: &VerifiedStream) {
    let VerifiedStream { stream, replayed, generation, differences } = verified;
    let verdict = if differences.is_empty() { "ok" } else { "WRONG" };
    println!("{verdict:5} {stream}: {replayed} events replayed, generation {generation}");
    differences.iter().for_each(|difference| println!("      {difference}"));
}

fn is_outage(error: &anyhow::Error) -> bool {
    error.downcast_ref::<store::Error>().is_some_and(store::Error::is_outage)
}

async fn one(store: &dyn Store, stream: &StreamId) -> anyhow::Result<VerifiedStream> {
    // A daemon may be at work meanwhile.
    let mut view = store.view().await?;
    let long = view.load(stream, Since::Oldest).await?;
    let short = view.load(stream, Since::Newest).await?;
    // Read for its checksums alone.
    let mut after = None;
    while let Some(last) = view.unsettled(stream, after, PAGE).await?.last() {
        after = Some(last.id);
    }
    let (replayed, generation) = (long.events.len(), short.generation);
    let differences = match stream {
        StreamId::Repo(_) => compare(&driver::replay(stream, long)?, &driver::replay(stream, short)?),
        StreamId::Run(id) => {
            let shown = view.run(id).await?;
            driver::replay_run(stream, &long)?.zip(shown).map_or_else(Vec::new, |(state, shown)| seen(&state, &shown))
        }
    };
    Ok(VerifiedStream { stream: stream.clone(), replayed, generation, differences })
}

/// What is shown of a run, beside what its events say. That it gave a sign of life is no event.
fn seen(state: &RunState, shown: &Run) -> Vec<String> {
    let json = |run: &Run| serde_json::to_value(run).expect("a run is JSON");
    let told = Run { last_heartbeat_at: shown.last_heartbeat_at, ..state.document() };
    let mut differences = Vec::new();
    differ("", &json(&told), &json(shown), &mut differences);
    differences
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
