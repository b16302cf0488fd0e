//! Effects run beside the worker, one of a kind at a time, and come back as inputs however they end.

use merge_train_core::ids::PrNumber;
use merge_train_core::repo::{EffectKey, Event, ReadKind, mirror};

use super::outside::Mishap;
use super::webhook::Webhook;
use super::widgets;
use super::world::{World, until};

fn is_survey(event: &Event) -> bool {
    matches!(event, Event::Mirror(mirror::Event::SyncCompleted {}))
}

/// Why the survey failed, if it did.
async fn failures(world: &World) -> Vec<String> {
    let failed = world.log(&widgets()).await.into_iter().filter_map(|recorded| match recorded.event {
        Event::Mirror(mirror::Event::ReadFailed { read: ReadKind::Repository, reason, .. }) => Some(reason),
        _ => None,
    });
    failed.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_processed_while_a_survey_is_under_way() {
    let (world, repo) = (World::new().await, widgets());
    world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    for id in 1..=20 {
        world.chat(&repo, [id]).await;
        world.until_processed(&repo, usize::try_from(id).unwrap()).await;
    }
    let seen = world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    assert_eq!((seen.begun, seen.under_way), (1, 1));
    assert!(!world.log(&repo).await.iter().any(|recorded| is_survey(&recorded.event)));

    world.outside.release(&repo, EffectKey::Mirror(mirror::EffectKey::Survey));
    world.until_logged(&repo, "the survey is recorded", is_survey).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_is_not_begun_again_while_its_like_is_under_way_but_what_is_owed_is_asked_for_after_it() {
    let (world, repo) = (World::new().await, widgets());
    world.knows(&repo, []).await;
    world.outside.hold(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates));
    for pr in 1..=6 {
        world.send(&Webhook::opened(&repo, pr)).await;
        world.until_processed(&repo, usize::try_from(pr).unwrap()).await;
        until("a reading is under way", async || {
            world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates)).under_way == 1
        })
        .await;
    }
    assert_eq!(world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates)).begun, 1);

    world.outside.release(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates));
    for pr in (1..=6).map(PrNumber::new) {
        let is_read = |event: &Event| matches!(event, Event::Mirror(mirror::Event::MergeStateObserved { pr: of, .. }) if *of == pr);
        world.until_logged(&repo, "every merge state is read", is_read).await;
    }
    let seen = world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::ReadMergeStates));
    assert_eq!((seen.begun, seen.most_at_once), (2, 1), "one more reading for all that had come in meanwhile");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_for_a_while_is_tried_again() {
    let (world, repo) = (World::new().await, widgets());
    world.outside.next(&repo, EffectKey::Mirror(mirror::EffectKey::Survey), Mishap::Fail);
    world.outside.next(&repo, EffectKey::Mirror(mirror::EffectKey::Survey), Mishap::Fail);
    world.chat(&repo, [1]).await;
    world.until_logged(&repo, "the survey succeeds", is_survey).await;
    assert_eq!(failures(&world).await, ["it was told to fail"; 2]);
    assert_eq!(world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).begun, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_panics_has_failed_for_a_while_and_the_worker_goes_on() {
    let (world, repo) = (World::new().await, widgets());
    world.outside.next(&repo, EffectKey::Mirror(mirror::EffectKey::Survey), Mishap::Panic);
    world.chat(&repo, [1]).await;
    until("the failure is recorded", async || !failures(&world).await.is_empty()).await;
    assert_eq!(failures(&world).await, ["survey panicked; this is a bug"]);

    world.chat(&repo, [2]).await;
    world.until_processed(&repo, 2).await;
    world.until_logged(&repo, "the survey is tried again", is_survey).await;
    assert_eq!(world.processed(&repo).await, ["comment-1", "comment-2"]);
}
