//! Killed in the middle of it, many times: what was acknowledged is there, once, in order.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use crate::support::{Daemon, Database, Log, Sender, Setup, eventually, pull_request};

const REPOS: [&str; 3] = ["acme/one", "acme/two", "globex/three"];
/// Senders for each repository, each with one delivery on its way at a time.
const SENDERS: usize = 6;

#[derive(Default)]
struct Shared {
    done: AtomicBool,
    acknowledged: AtomicUsize,
}

impl Shared {
    /// Waits until so many more were acknowledged.
    async fn more(&self, count: usize) {
        let enough = self.acknowledged.load(Ordering::Relaxed) + count;
        let acknowledged = || async { (self.acknowledged.load(Ordering::Relaxed) >= enough).then_some(()) };
        eventually("deliveries are acknowledged", acknowledged).await;
    }
}

/// One after the other, each again until it was acknowledged, as GitHub does when asked to.
async fn send_in_turn(
    repo: &str,
    name: usize,
    daemon: watch::Receiver<Option<String>>,
    shared: Arc<Shared>,
) -> Vec<String> {
    let done = &shared.done;
    let mut acknowledged = Vec::new();
    let mut number = 0;
    while !done.load(Ordering::Relaxed) {
        number += 1;
        let delivery = format!("{}-{name}-{number:06}", repo.replace('/', "-"));
        let payload = pull_request(repo, name as u64 + 1, "synchronize", number, number);
        while !done.load(Ordering::Relaxed) {
            let Some(url) = daemon.borrow().clone() else {
                tokio::time::sleep(Duration::from_millis(5)).await;
                continue;
            };
            let sender = Sender::to(&url);
            match sender.send("pull_request", &delivery, &payload).await {
                Ok(response) if response.status() == 202 => {
                    acknowledged.push(delivery.clone());
                    shared.acknowledged.fetch_add(1, Ordering::Relaxed);
                    break;
                }
                Ok(response) => panic!("{delivery}: {}", response.status()),
                // The daemon was killed; whether this one arrived, nobody knows.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    }
    acknowledged
}

async fn killed_again_and_again(database: Database, rounds: usize) {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path()).database(database.clone());
    let (address, watched) = watch::channel(None);
    let shared = Arc::new(Shared::default());
    let senders: Vec<_> = REPOS
        .iter()
        .flat_map(|repo| (0..SENDERS).map(move |name| (*repo, name)))
        .map(|(repo, name)| (repo, tokio::spawn(send_in_turn(repo, name, watched.clone(), shared.clone()))))
        .collect();
    for round in 0..rounds {
        let daemon: Daemon = setup.start().await;
        address.send_replace(Some(daemon.url.clone()));
        // Another point of the work each time.
        shared.more(20 + round * 67 % 400).await;
        daemon.kill().await;
        address.send_replace(None);
    }
    shared.done.store(true, Ordering::Relaxed);
    let mut acknowledged: Vec<(&str, Vec<String>)> = Vec::new();
    for (repo, sender) in senders {
        acknowledged.push((repo, sender.await.expect("the sender ends")));
    }

    let daemon = setup.start().await;
    database.settled(&setup).await;
    assert!(daemon.stop().await.success());
    let total: usize = acknowledged.iter().map(|(_, deliveries)| deliveries.len()).sum();
    println!("{total} deliveries acknowledged in {rounds} lives");

    let store = database.open(&setup).await;
    for repo in REPOS {
        let log = Log::read(store.as_ref(), repo).await;
        let twice: Vec<_> = log.counts().into_iter().filter(|(_, count)| *count > 1).collect();
        assert!(twice.is_empty(), "more than once in the log: {twice:?}");
        let order = log.deliveries();
        for (_, deliveries) in acknowledged.iter().filter(|(of, _)| *of == repo) {
            let expected: Vec<&str> = deliveries.iter().map(String::as_str).collect();
            let sent: HashSet<&str> = expected.iter().copied().collect();
            let found: Vec<&str> = order.iter().copied().filter(|delivery| sent.contains(delivery)).collect();
            assert_eq!(found, expected, "what was acknowledged is in the log, in order");
        }
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_under_load_loses_repeats_and_reorders_nothing_on_sqlite() {
    killed_again_and_again(Database::Sqlite, 12).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_nine_under_load_loses_repeats_and_reorders_nothing_on_postgresql() {
    killed_again_and_again(Database::postgres().await, 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_polite_stop_under_load_loses_nothing_and_exits_with_zero() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    let (address, watched) = watch::channel(None);
    let shared = Arc::new(Shared::default());
    let senders: Vec<_> = (0..SENDERS)
        .map(|name| tokio::spawn(send_in_turn("acme/one", name, watched.clone(), shared.clone())))
        .collect();
    for _ in 0..3 {
        let daemon = setup.start().await;
        address.send_replace(Some(daemon.url.clone()));
        shared.more(60).await;
        let status = daemon.stop().await;
        address.send_replace(None);
        assert!(status.success(), "{status}");
    }
    shared.done.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for sender in senders {
        acknowledged.extend(sender.await.expect("the sender ends"));
    }
    let daemon = setup.start().await;
    Database::Sqlite.settled(&setup).await;
    assert!(daemon.stop().await.success());
    let store = Database::Sqlite.open(&setup).await;
    let log = Log::read(store.as_ref(), "acme/one").await;
    let counts = log.counts();
    for delivery in &acknowledged {
        assert_eq!(counts.get(delivery.as_str()), Some(&1), "{delivery}");
    }
    store.close().await;
}
