//! One repository's deliveries in order; repositories side by side.

use std::collections::BTreeSet;
use std::sync::Arc;

use merge_train_core::ids::StreamId;
use merge_train_core::inbox::RequestStatus;
use merge_train_core::repo::{DeliveryOutcome, EffectKey, Event, mirror};
use store::TakeLimit;
use tokio::task::JoinSet;

use super::webhook::Webhook;
use super::world::{World, until};
use super::{gadgets, widgets};

/// More than any test here lets wait.
const ALL: TakeLimit = TakeLimit { entries: 1000, bytes: usize::MAX };

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_is_processed_in_order_of_arrival_but_a_stop_first() {
    let (world, repo) = (Arc::new(World::new().await), widgets());
    let mut senders = JoinSet::new();
    for id in 1..=200 {
        let (world, webhook) = (world.clone(), Webhook::comment(&repo, 1, id, "Nice."));
        senders.spawn(async move { world.admit(&webhook).await });
    }
    senders.join_all().await;
    let waiting = world.store.unsettled(&StreamId::Repo(repo.clone()), None, ALL).await.unwrap();
    let arrived = waiting.iter().map(|entry| entry.key.as_str().trim_start_matches("github:").to_owned());
    let expected: Vec<String> = std::iter::once("comment-201".to_owned()).chain(arrived).collect();

    world.send(&Webhook::stop(&repo, 1, 201)).await;
    world.until_processed(&repo, 201).await;
    assert_eq!(world.processed(&repo).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_in_while_it_is_worked_on_keeps_its_order() {
    const SENDERS: u64 = 8;
    const EACH: u64 = 25;
    let (world, repo) = (Arc::new(World::new().await), widgets());
    let mut senders = JoinSet::new();
    for sender in 0..SENDERS {
        let (world, repo) = (world.clone(), repo.clone());
        senders.spawn(async move { world.chat(&repo, sender * EACH..(sender + 1) * EACH).await });
    }
    senders.join_all().await;
    world.until_processed(&repo, 200).await;

    let processed = world.processed(&repo).await;
    let ids = processed.iter().map(|delivery| delivery.trim_start_matches("comment-").parse::<u64>().unwrap());
    let ids: Vec<u64> = ids.collect();
    assert_eq!(ids.len(), 200, "each once");
    assert_eq!(ids.iter().copied().collect::<BTreeSet<u64>>(), (0..200).collect());
    for sender in 0..SENDERS {
        // A sender's next was sent when the one before was acknowledged: that is their order of arrival.
        let own: Vec<u64> = ids.iter().copied().filter(|id| id / EACH == sender).collect();
        assert!(own.is_sorted(), "{own:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_does_not_wait_for_another() {
    let world = World::new().await;
    world.outside.hold(&widgets(), EffectKey::Mirror(mirror::EffectKey::Survey));
    world.chat(&widgets(), [1]).await;
    until("one repository is being surveyed", async || {
        world.outside.seen(&widgets(), EffectKey::Mirror(mirror::EffectKey::Survey)).under_way == 1
    })
    .await;

    world.chat(&gadgets(), 100..120).await;
    world.until_processed(&gadgets(), 20).await;
    let is_survey = |event: &Event| matches!(event, Event::Mirror(mirror::Event::SyncCompleted {}));
    world.until_logged(&gadgets(), "the other one is surveyed", is_survey).await;
    assert_eq!(world.driver.workers(), 2);
    assert_eq!(world.outside.seen(&widgets(), EffectKey::Mirror(mirror::EffectKey::Survey)).under_way, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_ends_as_failed_and_the_next_one_is_processed() {
    let (world, repo) = (World::new().await, widgets());
    let nonsense = Webhook::nonsense(&repo, "nonsense");
    world.admit(&nonsense).await;
    world.chat(&repo, [1]).await;
    world.until_processed(&repo, 2).await;
    assert_eq!(world.processed(&repo).await, ["nonsense", "comment-1"]);

    let record = world.store.record(&repo.tenant(), &nonsense.key()).await.unwrap().expect("it is remembered");
    assert_eq!(record.status, RequestStatus::Failed);
    assert!(record.error.is_some_and(|error| !error.is_empty()), "it says why");
    let failed = |event: &Event| {
        matches!(event, Event::Mirror(mirror::Event::DeliveryProcessed { delivery, outcome: DeliveryOutcome::Failed { .. }, .. })
            if delivery.as_str() == "nonsense")
    };
    assert!(world.log(&repo).await.iter().any(|recorded| failed(&recorded.event)));
    let next = world.store.record(&repo.tenant(), &Webhook::comment(&repo, 1, 1, "Nice.").key()).await.unwrap();
    assert_eq!(next.map(|record| record.status), Some(RequestStatus::Completed));
}
