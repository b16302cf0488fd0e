//! What a second arrival of a request gets.

use merge_train_core::inbox::{RequestHash, RequestStatus, Source};
use serde_json::json;
use store::{Admission, Arrival, Claim, Error, Outcome, Route};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

fn other_payload(arrival: Arrival) -> Arrival {
    Arrival { hash: RequestHash::of(b"something else"), ..arrival }
}

async fn claim(world: &World, name: &str, now: i64) -> Claim {
    match world.store.admit(call(name, at(now))).await.unwrap() {
        Admission::Claimed(claim) => claim,
        other => panic!("a claim, not {other:?}"),
    }
}

pub async fn section_4_1_every_row_of_the_table_for_a_stream(world: World) {
    let again = async |now| world.admit("github:1", REPO, at(now)).await;
    assert_eq!(again(0).await, Admission::Accepted, "new");
    assert_eq!(again(1).await, Admission::InFlight { run_id: None }, "waits its turn");
    let lease = world.lease(REPO, "a", at(2)).await;
    let entries = world.take(&lease).await;
    assert_eq!(again(3).await, Admission::InFlight { run_id: None }, "somebody has it");
    let outcome = Outcome::Completed { response: json!({"n": 1}), run_id: Some(run_id("run-1")) };
    world.settle(&lease, &entries, outcome, at(4)).await.unwrap();
    let replay = Admission::Replay { response: Some(json!({"n": 1})), run_id: Some(run_id("run-1")) };
    assert_eq!(again(5).await, replay, "done");
    assert_eq!(again(4 + 24 * 3600 - 1).await, replay, "remembered for a day");
}

pub async fn section_4_1_every_row_of_the_table_for_a_caller(world: World) {
    let claimed = claim(&world, "api:cli:1", 0).await;
    assert_eq!((claimed.fence, claimed.attempts), (1, 1));
    let in_flight = world.store.admit(call("api:cli:1", at(1))).await.unwrap();
    assert_eq!(in_flight, Admission::InFlight { run_id: None });
    let outcome = Outcome::Completed { response: json!([1]), run_id: Some(run_id("r")) };
    world.store.finish(&claimed, outcome, at(2)).await.unwrap();
    let replay = world.store.admit(call("api:cli:1", at(3))).await.unwrap();
    assert_eq!(replay, Admission::Replay { response: Some(json!([1])), run_id: Some(run_id("r")) });
    let twice = world.store.finish(&claimed, done(), at(4)).await;
    assert!(matches!(twice, Err(Error::LockLost { .. })), "{twice:?}");
}

pub async fn what_is_done_at_the_door_is_replayed(world: World) {
    let ping = || Arrival { route: Route::Done { response: json!("pong") }, ..arrival("github:1", REPO, at(0)) };
    assert_eq!(world.store.admit(ping()).await.unwrap(), Admission::Accepted);
    let replay = world.store.admit(ping()).await.unwrap();
    assert_eq!(replay, Admission::Replay { response: Some(json!("pong")), run_id: None });
    assert!(world.store.waiting(at(1), 10).await.unwrap().is_empty());
}

pub async fn another_payload_is_a_conflict_in_every_state(world: World) {
    let conflicts = async |now| world.store.admit(other_payload(arrival("github:1", REPO, at(now)))).await.unwrap();
    world.admit("github:1", REPO, at(0)).await;
    assert_eq!(conflicts(1).await, Admission::Conflict, "waiting");
    let lease = world.lease(REPO, "a", at(2)).await;
    let entries = world.take(&lease).await;
    assert_eq!(conflicts(3).await, Admission::Conflict, "in hand");
    world.settle(&lease, &entries, failed("no"), at(4)).await.unwrap();
    assert_eq!(conflicts(5).await, Admission::Conflict, "failed");
    world.admit("github:1", REPO, at(6)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, done(), at(8)).await.unwrap();
    assert_eq!(conflicts(9).await, Admission::Conflict, "completed");
}

pub async fn a_failed_delivery_is_tried_again_until_it_is_exhausted(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    for attempt in 1..=3 {
        assert_eq!(world.admit("github:1", REPO, at(attempt)).await, Admission::Accepted, "attempt {attempt}");
        let entries = world.take(&lease).await;
        assert_eq!(i64::from(entries[0].attempts), attempt);
        world.settle(&lease, &entries, failed("no luck"), at(attempt)).await.unwrap();
    }
    let exhausted = world.admit("github:1", REPO, at(9)).await;
    assert_eq!(exhausted, Admission::Exhausted { error: "no luck".to_owned() });
    let later = world.admit("github:1", REPO, at(3 + 3600)).await;
    assert_eq!(later, Admission::Accepted, "after an hour the failure is forgotten");
    assert_eq!(world.take(&lease).await[0].attempts, 1);
}

pub async fn section_4_3_an_abandoned_claim_is_taken_over_and_its_late_caller_refused(world: World) {
    let late = claim(&world, "api:cli:1", 0).await;
    let in_flight = world.store.admit(call("api:cli:1", at(299))).await.unwrap();
    assert_eq!(in_flight, Admission::InFlight { run_id: None }, "its lock runs for five minutes");
    let heir = claim(&world, "api:cli:1", 300).await;
    assert_eq!((heir.fence, heir.attempts), (2, 2));
    let refused = world.store.finish(&late, failed("too late"), at(301)).await;
    assert!(matches!(refused, Err(Error::LockLost { .. })), "{refused:?}");
    world.store.finish(&heir, done(), at(302)).await.unwrap();
    let refused = world.store.finish(&late, failed("later still"), at(303)).await;
    assert!(matches!(refused, Err(Error::LockLost { .. })), "{refused:?}");
    let record = world.store.record(&tenant("acme"), &key("api:cli:1")).await.unwrap().unwrap();
    assert_eq!((record.status, record.error), (RequestStatus::Completed, None));
}

pub async fn an_expired_record_is_replaced(world: World) {
    let first = claim(&world, "api:cli:1", 0).await;
    world.store.finish(&first, done(), at(1)).await.unwrap();
    let day = 24 * 3600;
    let other = other_payload(call("api:cli:1", at(1 + day)));
    let second = world.store.admit(other).await.unwrap();
    let Admission::Claimed(second) = second else { panic!("a claim, not {second:?}") };
    assert_eq!((second.fence, second.attempts), (1, 1));
    let record = world.store.record(&tenant("acme"), &key("api:cli:1")).await.unwrap().unwrap();
    assert_eq!(record.request_hash, RequestHash::of(b"something else"));
    assert_eq!((record.response, record.created_at), (None, at(1 + day)));
}

pub async fn what_is_unfinished_is_never_forgotten(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    let year = 365 * 24 * 3600;
    assert_eq!(world.admit("github:1", REPO, at(year)).await, Admission::InFlight { run_id: None });
    let lease = world.lease(REPO, "a", at(year)).await;
    assert_eq!(world.take(&lease).await.len(), 1);
}

pub async fn tenants_do_not_see_each_other(world: World) {
    let ours = world.store.admit(call("api:cli:1", at(0))).await.unwrap();
    let Admission::Claimed(ours) = ours else { panic!("a claim, not {ours:?}") };
    let theirs = Arrival { tenant: tenant("globex"), ..other_payload(call("api:cli:1", at(0))) };
    let theirs = world.store.admit(theirs).await.unwrap();
    let Admission::Claimed(theirs) = theirs else { panic!("a claim, not {theirs:?}") };
    world.store.finish(&ours, done(), at(1)).await.unwrap();
    let record = world.store.record(&tenant("globex"), &key("api:cli:1")).await.unwrap().unwrap();
    assert_eq!((record.status, record.response), (RequestStatus::Processing, None));
    world.store.finish(&theirs, failed("no"), at(2)).await.unwrap();
    let record = world.store.record(&tenant("acme"), &key("api:cli:1")).await.unwrap().unwrap();
    assert_eq!(record.status, RequestStatus::Completed);
    assert_eq!(world.store.record(&tenant("nobody"), &key("api:cli:1")).await.unwrap(), None);
}

pub async fn a_claim_that_is_gone_has_expired(world: World) {
    let claimed = Claim { tenant: tenant("acme"), key: key("api:cli:never"), fence: 1, attempts: 1 };
    let refused = world.store.finish(&claimed, done(), at(0)).await;
    assert!(matches!(refused, Err(Error::Expired { .. })), "{refused:?}");
}

pub async fn a_retried_delivery_brings_its_body_again(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.admit("github:1", REPO, at(0)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, failed("no"), at(1)).await.unwrap();
    world
        .store
        .sweep(at(3600), &store::Retention { body_grace: jiff::SignedDuration::ZERO, ..Default::default() })
        .await
        .unwrap();
    assert_eq!(world.admit("github:1", REPO, at(3600)).await, Admission::Accepted);
    assert_eq!(world.take(&lease).await[0].body, b"github:1");
}

pub async fn section_3_3_a_record_tells_all_that_is_remembered(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.admit("github:1", REPO, at(10)).await;
    let find = async || world.store.record(&tenant("acme"), &key("github:1")).await.unwrap().unwrap();
    let record = find().await;
    assert_eq!((record.source, record.status, record.attempts), (Source::GithubWebhook, RequestStatus::Processing, 0));
    assert_eq!((record.created_at, record.lock_expires_at), (at(10), None));
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, failed("no disk"), at(30)).await.unwrap();
    let record = find().await;
    assert_eq!((record.status, record.error.as_deref()), (RequestStatus::Failed, Some("no disk")));
    assert_eq!((record.updated_at, record.expires_at), (at(30), at(30 + 3600)));
    assert_eq!((record.attempts, record.lock_expires_at), (1, None));
    world.admit("github:2", REPO, at(30)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, done(), at(31)).await.unwrap();
    let record = world.store.record(&tenant("acme"), &key("github:2")).await.unwrap().unwrap();
    assert_eq!((record.status, record.expires_at), (RequestStatus::Completed, at(31 + 24 * 3600)), "section 4.3");
    let claimed = claim(&world, "api:cli:1", 40).await;
    let record = world.store.record(&tenant("acme"), &key("api:cli:1")).await.unwrap().unwrap();
    assert_eq!((record.attempts, record.lock_expires_at), (1, Some(at(40 + 300))), "its caller has it: {claimed:?}");
}
