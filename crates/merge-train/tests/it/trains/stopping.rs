//! Trains that people end.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::trains::support::outage::Call;
use crate::trains::support::{ADMIN, AUTHOR, Trains};

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_train_does_nothing_until_it_is_started_again() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.stop(one).await;
    let record = world.becomes(one, "stopped").await;
    assert!(record["stopped_at"].is_string());
    world.ci_passes("ci").await;
    world.settled().await;
    assert!(!world.is_merged(one).await);
    world.start_again(one).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_can_be_stopped_from_any_pull_request_of_its_stack() {
    let world = Trains::new().await;
    let [one, _, three] = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    let given = world.stop(three).await;
    world.becomes(one, "stopped").await;
    world.acknowledged(given).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_middle_of_a_push_takes_effect_at_once_and_leaves_other_trains_alone() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let other = world.stack([("three", "main"), ("four", "three")]).await;
    world.push("one").await;
    world.hold(Call::Push(1)).await;
    world.start(one).await;
    world.struck().await;
    let asked = Instant::now();
    world.stop(one).await;
    world.until("the train is stopped", async || (world.train(one).await["state"] == "stopped").then_some(())).await;
    assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?}", asked.elapsed());
    world.becomes(one, "stopped").await;
    world.start(other[0]).await;
    world.landed(&other).await;
    assert!(!world.is_merged(one).await && !world.is_merged(two).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_after_the_squash_leaves_the_rest_for_the_next_start() {
    let world = Trains::polling().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.hold(Call::Push(1)).await;
    world.start(one).await;
    world.merged(one).await;
    world.struck().await;
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    world.settled().await;
    // What was landed is landed: the next is to be brought to main before it can be a root.
    world.start_again(one).await;
    world.landed(&[two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_stop_says_so_in_the_status_comment() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.says(ADMIN, one, "@merge-train stop --force").await;
    world
        .until("the status comment is closed", async || {
            let comment = world.status_comment(one).await?;
            comment["body"].as_str()?.contains("Train forcibly stopped by admin").then_some(())
        })
        .await;
    world.settled().await;
    assert_eq!((&world.pull(one).await["state"], &world.pull(two).await["state"]), (&json!("open"), &json!("open")));
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_stop_can_close_the_pull_requests() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let other = world.open("three", "main").await;
    world.says(ADMIN, one, "@merge-train stop --force --close-prs").await;
    world
        .until("both are closed", async || {
            let closed = world.pull(one).await["state"] == "closed" && world.pull(two).await["state"] == "closed";
            closed.then_some(())
        })
        .await;
    world.settled().await;
    assert_eq!(world.pull(other).await["state"], "open");
    assert!(world.notes(two).await.is_empty(), "nobody is orphaned who is closed together with the others");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_train_there_is_nothing_to_stop() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    world.stop(one).await;
    world.told(one, "There is nothing to stop").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_overtakes_the_webhooks_that_came_before_it() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    for count in 0..20 {
        world.says(AUTHOR, one, &format!("Comment {count}.")).await;
    }
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_asks_again_without_waiting_for_a_webhook() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    // Nobody hears that the check has passed.
    world.fault(json!({ "kind": "drop_webhook", "match": { "event": "check_suite" }, "count": null })).await;
    world.fault(json!({ "kind": "drop_webhook", "match": { "event": "check_run" }, "count": null })).await;
    world.ci("one", "ci", "success").await;
    world.settled().await;
    assert!(!world.is_merged(one).await);
    let given = world.says(AUTHOR, one, "@merge-train retry").await;
    world.landed(&[one]).await;
    world.acknowledged(given).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_train_waits_there_is_nothing_to_retry() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    world.says(AUTHOR, one, "@merge-train retry").await;
    world.told(one, "There is nothing to retry").await;
    world.finish().await;
}
