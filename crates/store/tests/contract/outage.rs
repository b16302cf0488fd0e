//! When there is no room, or no database.

use std::time::{Duration, Instant};

use store::{Admission, Arrival, Error, Route, Sqlite, Store, sqlite};
use tokio::process::Command;

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

pub async fn a_healthy_store_passes_its_check(world: World) {
    for second in 0..3 {
        world.store.check(at(second)).await.unwrap();
    }
}

fn large(name: &str) -> Arrival {
    let small = arrival(name, REPO, at(0));
    let Route::Stream { stream, priority, label, .. } = small.route else { panic!("it goes to a stream") };
    Arrival { route: Route::Stream { stream, priority, label, body: vec![7; 20_000] }, ..small }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_loses_nothing_and_is_over_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let small = sqlite::Options { max_bytes: Some(2_000_000), ..options(dir.path()) };
    let store = Sqlite::open(small).await.unwrap();
    let mut acknowledged = Vec::new();
    let refused = loop {
        let name = format!("github:{}", acknowledged.len());
        match store.admit(large(&name)).await {
            Ok(admission) => {
                assert_eq!(admission, Admission::Accepted);
                acknowledged.push(name);
            }
            Err(error) => break error,
        }
    };
    assert!(refused.is_outage(), "{refused:?}");
    assert!(refused.to_string().contains("no space left"), "{refused}");
    assert!(acknowledged.len() > 10);
    let check = store.check(at(1)).await;
    assert!(matches!(check, Err(Error::Unavailable { .. })), "it cannot be written to: {check:?}");
    assert_eq!(store.unsettled(&stream(REPO), None, ALL).await.unwrap().len(), acknowledged.len(), "still readable");

    // Room is made by deleting: settled bodies go after their grace.
    let lease = store.acquire(request(REPO, "a", at(1))).await.unwrap();
    let entries = store.take(&lease, ALL).await.unwrap();
    assert_eq!(keys(&entries), acknowledged);
    let settled = entries.iter().map(|entry| store::Settlement { entry: entry.id, outcome: done() }).collect();
    store.append(&lease, store::Batch { settled, ..batch(1, [], at(2)) }).await.unwrap();
    store.sweep(at(2 + 3600), &store::Retention::default()).await.unwrap();
    store.check(at(3)).await.unwrap();
    assert_eq!(store.admit(large("github:after")).await.unwrap(), Admission::Accepted);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_larger_quota_makes_room() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(sqlite::Options { max_bytes: Some(1_000_000), ..options(dir.path()) }).await.unwrap();
    let mut acknowledged = 0;
    while store.admit(large(&format!("github:{acknowledged}"))).await.is_ok() {
        acknowledged += 1;
    }
    store.close().await;
    let store = Sqlite::open(sqlite::Options { max_bytes: Some(2_000_000), ..options(dir.path()) }).await.unwrap();
    store.admit(large("github:after")).await.unwrap();
    assert_eq!(store.unsettled(&stream(REPO), None, ALL).await.unwrap().len(), acknowledged + 1);
}

/// Stops and starts the server that a script started for this test alone.
async fn server(what: &str) {
    let ctl = std::env::var("MERGE_TRAIN_TEST_POSTGRES_CTL").unwrap();
    let status = Command::new(ctl).arg(what).status().await.unwrap();
    assert!(status.success(), "{what}: {status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_is_told_loses_nothing_and_is_used_again() {
    // Says what is missing where there is none at all; else a server of its own, so that the others keep theirs.
    let _ = test_support::postgres::server();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres");
    let output = Command::new(script)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "outage::within_its_own_server", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .await
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run by a_server_that_crashes_is_told_loses_nothing_and_is_used_again, which gives it a server to crash"]
async fn within_its_own_server() {
    let store = instance(&fresh_database().await, "one").await;
    let mut acknowledged = Vec::new();
    for number in 0..50 {
        let name = format!("github:{number}");
        store.admit(arrival(&name, REPO, at(0))).await.unwrap();
        acknowledged.push(name);
    }
    server("stop").await;
    let begun = Instant::now();
    let refused = store.admit(arrival("github:lost", REPO, at(0))).await.unwrap_err();
    assert!(refused.is_outage(), "{refused:?}");
    assert!(begun.elapsed() < Duration::from_secs(8), "a caller is told soon");
    assert!(store.check(at(0)).await.unwrap_err().is_outage());
    assert!(store.waiting(at(0), 1).await.unwrap_err().is_outage());
    server("start").await;
    let deadline = Instant::now() + Duration::from_secs(20);
    while let Err(error) = store.admit(arrival("github:after", REPO, at(1))).await {
        assert!(error.is_outage() && Instant::now() < deadline, "{error:?}");
    }
    acknowledged.push("github:after".to_owned());
    let left = store.unsettled(&stream(REPO), None, ALL).await.unwrap();
    assert_eq!(keys(&left), acknowledged);
    store.check(at(2)).await.unwrap();
}
