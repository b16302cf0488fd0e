//! From the door to the owner of the stream.

use merge_train_core::inbox::{RequestHash, Source};
use store::{Admission, Arrival, Error, Priority, Route, TakeLimit};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

pub async fn a_delivery_is_handed_out_with_all_it_came_with(world: World) {
    assert_eq!(world.admit("github:1", REPO, at(5)).await, Admission::Accepted);
    let lease = world.lease(REPO, "a", at(6)).await;
    let entries = world.take(&lease).await;
    let [entry] = &entries[..] else { panic!("one entry, not {entries:?}") };
    assert_eq!((entry.tenant.as_str(), entry.key.as_str()), ("acme", "github:1"));
    assert_eq!((entry.source, &entry.hash), (Source::GithubWebhook, &RequestHash::of(b"github:1")));
    assert_eq!((entry.priority, entry.label.as_str()), (Priority::Normal, "push"));
    assert_eq!((entry.received_at, entry.attempts), (at(5), 1));
    assert_eq!(entry.body, b"github:1");
}

pub async fn entries_are_handed_out_in_order_of_arrival(world: World) {
    let names: Vec<_> = (0..150).map(|number| format!("github:{:03}", 149 - number)).collect();
    for name in &names {
        world.admit(name, REPO, at(0)).await;
    }
    let lease = world.lease(REPO, "a", at(1)).await;
    let mut taken = Vec::new();
    for expected in [40, 40, 40, 30] {
        let handful = world.store.take(&lease, TakeLimit { entries: 40, bytes: usize::MAX }).await.unwrap();
        assert_eq!(handful.len(), expected);
        taken.extend(keys(&handful).iter().map(ToString::to_string));
        world.settle(&lease, &handful, done(), at(2)).await.unwrap();
    }
    assert_eq!(taken, names);
}

pub async fn a_stop_command_is_taken_first(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    world.admit("github:2", REPO, at(0)).await;
    for name in ["github:stop-1", "github:stop-2"] {
        let normal = arrival(name, REPO, at(1));
        let Route::Stream { stream, label, body, .. } = normal.route else { panic!("it goes to a stream") };
        let route = Route::Stream { stream, label, body, priority: Priority::Stop };
        world.store.admit(Arrival { route, ..normal }).await.unwrap();
    }
    let lease = world.lease(REPO, "a", at(2)).await;
    let entries = world.take(&lease).await;
    assert_eq!(keys(&entries), ["github:stop-1", "github:stop-2", "github:1", "github:2"]);
    assert_eq!(entries[0].priority, Priority::Stop);
}

pub async fn at_least_one_entry_is_handed_out_however_large(world: World) {
    for name in ["github:1", "github:2", "github:3"] {
        world.admit(name, REPO, at(0)).await;
    }
    let lease = world.lease(REPO, "a", at(1)).await;
    let take = async |bytes| {
        let entries = world.store.take(&lease, TakeLimit { entries: 10, bytes }).await.unwrap();
        entries.len()
    };
    assert_eq!(take(1).await, 1, "larger than the limit, and alone");
    assert_eq!(take("github:1github:2".len()).await, 2, "just within the limit");
    assert_eq!(take(usize::MAX).await, 3);
}

pub async fn what_is_not_settled_is_handed_out_again_and_what_is_settled_never(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    let lease = world.lease(REPO, "a", at(1)).await;
    let entries = world.take(&lease).await;
    world.admit("github:2", REPO, at(2)).await;
    assert_eq!(keys(&world.take(&lease).await), ["github:1", "github:2"]);
    world.settle(&lease, &entries, done(), at(3)).await.unwrap();
    assert_eq!(keys(&world.take(&lease).await), ["github:2"]);
    let twice = world.settle(&lease, &entries, done(), at(4)).await;
    assert!(matches!(twice, Err(Error::LockLost { .. })), "{twice:?}");
}

pub async fn what_a_dead_worker_had_in_hand_goes_to_its_successor_at_once(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    let dead = world.lease(REPO, "a", at(1)).await;
    world.take(&dead).await;
    // As soon as its lease has run out.
    let heir = world.lease(REPO, "b", at(62)).await;
    let entries = world.take(&heir).await;
    assert_eq!(keys(&entries), ["github:1"]);
    assert_eq!(entries[0].attempts, 2);
}

pub async fn a_late_worker_cannot_settle_what_its_successor_has(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    let late = world.lease(REPO, "a", at(1)).await;
    let in_hand = world.take(&late).await;
    let heir = world.lease(REPO, "b", at(62)).await;
    let entries = world.take(&heir).await;

    let refused = world.settle(&late, &in_hand, failed("too late"), at(63)).await;
    assert!(matches!(refused, Err(Error::Fenced { epoch: 1, .. })), "{refused:?}");
    assert!(matches!(world.store.take(&late, ALL).await, Err(Error::Fenced { .. })));

    world.settle(&heir, &entries, done(), at(64)).await.unwrap();
    let refused = world.settle(&late, &in_hand, failed("later still"), at(65)).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    let record = world.store.record(&tenant("acme"), &key("github:1")).await.unwrap().unwrap();
    assert_eq!((record.error, record.response), (None, Some(serde_json::json!({"ok": true}))));
}

pub async fn an_entry_whose_workers_died_too_often_says_so_by_its_attempts(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    for attempt in 1..=4 {
        let lease = world.lease(REPO, "a", at(attempt)).await;
        let entries = world.take(&lease).await;
        assert_eq!(i64::from(entries[0].attempts), attempt);
    }
    let lease = world.lease(REPO, "a", at(5)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, failed("gave up"), at(6)).await.unwrap();
    let again = world.admit("github:1", REPO, at(7)).await;
    assert_eq!(again, Admission::Exhausted { error: "gave up".to_owned() });
}

pub async fn nobody_takes_from_a_stream_of_another(world: World) {
    world.admit("github:1", "repo:acme/other", at(0)).await;
    let lease = world.lease(REPO, "a", at(1)).await;
    assert!(world.take(&lease).await.is_empty());
}

pub async fn what_an_owner_let_go_of_was_not_tried(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    for second in 1..=5 {
        let lease = world.lease(REPO, "a", at(second)).await;
        assert_eq!(world.take(&lease).await[0].attempts, 1, "nobody died of it");
        world.store.release(&lease, None).await.unwrap();
    }
}

pub async fn streams_that_wait_longest_come_first(world: World) {
    for (second, name) in ["charlie", "alpha", "bravo", "charlie", "alpha"].into_iter().enumerate() {
        let second = i64::try_from(second).unwrap();
        world.admit(&format!("github:{second}"), &format!("repo:acme/{name}"), at(second)).await;
    }
    let waiting = world.store.waiting(at(10), 10).await.unwrap();
    let names: Vec<_> = waiting.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["repo:acme/charlie", "repo:acme/alpha", "repo:acme/bravo"]);
    assert_eq!(world.store.waiting(at(10), 2).await.unwrap().len(), 2);
}

pub async fn a_stream_with_a_worker_does_not_wait(world: World) {
    let waits = async |now| !world.store.waiting(at(now), 10).await.unwrap().is_empty();
    assert!(!waits(0).await);
    world.admit("github:1", REPO, at(0)).await;
    assert!(waits(0).await);
    let lease = world.lease(REPO, "a", at(1)).await;
    assert!(!waits(2).await, "its owner looks after it");
    assert!(waits(62).await, "its owner is dead");
    world.store.release(&lease, None).await.unwrap();
    assert!(waits(2).await, "its owner let go");
    let lease = world.lease(REPO, "b", at(3)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, done(), at(4)).await.unwrap();
    assert!(!waits(1000).await, "settled");
}

pub async fn what_is_not_settled_can_be_looked_at(world: World) {
    for name in ["github:1", "github:2", "github:3"] {
        world.admit(name, REPO, at(0)).await;
    }
    let lease = world.lease(REPO, "a", at(1)).await;
    let one = TakeLimit { entries: 1, bytes: usize::MAX };
    let taken = world.store.take(&lease, one).await.unwrap();
    let seen = world.store.unsettled(&stream(REPO), None, ALL).await.unwrap();
    assert_eq!(keys(&seen), ["github:1", "github:2", "github:3"]);
    world.settle(&lease, &taken, done(), at(2)).await.unwrap();
    let seen = world.store.unsettled(&stream(REPO), None, one).await.unwrap();
    assert_eq!(keys(&seen), ["github:2"]);
    let seen = world.store.unsettled(&stream(REPO), Some(seen[0].id), ALL).await.unwrap();
    assert_eq!(keys(&seen), ["github:3"]);
}
