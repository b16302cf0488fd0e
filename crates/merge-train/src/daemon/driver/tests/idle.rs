//! Workers end when there is nothing to do, and come back.

use std::time::Duration;

use merge_train_core::ids::StreamId;
use merge_train_core::repo::{EffectKey, mirror};

use super::widgets;
use super::world::{World, options, until};
use crate::daemon::driver::Options;

fn soon_idle() -> Options {
    Options { idle: Duration::from_millis(5), ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_with_nothing_to_do_ends_and_comes_back_for_the_next_delivery() {
    let (world, repo) = (World::with(soon_idle()).await, widgets());
    for id in 1..=3 {
        world.chat(&repo, [id]).await;
        world.until_processed(&repo, usize::try_from(id).unwrap()).await;
        until("the worker ends", async || world.driver.workers() == 0).await;
        let streams = world.store.streams(None).await.unwrap();
        let owners: Vec<_> = streams.into_iter().map(|info| (info.stream, info.owner)).collect();
        assert_eq!(owners, [(StreamId::Repo(repo.clone()), None)], "it lets go of the stream");
    }
    assert_eq!(world.processed(&repo).await, ["comment-1", "comment-2", "comment-3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_lying_when_deliveries_come_just_as_the_worker_ends() {
    let (world, repo) = (World::with(soon_idle()).await, widgets());
    let mut ends = 0;
    for id in 1..=60 {
        world.chat(&repo, [id]).await;
        world.until_processed(&repo, usize::try_from(id).unwrap()).await;
        // Now and then it has ended, now and then it is about to.
        ends += usize::from(world.driver.workers() == 0);
        for _ in 0..id * 37 % 200 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(world.processed(&repo).await.len(), 60, "each once; the worker had ended {ends} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_does_not_end_while_an_effect_is_under_way() {
    let (world, repo) = (World::with(soon_idle()).await, widgets());
    world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    world.chat(&repo, [1]).await;
    world.until_processed(&repo, 1).await;
    // Long enough for another worker to live and end many times.
    for id in 100..105 {
        world.chat(&super::gadgets(), [id]).await;
        until("the other worker ends", async || {
            world.processed(&super::gadgets()).await.len() > usize::try_from(id - 100).unwrap()
                && world.driver.workers() == 1
        })
        .await;
    }
    assert_eq!(world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).under_way, 1);
    world.outside.release(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    until("the worker ends", async || world.driver.workers() == 0).await;
}
