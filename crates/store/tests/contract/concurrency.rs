//! Many at once.

use std::collections::HashSet;
use std::sync::Arc;

use store::{Admission, Error};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

pub async fn fifty_arrivals_of_one_key_are_one(world: World) {
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let store = Arc::clone(&world.store);
            tokio::spawn(async move { store.admit(arrival("github:1", REPO, at(0))).await.unwrap() })
        })
        .collect();
    let mut accepted = 0;
    for task in tasks {
        match task.await.unwrap() {
            Admission::Accepted => accepted += 1,
            other => assert_eq!(other, Admission::InFlight { run_id: None }),
        }
    }
    assert_eq!(accepted, 1);
    assert_eq!(world.store.unsettled(&stream(REPO), None, ALL).await.unwrap().len(), 1);
}

pub async fn a_crowd_is_taken_in_whole(world: World) {
    let tasks: Vec<_> = (0..300)
        .map(|number| {
            let store = Arc::clone(&world.store);
            let on = format!("repo:acme/repo-{}", number % 3);
            tokio::spawn(async move { store.admit(arrival(&format!("github:{number}"), &on, at(0))).await.unwrap() })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), Admission::Accepted);
    }
    let mut seen = HashSet::new();
    for number in 0..3 {
        let lease = world.lease(&format!("repo:acme/repo-{number}"), "a", at(1)).await;
        for entry in world.take(&lease).await {
            assert_eq!(entry.body, entry.key.as_str().as_bytes(), "each has its own body");
            seen.insert(entry.key);
        }
    }
    assert_eq!(seen.len(), 300);
}

pub async fn of_many_who_want_a_stream_one_gets_it(world: World) {
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let store = Arc::clone(&world.store);
            tokio::spawn(async move { store.acquire(request(REPO, &format!("owner-{number}"), at(0))).await })
        })
        .collect();
    let mut leases = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(lease) => leases.push(lease),
            Err(error) => assert!(matches!(error, Error::Held { .. }), "{error:?}"),
        }
    }
    assert_eq!(leases.len(), 1);
    assert_eq!(leases[0].epoch, 1);
}

pub async fn a_refused_write_does_not_harm_its_neighbours(world: World) {
    let stale = world.lease(REPO, "a", at(0)).await;
    let lease = world.lease(REPO, "a", at(0)).await;
    let mut tasks = Vec::new();
    for number in 0..40 {
        let (store, stale) = (Arc::clone(&world.store), stale.clone());
        tasks.push(tokio::spawn(async move {
            let refused = store.append(&stale, batch(1, ["lost"], at(1))).await;
            assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
            let name = format!("github:{number}");
            assert_eq!(store.admit(arrival(&name, REPO, at(1))).await.unwrap(), Admission::Accepted);
            let nonsense = store::NewEvent { ts: at(1), data: "no JSON".to_owned() };
            let other = store.acquire(request(&format!("run:{number}"), "a", at(1))).await.unwrap();
            let wrong = store::Batch { events: vec![nonsense], ..batch(1, [], at(1)) };
            assert!(store.append(&other, wrong).await.is_err());
            store.append(&other, batch(1, ["fine"], at(1))).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    world.append(&lease, 1, ["fine"], at(2)).await;
    assert_eq!(world.take(&lease).await.len(), 40);
    for number in 0..40 {
        assert_eq!(world.load(&format!("run:{number}")).await.events.len(), 1);
    }
}

pub async fn a_caller_that_goes_away_leaves_nothing_open(world: World) {
    for number in 0..30 {
        let store = Arc::clone(&world.store);
        let name = format!("github:{number}");
        let task = tokio::spawn(async move { store.admit(arrival(&name, REPO, at(0))).await });
        if number % 2 == 0 {
            tokio::task::yield_now().await;
        }
        task.abort();
        let store = Arc::clone(&world.store);
        let task = tokio::spawn(async move { store.acquire(request(&format!("run:{number}"), "a", at(0))).await });
        tokio::task::yield_now().await;
        task.abort();
    }
    let lease = world.lease(REPO, "a", at(1)).await;
    world.append(&lease, 1, ["fine"], at(1)).await;
    world.store.check(at(2)).await.unwrap();
}

pub async fn concurrent_writers_of_one_stream_never_leave_a_gap(world: World) {
    let lease = world.lease(REPO, "a", at(0)).await;
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let (store, lease) = (Arc::clone(&world.store), lease.clone());
        tasks.push(tokio::spawn(async move {
            let mut next = 1;
            for _ in 0..10 {
                loop {
                    match store.append(&lease, batch(next, ["one", "two"], at(1))).await {
                        Ok(()) => break,
                        Err(Error::OutOfOrder { found, .. }) => next = found,
                        Err(error) => panic!("{error:?}"),
                    }
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let loaded = world.load(REPO).await;
    let seqs: Vec<_> = loaded.events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=160).collect::<Vec<_>>());
}
