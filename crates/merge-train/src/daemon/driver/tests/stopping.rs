//! Stopping: nothing more is taken, what is under way gets its time, and the streams are free for another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use merge_train_core::ids::StreamId;
use merge_train_core::repo::{EffectKey, Event, mirror};
use store::{Owner, TakeLimit};

use super::outside::{Mishap, NoCommands};
use super::webhook::Webhook;
use super::widgets;
use super::world::{World, options, until};
use crate::daemon::driver::{Driver, Options};

/// A worker that surveys, and does not come to an end with it.
async fn surveying() -> World {
    let (world, repo) = (World::new().await, widgets());
    world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    world.chat(&repo, [1]).await;
    until("the survey is under way", async || {
        world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).under_way == 1
    })
    .await;
    world
}

fn is_survey(event: &Event) -> bool {
    matches!(event, Event::Mirror(mirror::Event::SyncCompleted {}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_takes_nothing_more_and_records_what_ends_in_time() {
    let (world, repo) = (surveying().await, widgets());
    world.admit(&Webhook::comment(&repo, 1, 2, "Nobody heard of it.")).await;
    let began = Instant::now();
    // The stop is polled first: the rest happens after it was asked for.
    tokio::join!(biased; world.driver.stop(Duration::from_secs(600)), async {
        world.send(&Webhook::comment(&repo, 1, 3, "Too late.")).await;
        world.outside.release(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    });
    assert!(began.elapsed() < Duration::from_secs(60), "it does not wait for the deadline");
    assert!(world.log(&repo).await.iter().any(|recorded| is_survey(&recorded.event)), "the result is recorded");
    assert_eq!(world.processed(&repo).await, ["comment-1"]);

    let left = TakeLimit { entries: 10, bytes: usize::MAX };
    let left = world.store.unsettled(&StreamId::Repo(repo.clone()), None, left).await.unwrap();
    assert_eq!(
        left.iter().map(|entry| entry.key.as_str()).collect::<Vec<_>>(),
        ["github:comment-2", "github:comment-3"]
    );
    assert_eq!(world.driver.workers(), 0);
    world.acquire(&repo, "another").await.expect("the stream is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_result_asks_for_during_a_stop_is_left_to_the_next_driver() {
    let (world, repo) = (World::new().await, widgets());
    world.knows(&repo, []).await;
    world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates));
    for pr in [1, 2] {
        world.send(&Webhook::opened(&repo, pr)).await;
        let reading =
            async || world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates)).under_way == 1;
        until("the first one's merge state is being read", reading).await;
    }
    world.until_processed(&repo, 2).await;
    tokio::join!(biased; world.driver.stop(Duration::from_secs(600)), async {
        world.outside.release(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates));
    });
    assert_eq!(world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates)).begun, 1);

    let next = Options { owner: Owner("second".to_owned()), ..options() };
    let next = Driver::new(world.store.clone(), world.outside.clone(), Arc::new(NoCommands), next);
    let running = next.clone();
    tokio::spawn(async move { running.run().await });
    let is_read =
        |event: &Event| matches!(event, Event::Mirror(mirror::Event::MergeStateObserved { pr, .. }) if pr.get() == 2);
    world.until_logged(&repo, "the second one's merge state is read", is_read).await;
    next.stop(Duration::from_secs(60)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_in_time_is_cancelled() {
    let (world, repo) = (surveying().await, widgets());
    let (began, deadline) = (Instant::now(), Duration::from_millis(100));
    world.driver.stop(deadline).await;
    let took = began.elapsed();
    assert!(took >= deadline, "it had its time: {took:?}");
    assert!(took < Duration::from_secs(2), "a cancelled effect returns at once: {took:?}");
    let seen = world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    assert_eq!((seen.under_way, seen.cancelled), (0, 1));
    assert!(
        world
            .log(&repo)
            .await
            .iter()
            .any(|recorded| matches!(recorded.event, Event::Mirror(mirror::Event::ReadFailed { .. })))
    );
    world.acquire(&repo, "another").await.expect("the stream is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_does_not_hear_its_cancellation_does_not_keep_the_driver_from_stopping() {
    let (world, repo) = (World::new().await, widgets());
    world.outside.next(&repo, EffectKey::Mirror(mirror::EffectKey::Survey), Mishap::Deaf);
    world.chat(&repo, [1]).await;
    until("the survey is under way", async || {
        world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).under_way == 1
    })
    .await;
    let stopped = tokio::time::timeout(Duration::from_secs(20), world.driver.stop(Duration::from_millis(10))).await;
    assert!(stopped.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_woken_after_a_stop() {
    let (world, repo) = (World::new().await, widgets());
    world.driver.stop(Duration::from_secs(60)).await;
    world.chat(&repo, [1]).await;
    assert_eq!(world.driver.workers(), 0);
    // It would own the stream.
    world.acquire(&repo, "another").await.expect("the stream is free");
}
