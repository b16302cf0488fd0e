//! A new process goes on where the one before was cut off.

use std::path::Path;

use merge_train_core::repo::{EffectKey, Event, mirror};
use store::Owner;
use tokio::runtime::Runtime;

use super::webhook::Webhook;
use super::widgets;
use super::world::{World, options, until};
use crate::daemon::driver::Options;

/// A life that ends between two instructions: whatever it had in memory is gone.
fn cut_off(what: impl AsyncFnOnce()) {
    Runtime::new().unwrap().block_on(what());
}

async fn second_life(dir: &Path) -> World {
    World::within(dir, Options { owner: Owner("second".to_owned()), ..options() }).await
}

#[test]
fn what_was_under_way_is_asked_for_again_after_a_restart_although_nothing_comes_in() {
    let (dir, repo) = (tempfile::tempdir().unwrap(), widgets());
    cut_off(async || {
        let world = World::within(dir.path(), options()).await;
        world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
        world.chat(&repo, [1]).await;
        until("the survey is under way", async || {
            world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).under_way == 1
        })
        .await;
    });
    cut_off(async || {
        let world = second_life(dir.path()).await;
        let driver = world.driver.clone();
        tokio::spawn(async move { driver.run().await });
        let is_survey = |event: &Event| matches!(event, Event::Mirror(mirror::Event::SyncCompleted {}));
        world.until_logged(&repo, "the survey is recorded", is_survey).await;
        assert_eq!(world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).begun, 1);
        assert_eq!(world.processed(&repo).await, ["comment-1"]);
    });
}

#[test]
fn what_nobody_had_worked_on_is_worked_on_after_a_restart() {
    let (dir, repo) = (tempfile::tempdir().unwrap(), widgets());
    cut_off(async || {
        let world = World::within(dir.path(), options()).await;
        for id in 1..=3 {
            world.admit(&Webhook::comment(&repo, 1, id, "Nice.")).await;
        }
    });
    cut_off(async || {
        let world = second_life(dir.path()).await;
        let driver = world.driver.clone();
        tokio::spawn(async move { driver.run().await });
        world.until_processed(&repo, 3).await;
        assert_eq!(world.processed(&repo).await, ["comment-1", "comment-2", "comment-3"]);
    });
}
