//! A worker that lost its stream writes nothing more, and begins again from what is durable.

use merge_train_core::ids::StreamId;
use merge_train_core::repo::{EffectKey, Event, mirror};
use store::{Batch, NewEvent, Since};

use super::outside::branch;
use super::widgets;
use super::world::{World, options, until};
use crate::clock;

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_taken_over_begins_anew_and_processes_nothing_twice() {
    let (world, repo) = (World::new().await, widgets());
    world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    world.chat(&repo, 1..=5).await;
    world.until_processed(&repo, 5).await;

    // The same owner may acquire again, and its former lease is worth nothing from then on.
    let usurper = world.acquire(&repo, &options().owner.0).await.unwrap();
    let stream = StreamId::Repo(repo.clone());
    let next_seq = world.store.load(&stream, Since::Newest).await.unwrap().next_seq;
    let theirs = Event::Mirror(mirror::Event::DefaultBranchChanged { default_branch: branch("theirs") });
    let events = vec![NewEvent { ts: clock::now(), data: serde_json::to_string(&theirs).unwrap() }];
    let now = clock::now();
    let batch = Batch {
        expected_next_seq: next_seq,
        events,
        settled: Vec::new(),
        rows: Vec::new(),
        wake_at: None,
        lets_go: false,
        now,
    };
    world.store.append(&usurper, batch).await.unwrap();

    world.chat(&repo, 6..=10).await;
    world.until_processed(&repo, 10).await;
    let expected: Vec<String> = (1..=10).map(|id| format!("comment-{id}")).collect();
    assert_eq!(world.processed(&repo).await, expected);
    let log = world.log(&repo).await;
    assert!(log.iter().map(|recorded| recorded.seq).eq(1..=log.len() as u64), "without a gap");
    assert_eq!(log.iter().filter(|recorded| recorded.event == theirs).count(), 1);
    until("the new session asks again for what the old one had under way", async || {
        let seen = world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
        (seen.begun, seen.under_way) == (2, 1)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_another_instance_owns_is_left_to_it() {
    let (world, repo) = (World::new().await, widgets());
    let theirs = world.acquire(&repo, "another").await.unwrap();
    world.chat(&repo, [1]).await;
    until("the worker gives up", async || world.driver.workers() == 0).await;
    assert!(world.processed(&repo).await.is_empty());

    world.store.release(&theirs, None).await.unwrap();
    world.chat(&repo, [2]).await;
    world.until_processed(&repo, 2).await;
    assert_eq!(world.processed(&repo).await, ["comment-1", "comment-2"]);
}
