//! Durable acknowledgements per second: many writes to a commit, against a commit for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use merge_train_core::ids::{DeliveryId, RepoId, StreamId};
use merge_train_core::inbox::{InboxPolicy, Key, RequestHash, Source};
use store::{Admission, Arrival, Owner, Priority, Route, Sqlite, Store, sqlite};

const CALLERS: u64 = 512;
const BODY_BYTES: usize = 8 * 1024;
const LENGTH: Duration = Duration::from_secs(3);
const GROUP: usize = 512;

/// How fast callers come again.
#[derive(Clone, Copy)]
enum Pace {
    /// As soon as they were answered.
    AtOnce,
    /// All of them together so often in a second.
    PerSecond(u64),
}

struct Measured {
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("the machine can run threads");
    println!("{CALLERS} callers, bodies of {BODY_BYTES} bytes, {LENGTH:?} each");
    let alone = runtime.block_on(measure(1, Pace::AtOnce));
    report("a commit for each", &alone);
    let grouped = runtime.block_on(measure(GROUP, Pace::AtOnce));
    report("up to 512 in a commit", &grouped);
    let paced = runtime.block_on(measure(GROUP, Pace::PerSecond(5000)));
    report("the same, 5000/s asked", &paced);
    println!("ratio: {:.1}", grouped.per_second / alone.per_second);
}

fn report(what: &str, measured: &Measured) {
    let Measured { per_second, p50, p99 } = measured;
    println!("{what:>24}: {per_second:>8.0} acknowledged/s, p50 {p50:>9.1?}, p99 {p99:>9.1?}");
}

async fn measure(group: usize, pace: Pace) -> Measured {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build directory can be written to");
    let owner = Owner("bench".to_owned());
    let options = sqlite::Options {
        dir: dir.path().join("state"),
        group,
        policy: InboxPolicy::default(),
        max_bytes: None,
        owner,
    };
    let store = Arc::new(Sqlite::open(options).await.expect("a fresh directory can be opened"));
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            tokio::spawn(call(Arc::clone(&store), Arc::clone(&next), begun + LENGTH, Rhythm::of(pace, caller)))
        })
        .collect();
    let mut latencies = Vec::new();
    for caller in callers {
        latencies.extend(caller.await.expect("a caller does not panic"));
    }
    let elapsed = begun.elapsed();
    store.close().await;
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    Measured { per_second: latencies.len() as f64 / elapsed.as_secs_f64(), p50: at(0.5), p99: at(0.99) }
}

/// When a caller comes.
struct Rhythm(Option<tokio::time::Interval>);

impl Rhythm {
    fn of(pace: Pace, caller: u64) -> Self {
        let Pace::PerSecond(rate) = pace else { return Self(None) };
        let period = Duration::from_secs(CALLERS) / u32::try_from(rate).expect("a rate that a machine can reach");
        let first = tokio::time::Instant::now() + period * u32::try_from(caller).expect("few callers") / CALLERS as u32;
        Self(Some(tokio::time::interval_at(first, period)))
    }

    async fn next(&mut self) {
        if let Some(interval) = &mut self.0 {
            interval.tick().await;
        }
    }
}

async fn call(store: Arc<Sqlite>, next: Arc<AtomicU64>, until: Instant, mut rhythm: Rhythm) -> Vec<Duration> {
    let mut latencies = Vec::new();
    while Instant::now() < until {
        rhythm.next().await;
        let arrival = arrival(next.fetch_add(1, Ordering::Relaxed));
        let begun = Instant::now();
        let admission = store.admit(arrival).await.expect("the disk has room");
        assert_eq!(admission, Admission::Accepted);
        latencies.push(begun.elapsed());
    }
    latencies
}

fn arrival(number: u64) -> Arrival {
    let repo = RepoId::new("acme", &format!("repo-{}", number % 100)).expect("a valid name");
    // Spread over the index as GitHub's random ids are.
    let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let delivery = DeliveryId::parse(format!("{scattered:016x}-1234-1234-1234")).expect("a valid id");
    let body = vec![b'x'; BODY_BYTES];
    Arrival {
        tenant: repo.tenant(),
        key: Key::github(&delivery),
        source: Source::GithubWebhook,
        hash: RequestHash::from_stored(format!("{number:064x}")),
        received_at: Timestamp::now(),
        route: Route::Stream {
            stream: StreamId::Repo(repo),
            priority: Priority::Normal,
            label: "pull_request".to_owned(),
            body,
        },
    }
}
