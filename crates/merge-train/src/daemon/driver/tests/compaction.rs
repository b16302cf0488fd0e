//! Snapshots: taken in time, and worth as much as the events that they stand for.

use std::time::Duration;

use merge_train_core::ids::{RepoId, StreamId};
use store::Since;

use super::webhook::Webhook;
use super::widgets;
use super::world::{World, options};
use crate::daemon::driver::{Options, replay};

/// Comes to rest, and says which generation it is in; from the newest snapshot and from the oldest follows the same.
async fn generation_at_rest(world: &World, repo: &RepoId) -> u64 {
    world.driver.stop(Duration::from_secs(60)).await;
    let stream = StreamId::Repo(repo.clone());
    let newest = world.store.load(&stream, Since::Newest).await.unwrap();
    let oldest = world.store.load(&stream, Since::Oldest).await.unwrap();
    let generation = newest.generation;
    assert!(newest.snapshot.is_some() && oldest.events.len() > newest.events.len());
    assert_eq!(replay(&stream, newest).unwrap(), replay(&stream, oldest).unwrap());
    generation
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_taken_after_so_many_events_and_changes_nothing() {
    let world = World::with(Options { compact_after_events: 20, ..options() }).await;
    let repo = widgets();
    for number in 1..=100 {
        world.send(&Webhook::opened(&repo, number)).await;
        if number % 10 == 0 {
            world.until_processed(&repo, usize::try_from(number).unwrap()).await;
        }
    }
    assert!(generation_at_rest(&world, &repo).await >= 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_does_not_grow_without_end_where_every_event_makes_the_state_larger() {
    let world = World::with(Options { compact_after_events: 20, ..options() }).await;
    let repo = widgets();
    world.knows(&repo, [1]).await;
    for tens in 0..20 {
        world.chat(&repo, tens * 10..(tens + 1) * 10).await;
        world.until_processed(&repo, usize::try_from(tens + 1).unwrap() * 10).await;
    }
    // At twenty, forty, eighty and a hundred and sixty, or a little later.
    assert!(generation_at_rest(&world, &repo).await >= 3);
}
