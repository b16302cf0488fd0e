//! How well a repository is known, for whoever asks.

use serde_json::Value;

use crate::trains::support::Trains;
use crate::trains::support::outage::Call;

/// What the API says of the look at the repository.
async fn sync(world: &Trains) -> Value {
    world.state().await["sync"].clone()
}

async fn becomes(world: &Trains, lifecycle: &str) -> Value {
    world
        .until(&format!("it is {lifecycle}"), async || {
            Some(sync(world).await).filter(|sync| sync["lifecycle"] == lifecycle)
        })
        .await
}

/// A train that waits, and a daemon that is dead and has lost everything.
async fn lost() -> (Trains, [u64; 2]) {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    (world, all)
}

async fn lands(world: Trains, all: [u64; 2]) {
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_read_for_the_first_time_is_bootstrapping_and_then_ready() {
    let (mut world, all) = lost().await;
    world.hold_all(Call::Query).await;
    world.restart().await;
    let seen = becomes(&world, "bootstrapping").await;
    assert!(seen["synced_at"].is_null(), "{seen}");
    let told = world.told_on_the_command_line().await;
    assert!(told.contains("octocat/hello: first sync in progress"), "{told}");
    assert!(world.train(all[0]).await.is_null(), "nobody acts on a part of what there is");
    world.kill().await;
    world.forget_faults().await;
    world.restart().await;
    let seen = becomes(&world, "ready").await;
    assert!(!seen["synced_at"].is_null() && seen["error"].is_null() && seen["reason"].is_null(), "{seen}");
    assert!(!world.told_on_the_command_line().await.contains("sync in progress"));
    lands(world, all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_look_that_fails_says_why_and_when_it_is_tried_again() {
    let (mut world, all) = lost().await;
    world.refuse_all(Call::Query, 500).await;
    world.restart().await;
    let seen = becomes(&world, "failed").await;
    assert!(seen["attempts"].as_u64() >= Some(1) && !seen["retry_at"].is_null(), "{seen}");
    assert!(seen["error"].as_str().is_some_and(|error| error.contains("/graphql failed")), "{seen}");
    let told = world.told_on_the_command_line().await;
    assert!(told.contains("could not sync yet; no train moves until then"), "{told}");
    assert!(told.contains("It failed ") && told.contains("Retrying in "), "{told}");
    world
        .until("it is tried again, later each time", async || {
            (sync(&world).await["attempts"].as_u64() >= Some(3)).then_some(())
        })
        .await;
    world.forget_faults().await;
    becomes(&world, "ready").await;
    lands(world, all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_survives_a_restart() {
    let (mut world, all) = lost().await;
    world.refuse_all(Call::Query, 500).await;
    world.restart().await;
    becomes(&world, "failed").await;
    world.kill().await;
    world.restart().await;
    let seen = sync(&world).await;
    assert_eq!(seen["lifecycle"], "failed", "{seen}");
    world.forget_faults().await;
    becomes(&world, "ready").await;
    lands(world, all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_look_at_what_is_known_is_a_resync_and_trains_go_on_meanwhile() {
    let world = Trains::polling().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.settled().await;
    world.refuse_all(Call::List, 500).await;
    world.look().await;
    let seen = becomes(&world, "resync").await;
    assert_eq!(seen["reason"], "operator", "{seen}");
    let told = world.told_on_the_command_line().await;
    assert!(told.contains("resyncing") && told.contains("waiting_ci"), "{told}");
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    assert_eq!(sync(&world).await["lifecycle"], "resync", "nobody has answered yet");
    world.forget_faults().await;
    becomes(&world, "ready").await;
    world.finish().await;
}
