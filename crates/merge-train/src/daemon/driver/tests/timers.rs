//! What is due is done when it is, whatever else goes on at that moment.

use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{PrNumber, RepoId};
use merge_train_core::repo::{EffectKey, Event, FetchReason, ReadKind, Settings, mirror};

use super::world::{World, known, options, until};
use super::{fetch, widgets};
use crate::clock;
use crate::daemon::driver::{Options, Urgency};

#[tokio::test(flavor = "multi_thread")]
async fn a_full_look_that_fell_due_while_no_worker_was_there_is_made_up_for() {
    let settings = Settings { resync_interval: SignedDuration::from_mins(5), ..Settings::default() };
    let (world, repo) = (World::with(Options { settings: settings.clone(), ..options() }).await, widgets());
    let ten_minutes_ago = clock::now().checked_sub(SignedDuration::from_mins(10)).unwrap();
    world.import(&repo, known([1]), ten_minutes_ago).await;
    world.chat(&repo, [1]).await;
    until("the repository is surveyed", async || {
        world.outside.seen(&repo, EffectKey::Mirror(mirror::EffectKey::Survey)).begun == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_falls_due_while_a_tick_is_being_recorded_is_not_forgotten() {
    let settings = Settings { resync_interval: SignedDuration::from_secs(2), ..Settings::default() };
    let world = World::with(Options { settings: settings.clone(), ..options() }).await;
    let surveyed_at = clock::now().checked_sub(SignedDuration::from_secs(1)).unwrap();
    let due = surveyed_at.checked_add(settings.resync_interval).unwrap();
    let repos: Vec<RepoId> = (1..=64).map(|number| RepoId::new("acme", &format!("part-{number}")).unwrap()).collect();
    for (repo, after_ms) in repos.iter().zip((1..=8).cycle()) {
        // The survey takes long, so that its end reminds nobody of the rest.
        world.outside.hold(repo, EffectKey::Mirror(mirror::EffectKey::Survey));
        let retry_at = due.checked_add(SignedDuration::from_millis(after_ms)).unwrap();
        world.import(repo, unlucky(retry_at), surveyed_at).await;
        world.driver.wake(repo, Urgency::Usual);
    }
    for repo in &repos {
        until("it is surveyed and fetched", async || {
            world.outside.seen(repo, EffectKey::Mirror(mirror::EffectKey::Survey)).begun == 1
                && world.outside.seen(repo, fetch(5)).begun == 1
        })
        .await;
    }
}

/// A repository with a pull request that could not be fetched and is to be tried again then.
fn unlucky(retry_at: Timestamp) -> Vec<Event> {
    let pr = PrNumber::new(5);
    let failed = Event::Mirror(mirror::Event::ReadFailed {
        read: ReadKind::Pull(pr),
        reason: "a passing trouble".to_owned(),
        retry_at,
    });
    let wanted = Event::Mirror(mirror::Event::PrWanted { pr, reason: FetchReason::CacheMiss, comment: None });
    known([]).into_iter().chain([wanted, failed]).collect()
}
