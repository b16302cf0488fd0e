//! Durable acknowledgements per second: many writes to a commit, against a commit for each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use merge_train_core::ids::{DeliveryId, RepoId, StreamId};
use merge_train_core::inbox::{Key, Policy, RequestHash, Source};
use store::{Admission, Arrival, Owner, Priority, Route, Sqlite, Store, sqlite};

const CALLERS: u64 = 512;
const BODY_BYTES: usize = 8 * 1024;
const LENGTH: Duration = Duration::from_secs(4);
const GROUP: usize = 512;

struct Measured {
    per_second: f64,
    p50: Duration,
    p99: Duration,
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("the machine can run threads");
    println!("{CALLERS} callers, bodies of {BODY_BYTES} bytes, {LENGTH:?} each");
    let alone = runtime.block_on(measure(1));
    report("a commit for each", &alone);
    let grouped = runtime.block_on(measure(GROUP));
    report("up to 512 in a commit", &grouped);
    println!("ratio: {:.1}", grouped.per_second / alone.per_second);
}

fn report(what: &str, measured: &Measured) {
    let Measured { per_second, p50, p99 } = measured;
    println!("{what:>24}: {per_second:>8.0} acknowledged/s, p50 {p50:>9.1?}, p99 {p99:>9.1?}");
}

async fn measure(group: usize) -> Measured {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build directory can be written to");
    let owner = Owner("bench".to_owned());
    let options =
        sqlite::Options { dir: dir.path().join("state"), group, policy: Policy::default(), max_bytes: None, owner };
    let store = Arc::new(Sqlite::open(options).await.expect("a fresh directory can be opened"));
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let callers: Vec<_> =
        (0..CALLERS).map(|_| tokio::spawn(call(Arc::clone(&store), Arc::clone(&next), begun + LENGTH))).collect();
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

async fn call(store: Arc<Sqlite>, next: Arc<AtomicU64>, until: Instant) -> Vec<Duration> {
    let mut latencies = Vec::new();
    while Instant::now() < until {
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
