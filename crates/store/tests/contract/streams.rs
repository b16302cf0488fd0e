//! Streams of events and their owners.

use store::{Arrival, Batch, Error, LeaseRequest, NewEvent, Owner, Settlement, Since, Snapshot};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

fn snapshot(next_seq: u64, now: i64) -> Snapshot {
    Snapshot { next_seq, taken_at: at(now), data: format!(r#"{{"schema_version":1,"upto":{next_seq}}}"#) }
}

pub async fn of_two_writers_the_older_is_fenced_off(world: World) {
    let older = world.lease(REPO, "a", at(0)).await;
    world.append(&older, 1, ["one"], at(1)).await;
    let newer = world.lease(REPO, "b", at(61 + 1)).await;
    assert!(newer.epoch > older.epoch);
    let refused = world.store.append(&older, batch(2, ["lost"], at(63))).await;
    assert!(matches!(refused, Err(Error::Fenced { epoch: 1, .. })), "{refused:?}");
    let refused = world.store.renew(&older, at(63)).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    let refused = world.store.compact(&older, snapshot(2, 63)).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    world.store.release(&older, None).await.unwrap();
    world.append(&newer, 2, ["two"], at(64)).await;
    let loaded = world.load(REPO).await;
    let data: Vec<_> = loaded.events.iter().map(|event| event.data.as_str()).collect();
    assert_eq!(data, [r#"{"type":"one"}"#, r#"{"type":"two"}"#]);
}

pub async fn a_lease_that_runs_keeps_others_out(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    let held = world.store.acquire(request(REPO, "b", at(59))).await;
    let Err(Error::Held { owner, until, .. }) = held else { panic!("held, not {held:?}") };
    assert_eq!((owner.as_str(), until), ("a", at(60)));
    world.store.renew(&lease, at(50)).await.unwrap();
    assert!(world.store.acquire(request(REPO, "b", at(109))).await.is_err(), "renewed until 110");
    world.append(&lease, 1, ["one"], at(100)).await;
    assert!(world.store.acquire(request(REPO, "b", at(159))).await.is_err(), "an append renews it too");
    world.lease(REPO, "b", at(160)).await;
    world.lease("repo:acme/other", "b", at(0)).await;
}

pub async fn an_expired_lease_may_still_append_if_nobody_took_over(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["late"], at(1000)).await;
    assert!(world.store.acquire(request(REPO, "b", at(1059))).await.is_err(), "and has it again");
}

pub async fn a_released_lease_is_over(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.store.release(&lease, None).await.unwrap();
    let refused = world.store.append(&lease, batch(1, ["late"], at(1))).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    let next = world.lease(REPO, "b", at(1)).await;
    assert_eq!(next.epoch, 2);
}

pub async fn an_append_can_let_go_of_the_stream(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    let last = Batch { lets_go: true, wake_at: Some(at(5)), ..batch(1, ["last"], at(1)) };
    world.store.append(&lease, last).await.unwrap();
    let refused = world.store.append(&lease, batch(2, ["late"], at(1))).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    assert_eq!(world.store.waiting(at(5), 10).await.unwrap(), [stream(REPO)], "it is woken when it wants to be");
    let next = world.lease(REPO, "b", at(2)).await;
    assert_eq!((next.epoch, next.next_seq, next.is_first()), (2, 2, false), "long before the lease would have ended");
}

pub async fn a_stream_is_whose_entries_wait_for_it(world: World) {
    const RUN: &str = "run:r-1";
    let whoever = || LeaseRequest { tenant: None, ..request(RUN, "a", at(1)) };
    let unknown = world.store.acquire(whoever()).await;
    assert!(matches!(unknown, Err(Error::Unknown { .. })), "{unknown:?}");
    assert_eq!(world.store.streams(None).await.unwrap(), [], "nothing was made");
    let asked = Arrival { tenant: tenant("globex"), ..arrival("api:globex:1", RUN, at(0)) };
    world.store.admit(asked).await.unwrap();
    let lease = world.store.acquire(whoever()).await.unwrap();
    assert_eq!((lease.epoch, lease.next_seq, lease.is_first()), (1, 1, true));
    let held = world.store.acquire(LeaseRequest { owner: Owner("b".to_owned()), ..whoever() }).await;
    assert!(matches!(held, Err(Error::Held { .. })), "{held:?}");
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, done(), at(1)).await.unwrap();
    let streams = world.store.streams(None).await.unwrap();
    assert_eq!((streams.len(), streams[0].tenant.as_str()), (1, "globex"));
    world.append(&lease, 1, ["one"], at(1)).await;
    let again = world.store.acquire(whoever()).await.unwrap();
    assert_eq!((again.epoch, again.next_seq), (2, 2), "it is there now, though nothing waits for it");
}

pub async fn a_stream_without_an_owner_is_woken_when_it_wants_to_be(world: World) {
    let waiting = async |now| world.store.waiting(at(now), 10).await.unwrap().len();
    let lease = world.lease(REPO, "a", at(0)).await;
    let wants = Batch { wake_at: Some(at(100)), ..batch(1, ["one"], at(0)) };
    world.store.append(&lease, wants).await.unwrap();
    assert_eq!(waiting(59).await, 0, "its owner looks after it");
    assert_eq!(waiting(99).await, 0, "not yet");
    assert_eq!(waiting(100).await, 1, "its owner is dead, and the time has come");
    let lease = world.lease(REPO, "b", at(100)).await;
    assert_eq!(waiting(101).await, 0);
    world.store.release(&lease, Some(at(200))).await.unwrap();
    assert_eq!((waiting(199).await, waiting(200).await), (0, 1));
    let lease = world.lease(REPO, "b", at(200)).await;
    world.store.release(&lease, None).await.unwrap();
    assert_eq!(waiting(1_000_000).await, 0, "it can wait for its next entry");
}

pub async fn the_same_owner_gets_a_new_epoch(world: World) {
    let first = world.lease(REPO, "a", at(0)).await;
    let second = world.lease(REPO, "a", at(1)).await;
    assert_eq!((first.epoch, second.epoch), (1, 2));
    let refused = world.store.append(&first, batch(1, ["lost"], at(2))).await;
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
}

pub async fn an_append_in_the_wrong_place_is_refused(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["one", "two"], at(1)).await;
    for wrong in [1, 2, 4] {
        let refused = world.store.append(&lease, batch(wrong, ["lost"], at(2))).await;
        let Err(Error::OutOfOrder { expected, found, .. }) = refused else { panic!("out of order, not {refused:?}") };
        assert_eq!((expected, found), (wrong, 3));
    }
    assert_eq!(world.load(REPO).await.events.len(), 2);
}

pub async fn an_append_is_all_or_nothing(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    world.admit("github:2", REPO, at(0)).await;
    let lease = world.lease(REPO, "a", at(0)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries[1..], done(), at(1)).await.unwrap();
    // The second one is settled already: neither the event nor the first one may go through.
    let settled = entries.iter().map(|entry| Settlement { entry: entry.id, outcome: done() }).collect();
    let refused = world.store.append(&lease, Batch { settled, ..batch(1, ["lost"], at(2)) }).await;
    assert!(matches!(&refused, Err(Error::LockLost { key }) if key.as_str() == "github:2"), "{refused:?}");
    assert_eq!(world.load(REPO).await.next_seq, 1);
    let left = world.store.unsettled(&stream(REPO), None, ALL).await.unwrap();
    assert_eq!(keys(&left), ["github:1"]);

    let nonsense = NewEvent { ts: at(3), data: "no JSON".to_owned() };
    let settled = vec![Settlement { entry: entries[0].id, outcome: done() }];
    let events = vec![event("fine", at(3)), nonsense];
    let refused = world.store.append(&lease, Batch { settled, events, ..batch(1, [], at(3)) }).await;
    assert!(refused.is_err());
    assert_eq!(world.load(REPO).await.events, []);
    assert_eq!(world.store.unsettled(&stream(REPO), None, ALL).await.unwrap().len(), 1);
}

pub async fn an_entry_cannot_be_settled_twice(world: World) {
    world.admit("github:1", REPO, at(0)).await;
    let lease = world.lease(REPO, "a", at(0)).await;
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries, done(), at(1)).await.unwrap();
    let refused = world.settle(&lease, &entries, failed("no"), at(2)).await;
    assert!(matches!(refused, Err(Error::LockLost { .. })), "{refused:?}");
}

pub async fn a_stream_that_never_was_is_empty(world: World) {
    let loaded = world.load(REPO).await;
    assert_eq!((loaded.generation, loaded.snapshot, loaded.events, loaded.next_seq), (0, None, vec![], 1));
    assert_eq!(world.store.history(&stream(REPO), None, 10).await.unwrap(), []);
}

pub async fn compaction_begins_a_new_generation_and_keeps_the_history(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["one", "two"], at(1)).await;
    assert_eq!(world.store.compact(&lease, snapshot(3, 2)).await.unwrap(), 1);
    world.append(&lease, 3, ["three"], at(3)).await;
    assert_eq!(world.store.compact(&lease, snapshot(4, 4)).await.unwrap(), 2);
    world.append(&lease, 4, ["four"], at(5)).await;

    let newest = world.load(REPO).await;
    assert_eq!((newest.generation, newest.next_seq), (2, 5));
    assert_eq!(newest.snapshot, Some(snapshot(4, 4)));
    assert_eq!(newest.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [4]);

    let oldest = world.store.load(&stream(REPO), Since::Oldest).await.unwrap();
    assert_eq!((oldest.generation, oldest.next_seq, oldest.snapshot), (2, 5, None));
    assert_eq!(oldest.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

pub async fn a_snapshot_out_of_place_is_refused(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["one", "two"], at(1)).await;
    assert!(matches!(world.store.compact(&lease, snapshot(4, 2)).await, Err(Error::OutOfOrder { .. })), "the future");
    world.store.compact(&lease, snapshot(2, 2)).await.unwrap();
    assert_eq!(world.load(REPO).await.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2]);
    assert!(matches!(world.store.compact(&lease, snapshot(1, 2)).await, Err(Error::OutOfOrder { .. })), "the past");
}

pub async fn history_is_read_backwards_in_pages(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["a", "b", "c"], at(1)).await;
    world.store.compact(&lease, snapshot(4, 2)).await.unwrap();
    world.append(&lease, 4, ["d", "e"], at(3)).await;
    let page = async |before, limit| {
        let events = world.store.history(&stream(REPO), before, limit).await.unwrap();
        events.iter().map(|event| event.seq).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, [4, 5]);
    assert_eq!(page(Some(4), 2).await, [2, 3], "across the snapshot");
    assert_eq!(page(Some(2), 2).await, [1]);
    assert_eq!(page(Some(1), 2).await, [] as [u64; 0]);
}

pub async fn streams_are_listed_with_what_waits_for_them(world: World) {
    world.admit("github:1", "repo:globex/late", at(0)).await;
    world.admit("github:2", REPO, at(0)).await;
    world.admit("github:3", REPO, at(0)).await;
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["one"], at(0)).await;
    world.store.compact(&lease, snapshot(2, 1)).await.unwrap();
    let entries = world.take(&lease).await;
    world.settle(&lease, &entries[..1], done(), at(2)).await.unwrap();

    let all = world.store.streams(None).await.unwrap();
    let told: Vec<_> = all
        .iter()
        .map(|it| {
            (it.stream.to_string(), it.tenant.as_str(), it.generation, it.next_seq, it.unsettled, it.owner.as_deref())
        })
        .collect();
    assert_eq!(
        told,
        [(REPO.to_owned(), "acme", 1, 2, 1, Some("a")), ("repo:globex/late".to_owned(), "globex", 0, 1, 1, None)]
    );
    let theirs = world.store.streams(Some(&tenant("globex"))).await.unwrap();
    assert_eq!(theirs.len(), 1);
    assert_eq!(theirs[0].tenant, tenant("globex"));
}

pub async fn the_streams_with_the_most_to_do_are_found_and_all_are_counted(world: World) {
    world.admit("github:1", "repo:globex/late", at(0)).await;
    world.admit("github:2", REPO, at(0)).await;
    world.admit("github:3", REPO, at(0)).await;
    let lease = world.lease(REPO, "a", at(0)).await;
    world.append(&lease, 1, ["one"], at(0)).await;
    let quiet = world.lease("repo:acme/quiet", "a", at(0)).await;
    world.append(&quiet, 1, ["one", "two"], at(0)).await;
    let left = world.lease("repo:acme/left", "b", at(0)).await;
    world.append(&left, 1, ["one", "two", "three"], at(0)).await;
    world.store.release(&left, None).await.unwrap();
    let run = LeaseRequest { tenant: Some(tenant("acme")), ..request("run:r-1", "a", at(0)) };
    world.store.acquire(run).await.unwrap();

    let found = async |owner: Option<&str>, limit| {
        let busy = world.store.busiest(owner.map(tenant).as_ref(), limit).await.unwrap();
        let names: Vec<_> = busy.streams.iter().map(|it| (it.stream.to_string(), it.unsettled)).collect();
        (names, (busy.count, busy.repos, busy.owned, busy.unsettled))
    };
    let named =
        |names: &[(&str, u64)]| names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
    let busy = [(REPO, 2), ("repo:globex/late", 1), ("repo:acme/quiet", 0), ("run:r-1", 0), ("repo:acme/left", 0)];
    assert_eq!(found(None, 10).await, (named(&busy), (5, 4, 3, 3)));
    assert_eq!(found(None, 2).await, (named(&busy[..2]), (5, 4, 3, 3)), "all are counted, whatever is listed");
    assert_eq!(found(Some("globex"), 10).await, (named(&busy[1..2]), (1, 1, 0, 1)));
    assert_eq!(found(Some("initech"), 10).await, (Vec::new(), (0, 0, 0, 0)));
}

pub async fn many_events_keep_their_order(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    let kinds: Vec<_> = (0..500).map(|number| format!("kind-{number}")).collect();
    let events = kinds.iter().map(|kind| event(kind, at(1))).collect();
    world.store.append(&lease, Batch { events, ..batch(1, [], at(1)) }).await.unwrap();
    let loaded = world.load(REPO).await;
    assert_eq!(loaded.next_seq, 501);
    for (stored, kind) in loaded.events.iter().zip(&kinds) {
        assert_eq!(stored.data, format!(r#"{{"type":"{kind}"}}"#));
    }
}
