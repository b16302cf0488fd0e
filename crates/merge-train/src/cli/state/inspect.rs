//! `merge-train state inspect`: the state, for a person.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use merge_train_core::ids::{RepoId, StreamId};
use merge_train_core::repo::{PrState, RecordedEvent, RepoState};
use serde_json::json;
use store::{Loaded, Since, Store, StoredEvent, layout};

use crate::daemon::driver;

/// How many events of one repository are shown.
const EVENTS: usize = 20;

#[derive(clap::Args)]
pub struct Args {
    /// An export to inspect (default: the configured database).
    dir: Option<PathBuf>,
    /// One repository, in detail.
    #[arg(long, value_name = "OWNER/NAME")]
    repo: Option<RepoId>,
}

/// A stream, wherever it came from.
struct InspectedStream {
    stream: StreamId,
    generation: u64,
    next_seq: u64,
    snapshot_at: Option<Timestamp>,
    waiting: u64,
    owner: Option<String>,
    state: Option<RepoState>,
    recent: Vec<StoredEvent>,
}

pub async fn run(
    args: Args,
    as_json: bool,
    open: impl AsyncFnOnce() -> anyhow::Result<Arc<dyn Store>>,
) -> anyhow::Result<()> {
    let mut inspected = match &args.dir {
        Some(dir) => {
            let parsed = layout::read(dir)?;
            parsed.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            parsed.streams.into_iter().map(of_export).collect::<anyhow::Result<Vec<_>>>()?
        }
        None => of_store(open().await?.as_ref()).await?,
    };
    if let Some(repo) = &args.repo {
        inspected.retain(|inspected| inspected.stream == StreamId::Repo(repo.clone()));
        anyhow::ensure!(!inspected.is_empty(), "{repo} is unknown");
    }
    if as_json {
        println!("{}", serde_json::to_string_pretty(&inspected.iter().map(to_json).collect::<Vec<_>>())?);
    } else if inspected.is_empty() {
        println!("No repositories are known yet.");
    } else {
        let tell = if args.repo.is_some() { detail } else { line };
        inspected.iter().for_each(|inspected| print!("{}", tell(inspected)));
    }
    Ok(())
}

async fn of_store(store: &dyn Store) -> anyhow::Result<Vec<InspectedStream>> {
    let mut all = Vec::new();
    for info in store.streams(None).await? {
        let loaded = store.load(&info.stream, Since::Newest).await?;
        let recent = store.history(&info.stream, None, EVENTS).await?;
        let snapshot_at = loaded.snapshot.as_ref().map(|snapshot| snapshot.taken_at);
        all.push(InspectedStream {
            generation: info.generation,
            next_seq: loaded.next_seq,
            snapshot_at,
            waiting: info.unsettled,
            owner: info.owner,
            state: state(&info.stream, loaded)?,
            stream: info.stream,
            recent,
        });
    }
    Ok(all)
}

fn of_export(exported: store::ImportedStream) -> anyhow::Result<InspectedStream> {
    let first = exported.snapshot.as_ref().map_or(1, |snapshot| snapshot.next_seq);
    let numbered = exported.events.into_iter().zip(first..);
    let events: Vec<_> = numbered.map(|(event, seq)| StoredEvent { seq, ts: event.ts, data: event.data }).collect();
    let next_seq = first + events.len() as u64;
    let recent = events[events.len().saturating_sub(EVENTS)..].to_vec();
    let snapshot_at = exported.snapshot.as_ref().map(|snapshot| snapshot.taken_at);
    let loaded = Loaded { generation: exported.generation, snapshot: exported.snapshot, events, next_seq };
    Ok(InspectedStream {
        generation: exported.generation,
        next_seq,
        snapshot_at,
        waiting: exported.entries.len() as u64,
        owner: None,
        state: state(&exported.stream, loaded)?,
        stream: exported.stream,
        recent,
    })
}

fn state(stream: &StreamId, loaded: Loaded) -> anyhow::Result<Option<RepoState>> {
    match stream {
        StreamId::Repo(_) => Ok(Some(driver::replay(stream, loaded)?)),
        StreamId::Run(_) => Ok(None),
    }
}

fn line(inspected: &InspectedStream) -> String {
    let mut text = format!("{}\n", inspected.stream);
    if let Some(state) = &inspected.state {
        let count = |wanted: fn(&PrState) -> bool| state.prs().values().filter(|pr| wanted(&pr.state)).count();
        let open = count(|state| *state == PrState::Open);
        let merged = count(|state| matches!(state, PrState::Merged { .. }));
        let closed = count(|state| matches!(state, PrState::Closed { .. }));
        let branch = state.default_branch().map_or("not known yet", |branch| branch.as_str());
        let _ = writeln!(text, "  {}, default branch {branch}", format!("{:?}", state.lifecycle()).to_lowercase());
        if let Some(error) = state.progress().error {
            let _ = writeln!(text, "  the last full sync failed: {error}");
        }
        let _ = writeln!(text, "  pull requests: {open} open, {merged} merged, {closed} closed");
        for train in state.active_trains().values() {
            let (root, current) = (train.original_root_pr, train.current_pr);
            let _ = writeln!(text, "  train #{root}: {:?}, at #{current}, {:?}", train.state, train.cascade_phase);
            if let Some(why) = state.why(root) {
                let _ = writeln!(text, "    since {}: {} {}", why.since, why.blocker, why.who);
            }
        }
    }
    let snapshot = inspected.snapshot_at.map_or("no snapshot yet".to_owned(), |at| format!("snapshot of {at}"));
    let _ = writeln!(text, "  {} events, generation {}, {snapshot}", inspected.next_seq - 1, inspected.generation);
    if inspected.waiting > 0 {
        let _ = writeln!(text, "  {} in the inbox, not handled yet", inspected.waiting);
    }
    if let Some(owner) = &inspected.owner {
        let _ = writeln!(text, "  owned by {owner}");
    }
    text
}

fn detail(inspected: &InspectedStream) -> String {
    let mut text = line(inspected);
    for (number, pr) in inspected.state.iter().flat_map(RepoState::prs) {
        let state = match &pr.state {
            PrState::Open => format!("open, {:?}", pr.merge_state).to_lowercase(),
            PrState::Merged { merge_commit_sha: Some(sha), .. } => format!("merged as {sha}"),
            PrState::Merged { merge_commit_sha: None, .. } => "merged".to_owned(),
            PrState::Closed { .. } => "closed".to_owned(),
        };
        let head = pr.head_ref.as_ref().map_or("?", |head| head.as_str());
        let _ = write!(text, "  #{number} {head} -> {}: {state}", pr.base_ref);
        let _ = pr.predecessor.map(|predecessor| write!(text, ", on #{predecessor}"));
        text.push('\n');
    }
    text.push_str("  last events:\n");
    for event in &inspected.recent {
        let _ = writeln!(text, "  {:>7} {} {}", event.seq, event.ts, event.data);
    }
    text
}

/// What each train waits for that waits.
fn why(state: &RepoState) -> serde_json::Map<String, serde_json::Value> {
    let roots = state.active_trains().keys();
    roots.filter_map(|root| state.why(*root).map(|why| (root.to_string(), json!(why)))).collect()
}

fn to_json(inspected: &InspectedStream) -> serde_json::Value {
    let recent: Vec<RecordedEvent> = inspected.recent.iter().filter_map(|event| driver::recorded(event).ok()).collect();
    let prs: serde_json::Map<_, _> = inspected
        .state
        .iter()
        .flat_map(RepoState::prs)
        .map(|(number, pr)| {
            let state = match pr.state {
                PrState::Open => "open",
                PrState::Merged { .. } => "merged",
                PrState::Closed { .. } => "closed",
            };
            let shown = json!({ "state": state, "head_sha": pr.head_sha, "base_ref": pr.base_ref, "predecessor": pr.predecessor });
            (number.to_string(), shown)
        })
        .collect();
    json!({
        "stream": inspected.stream,
        "generation": inspected.generation,
        "next_seq": inspected.next_seq,
        "snapshot_at": inspected.snapshot_at,
        "waiting": inspected.waiting,
        "owner": inspected.owner,
        "default_branch": inspected.state.as_ref().and_then(RepoState::default_branch),
        "lifecycle": inspected.state.as_ref().map(RepoState::lifecycle),
        "sync": inspected.state.as_ref().map(RepoState::progress),
        "active_trains": inspected.state.as_ref().map(RepoState::active_trains),
        "why": inspected.state.as_ref().map(why),
        "prs": prs,
        "recent_events": recent,
    })
}
