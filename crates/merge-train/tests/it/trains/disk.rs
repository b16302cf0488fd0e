//! Trains whose daemon is let down by its disk: they stop, and land once when it is mended.

use std::path::Path;

use merge_train_core::ids::StreamId;
use merge_train_core::repo::{self, RepoState, Snapshot};
use reqwest::Method;
use serde_json::Value;
use store::{Owner, Since, Sqlite, Store, TakeLimit, sqlite};

use crate::trains::support::outage::Call;
use crate::trains::support::{REPO, Rules, Trains};

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_in_the_middle_of_a_cascade_stops_it_and_it_goes_on_when_there_is_room() {
    let mut world = Trains::polling().await;
    world.restart_to_survive_a_full_disk().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.delay(Call::Squash, 1500).await;
    world.start(all[0]).await;
    world.phase(all[0], "SquashPending").await;
    world.struck().await;
    world.fill_disk().await;
    // It was asked for before, and what came of it cannot be written down.
    world.merged(all[0]).await;
    world.failed(4).await;
    let (status, reason) = world.readiness().await;
    assert_eq!(status, 503);
    assert!(reason.contains("the store: the database cannot be used now"), "{reason}");
    let refused = world.control(Method::GET, "/deliveries?event=pull_request", Value::Null).await;
    let refused = refused.as_array().expect("a list").iter().filter(|it| it["status_code"] == 503).count();
    assert!(refused > 0, "GitHub hears that it was not taken in");
    assert!(!world.is_merged(all[1]).await, "nothing advances");

    world.empty_disk().await;
    world.until("it is ready again", async || (world.readiness().await.0 == 200).then_some(())).await;
    world.landed(&all).await;
    for number in all {
        assert_eq!(world.squashes(number).await, 1, "#{number}");
    }
    world.restart_after_errors().await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_good_copy_in_place_of_a_damaged_database_the_train_lands() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "Reconciling").await;
    world.kill().await;
    let copy = world.back_up();
    let file = world.database();
    put_log_into(&file).await;
    let length = std::fs::metadata(&file).expect("a file").len();
    std::fs::OpenOptions::new().write(true).open(&file).expect("a file").set_len(length / 2).expect("it is cut");
    let told = world.refused().await;
    assert!(told.contains("merge-train.sqlite") && told.contains("damaged"), "{told}");
    world.restore(&copy);
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_copy_of_a_damaged_database_the_train_is_recovered_from_github() {
    let mut world = Trains::polling().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_runs("ci", "true").await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "Reconciling").await;
    world
        .until("the comment shows the phase", async || {
            world.status(all[0]).await?["cascade_phase"].get("Reconciling").map(drop)
        })
        .await;
    world.kill().await;
    put_log_into(&world.database()).await;
    std::fs::write(world.database(), "").expect("written");
    let told = world.refused().await;
    assert!(told.contains("merge-train.sqlite is damaged") && told.contains("recovered from GitHub"), "{told}");
    world.lose_state();
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

/// Puts into a database what is only in the log beside it, so that the log mends nothing of what is damaged in it. A look
/// does that.
async fn put_log_into(database: &Path) {
    goes_on_from(database.parent().expect("a folder")).await.expect("it is in order");
    assert!(!database.with_extension("sqlite-wal").exists(), "all of the log is in the database");
}

/// The state that a daemon on this directory would go on from, and what waits for it.
async fn goes_on_from(dir: &Path) -> store::Result<(RepoState, Vec<String>)> {
    let (policy, owner) = (merge_train_core::inbox::InboxPolicy::default(), Owner("a test".to_owned()));
    let options = sqlite::Options { dir: dir.to_owned(), group: 1, policy, max_bytes: None, owner };
    let store = Sqlite::open(options).await?;
    let read = async {
        let stream: StreamId = format!("repo:{REPO}").parse().expect("a stream");
        let loaded = store.load(&stream, Since::Newest).await?;
        let snapshot = loaded.snapshot.map(|it| serde_json::from_str::<Snapshot>(&it.data).expect("a snapshot"));
        let mut state = snapshot.map_or_else(RepoState::default, Snapshot::restore);
        for event in loaded.events {
            repo::apply(&mut state, &serde_json::from_str(&event.data).expect("an event"), event.ts);
        }
        let limit = TakeLimit { entries: 1000, bytes: usize::MAX };
        let waiting = store.unsettled(&stream, None, limit).await?;
        Ok((state, waiting.iter().map(|entry| format!("{} {:?}", entry.key, entry.body)).collect()))
    }
    .await;
    store.close().await;
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_bit_of_its_database_flips_a_train_is_as_it_was_or_the_daemon_refuses() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "Reconciling").await;
    world.kill().await;
    put_log_into(&world.database()).await;
    let copy = world.back_up();
    let whole = goes_on_from(&copy).await.expect("it is in order");
    assert!(whole.0.active_trains().values().any(|train| train.original_root_pr.get() == all[0]));
    let good = std::fs::read(copy.join("merge-train.sqlite")).expect("a file");
    let scratch = tempfile::tempdir().expect("a folder");
    let (mut random, mut refused) = (7_u64, 0);
    for round in 0..120_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (byte, bit) = ((random >> 16) as usize % good.len(), (random >> 8) % 8);
        let dir = scratch.path().join(round.to_string());
        std::fs::create_dir(&dir).expect("a folder");
        let mut bad = good.clone();
        // Every fourth time the file ends there instead.
        if round % 4 == 0 {
            bad.truncate(byte);
        } else {
            bad[byte] ^= 1 << bit;
        }
        std::fs::write(dir.join("merge-train.sqlite"), bad).expect("written");
        match goes_on_from(&dir).await {
            Ok(read) => assert!(read == whole, "round {round}, byte {byte}, bit {bit}: another state"),
            Err(error) => {
                assert!(!error.is_outage() || error.to_string().contains("read-only"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 30, "{refused} of 120");
    world.restore(&copy);
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}
