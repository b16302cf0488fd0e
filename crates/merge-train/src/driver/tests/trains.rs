//! A stop is seen at once, whatever is under way.

use merge_train_core::ids::PrNumber;
use merge_train_core::repo::{Behest, Event, ReadKind, WantReason};

use super::webhook::Webhook;
use super::world::{World, known, until};
use super::{fetch, widgets};
use crate::clock;
use crate::driver::Urgency;

/// Two trains, of one pull request each, which both are to be fetched anew.
fn two_trains() -> Vec<Event> {
    let trains = [1, 2].map(PrNumber::new).map(|pr| Event::TrainStarted {
        root_pr: pr,
        current_pr: pr,
        behest: Behest::default(),
    });
    let wants =
        [1, 2].map(PrNumber::new).map(|pr| Event::PrWanted { pr, reason: WantReason::HeadDiffers, comment: None });
    trains.into_iter().chain(known([1, 2])).chain(wants).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_recorded_and_ends_what_its_train_has_under_way_and_nothing_else() {
    let (world, repo) = (World::new().await, widgets());
    world.import(&repo, two_trains(), clock::now()).await;
    for pr in [1, 2] {
        world.outside.hold(&repo, fetch(pr));
    }
    world.driver.wake(&repo, Urgency::Usual);
    until("both trains fetch", async || [1, 2].iter().all(|pr| world.outside.seen(&repo, fetch(*pr)).under_way == 1))
        .await;

    world.send(&Webhook::stop(&repo, 1, 11)).await;
    let is_failure =
        |event: &Event| matches!(event, Event::ReadFailed { read: ReadKind::Pull(pr), .. } if pr.get() == 1);
    world.until_logged(&repo, "the fetch ends as cancelled", is_failure).await;
    assert_eq!(world.outside.seen(&repo, fetch(1)).cancelled, 1);
    let log = world.log(&repo).await;
    let stop = log.iter().position(|recorded| matches!(recorded.event, Event::DeliveryProcessed { .. }));
    let end = log.iter().position(|recorded| is_failure(&recorded.event));
    assert!(stop.is_some() && stop < end, "the stop is recorded while the effect is still under way: {log:?}");

    let other = world.outside.seen(&repo, fetch(2));
    assert_eq!((other.under_way, other.cancelled), (1, 0), "the other train goes on");
    let before = log.len();
    world.outside.release(&repo, fetch(2));
    until("the other train's fetch is recorded", async || {
        let log = world.log(&repo).await;
        log[before..].iter().any(|recorded| matches!(recorded.event, Event::PrObserved { pr, .. } if pr.get() == 2))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_train_begins_later_is_not_cancelled_by_the_stop_before() {
    let (world, repo) = (World::new().await, widgets());
    world.import(&repo, two_trains(), clock::now()).await;
    world.outside.hold(&repo, fetch(1));
    world.driver.wake(&repo, Urgency::Usual);
    until("the train fetches", async || world.outside.seen(&repo, fetch(1)).under_way == 1).await;
    world.send(&Webhook::stop(&repo, 1, 11)).await;
    until("it is tried again", async || world.outside.seen(&repo, fetch(1)).begun == 2).await;
    world.send(&Webhook::comment(&repo, 1, 12, "Nice.")).await;
    world.until_processed(&repo, 2).await;
    let seen = world.outside.seen(&repo, fetch(1));
    assert_eq!((seen.under_way, seen.cancelled), (1, 1));
    let before = world.log(&repo).await.len();
    world.outside.release(&repo, fetch(1));
    until("what it fetched is recorded", async || {
        let log = world.log(&repo).await;
        log[before..].iter().any(|recorded| matches!(recorded.event, Event::PrObserved { pr, .. } if pr.get() == 1))
    })
    .await;
}
