//! A stop is seen at once, whatever is under way; and what is told of a train is what it is.

use merge_train_core::ids::{PrNumber, StreamId};
use merge_train_core::repo::trains::TrainError;
use merge_train_core::repo::{Attribution, DeliveryOutcome, Event, FetchReason, ReadKind, commands, mirror, trains};
use merge_train_core::workflow::{Run, TransitionContext};
use store::{Batch, Row, Since};

use super::webhook::Webhook;
use super::world::{World, known, until};
use super::{fetch, widgets};
use crate::clock;
use crate::daemon::driver::{Urgency, replay};
use crate::daemon::stored_request;

/// Two trains, of one pull request each, which both are to be fetched again.
fn two_trains() -> Vec<Event> {
    let trains = [1, 2].map(PrNumber::new).map(|pr| {
        Event::Trains(trains::Event::TrainStarted { root_pr: pr, current_pr: pr, behest: Attribution::default() })
    });
    let wants = [1, 2]
        .map(PrNumber::new)
        .map(|pr| Event::Mirror(mirror::Event::PrWanted { pr, reason: FetchReason::HeadDiffers, comment: None }));
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
    let is_failure = |event: &Event| matches!(event, Event::Mirror(mirror::Event::ReadFailed { read: ReadKind::Pull(pr), .. }) if pr.get() == 1);
    world.until_logged(&repo, "the fetch ends as cancelled", is_failure).await;
    assert_eq!(world.outside.seen(&repo, fetch(1)).cancelled, 1);
    let log = world.log(&repo).await;
    let stop = log
        .iter()
        .position(|recorded| matches!(recorded.event, Event::Mirror(mirror::Event::DeliveryProcessed { .. })));
    let end = log.iter().position(|recorded| is_failure(&recorded.event));
    assert!(stop.is_some() && stop < end, "the stop is recorded while the effect is still under way: {log:?}");

    let other = world.outside.seen(&repo, fetch(2));
    assert_eq!((other.under_way, other.cancelled), (1, 0), "the other train goes on");
    let before = log.len();
    world.outside.release(&repo, fetch(2));
    until("the other train's fetch is recorded", async || {
        let log = world.log(&repo).await;
        log[before..].iter().any(
            |recorded| matches!(recorded.event, Event::Mirror(mirror::Event::PrObserved { pr, .. }) if pr.get() == 2),
        )
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
        log[before..].iter().any(
            |recorded| matches!(recorded.event, Event::Mirror(mirror::Event::PrObserved { pr, .. }) if pr.get() == 1),
        )
    })
    .await;
}

/// An older version may have written the run, or a newer one.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_tells_something_else_than_its_train_is_put_right() {
    let (world, repo) = (World::new().await, widgets());
    let pr = PrNumber::new(1);
    let error = TrainError { error_type: "wrong_tree".to_owned(), message: "the present reason".to_owned() };
    let started =
        Event::Trains(trains::Event::TrainStarted { root_pr: pr, current_pr: pr, behest: Attribution::default() });
    let events = known([1])
        .into_iter()
        .chain([started, Event::Trains(trains::Event::TrainFrozen { root_pr: pr, error })])
        .collect();
    let then = "2026-01-01T00:00:00Z".parse().unwrap();
    world.import(&repo, events, then).await;

    let stream = StreamId::Repo(repo.clone());
    let loaded = world.store.load(&stream, Since::Newest).await.unwrap();
    let expected_next_seq = loaded.next_seq;
    let (id, run) = replay(&stream, loaded).unwrap().open_runs(&repo, then).pop_first().unwrap();
    let context = run.last_transition.clone().unwrap();
    let mut approval = context.approval.clone().unwrap();
    approval.reason = Some("an old reason".to_owned());
    let last_transition = Some(TransitionContext { approval: Some(approval), ..context });
    let rows = vec![Row::Run(Box::new(Run { last_transition, ..run.clone() }))];
    let lease = world.acquire(&repo, "first").await.unwrap();
    let (events, settled) = (Vec::new(), Vec::new());
    let batch = Batch { expected_next_seq, events, settled, rows, wake_at: None, lets_go: true, now: then };
    world.store.append(&lease, batch).await.unwrap();

    let told = async || world.store.run(Some(&repo.tenant()), &id).await.unwrap().unwrap();
    assert!(told().await.last_transition != run.last_transition);
    world.driver.wake(&repo, Urgency::Usual);
    until("it gives a sign of life", async || told().await.last_heartbeat_at > Some(then)).await;
    let now = told().await;
    assert_eq!((&now.last_transition, now.status), (&run.last_transition, run.status));
    assert!(now.updated_at > then, "whoever follows it hears of that");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_calls_itself_an_order_to_a_train_is_none() {
    let (world, repo) = (World::new().await, widgets());
    world.import(&repo, two_trains(), clock::now()).await;
    world.send(&Webhook::comment(&repo, 1, 11, "@merge-train stop").called(stored_request::IN_BODY)).await;
    let is_refused = |event: &Event| match event {
        Event::Mirror(mirror::Event::DeliveryProcessed { outcome: DeliveryOutcome::Failed { reason }, .. }) => {
            reason.contains("no such request")
        }
        _ => false,
    };
    world.until_logged(&repo, "it fails", is_refused).await;
    let log = world.log(&repo).await;
    let is_stop = |event: &Event| {
        matches!(
            event,
            Event::Trains(trains::Event::TrainStopped { .. })
                | Event::Commands(commands::Event::RequestProcessed { .. })
        )
    };
    assert!(!log.iter().any(|recorded| is_stop(&recorded.event)), "{log:?}");
}
