//! Storms: all that can happen to trains at once, in an order that a seed decides, one step at a time.
//!
//! Everything is real: the session, the store on disk, the client, git, and a GitHub that is spoken to over HTTP. Only time
//! is not: it moves when the storm moves it, for the daemon, for GitHub and for the commits. A seed therefore gives the
//! same steps and the same events each time. What holds at every moment is in `history.rs`, what holds at the end in
//! `aftermath.rs`.
//!
//! `MERGE_TRAIN_TEST_SEED=7` tries that seed alone and tells each step; `MERGE_TRAIN_STORMS=1000` or `…=200..400` others
//! than the usual ones.

mod aftermath;
mod daemon;
mod deeds;
mod forecast;
mod gate;
mod history;
mod hub;
mod run;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use git::Git;
use parking_lot::Mutex;

use run::{Seen, Storm, Trace};

/// How many seeds every run of the tests tries.
const SEEDS: u64 = 60;
/// So many see everything that can happen.
const SEEDS_THAT_SEE_ALL: usize = 200;

/// All that can happen, and does in so many storms.
#[rustfmt::skip]
const KINDS: [&str; 30] = [
    "Arrives", "ArrivesTwice", "IsLost", "AllMail", "Inbox", "Begin", "Answer", "Fail", "Tick", "Wait", "Weather", "ClearSky", "Compact",
    "Kill", "KillDuring", "LoseEverything", "Push", "PushMain", "Fight", "Start", "Stop", "Close", "Reopen", "Retarget",
    "Undeclare", "Declare", "Dismiss", "Approve", "Join", "Ci",
];

/// What came of one seed.
struct Row {
    seed: u64,
    what: String,
    took: Duration,
    seen: Result<Seen, String>,
    trace: Vec<String>,
}

#[test]
fn whatever_happens_in_whatever_order_each_pull_request_lands_once_and_every_train_ends() {
    let seeds = seeds();
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(seeds.len()) {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let row = one(*seed);
                    println!("{}", row.line());
                    rows.lock().push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner();
    rows.sort_by_key(|row| row.seed);
    if let [row] = rows.as_slice() {
        println!("{}", row.trace.join("\n"));
    }
    let failed: Vec<String> = rows.iter().filter_map(Row::failure).collect();
    assert!(failed.is_empty(), "{} of {} seeds:\n{}", failed.len(), rows.len(), failed.join("\n\n"));
    let kinds = kinds(&rows);
    println!("what happened how often: {kinds:?}");
    if rows.len() >= SEEDS_THAT_SEE_ALL {
        let never: Vec<&str> = KINDS.into_iter().filter(|kind| !kinds.contains_key(*kind)).collect();
        assert!(never.is_empty(), "these never happened: {never:?}");
    }
}

fn kinds(rows: &[Row]) -> BTreeMap<&str, usize> {
    let mut all = BTreeMap::new();
    for (kind, times) in rows.iter().filter_map(|row| row.seen.as_ref().ok()).flat_map(|seen| &seen.kinds) {
        *all.entry(kind.as_str()).or_default() += times;
    }
    all
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 4, 5] {
        let (first, second) = (one(seed), one(seed));
        assert_eq!(first.trace, second.trace, "the steps of seed {seed}");
        let events = |row: Row| row.seen.map(|seen| seen.events);
        assert_eq!(events(first), events(second), "the events of seed {seed}");
    }
}

/// One storm, alone in its thread.
fn one(seed: u64) -> Row {
    let (begun, trace) = (Instant::now(), Trace::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let storm = async {
        let git = Git::find(program()).await.expect("git is there");
        Storm::brew(seed, git, trace.clone()).await.pass().await
    };
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(storm)));
    let seen = outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("it panicked").to_owned()
    });
    let trace = std::mem::take(&mut *trace.lock());
    Row { seed, what: trace.first().cloned().unwrap_or_default(), took: begun.elapsed(), seen, trace }
}

/// Where git is: a program that has yet to be looked for is started at the cost of copying this process.
fn program() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|program| program.is_file());
    found.expect("git is there")
}

impl Row {
    fn line(&self) -> String {
        let outcome = match &self.seen {
            Ok(Seen { squashes, lives, steps, starts, left, .. }) => {
                format!("{squashes} landed in {steps} steps and {lives} lives, {starts} more starts {left:?}")
            }
            Err(why) => format!("FAILED: {}", why.lines().next().unwrap_or_default()),
        };
        format!("seed {:>4} {:>6.1?} {}: {outcome}", self.seed, self.took, self.what)
    }

    fn failure(&self) -> Option<String> {
        let why = self.seen.as_ref().err()?;
        let (seed, trace) = (self.seed, self.trace.join("\n"));
        Some(format!("MERGE_TRAIN_TEST_SEED={seed} tries this one alone. Its steps:\n{trace}\nseed {seed}: {why}"))
    }
}

/// Those that the environment names, or the usual ones.
fn seeds() -> Vec<u64> {
    let number = |text: &str| text.trim().parse::<u64>().expect("a seed is a number");
    if let Ok(named) = std::env::var("MERGE_TRAIN_TEST_SEED") {
        return named.split(',').map(number).collect();
    }
    match std::env::var("MERGE_TRAIN_STORMS").as_deref().map(|range| range.split_once("..")) {
        Ok(Some((first, end))) => (number(first)..number(end)).collect(),
        Ok(None) => (1..=number(&std::env::var("MERGE_TRAIN_STORMS").expect("just read"))).collect(),
        Err(_) => (1..=SEEDS).collect(),
    }
}
