//! Trains whose daemon is let down by its disk: they stop, and land once when it is mended.

use reqwest::Method;
use serde_json::Value;

use crate::support::outage::Call;
use crate::support::{Rules, Trains};

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
    std::fs::write(world.database(), "").expect("written");
    let told = world.refused().await;
    assert!(told.contains("merge-train.sqlite is damaged") && told.contains("recovered from GitHub"), "{told}");
    world.lose_state();
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}
