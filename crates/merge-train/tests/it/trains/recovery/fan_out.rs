//! A train that parts, cut in the middle of it.

use crate::trains::support::Trains;
use crate::trains::support::outage::Call;

/// Three that stand on one which has landed; the new trains have said so on the pull requests given, and on no other.
async fn cut_when_shown_on(shown: &[&str]) -> (Trains, [u64; 4]) {
    let world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "one"), ("four", "one")]).await;
    for (branch, number) in [("two", all[1]), ("three", all[2]), ("four", all[3])] {
        if !shown.contains(&branch) {
            world.hold_all(Call::Comment(number)).await;
        }
    }
    world.ci("one", "ci", "success").await;
    for number in &all[1..] {
        world.until("it has a train of its own", async || (!world.train(*number).await.is_null()).then_some(())).await;
    }
    for branch in shown {
        let number = all[["one", "two", "three", "four"].iter().position(|name| name == branch).expect("one of them")];
        world.until("its comment is there", async || world.status(number).await.map(drop)).await;
    }
    (world, all)
}

async fn lose_everything(world: &mut Trains, all: [u64; 4]) {
    world.kill().await;
    assert!(world.status(all[0]).await.is_some(), "as long as one shows nothing, the old comment stays");
    world.forget_faults().await;
    world.lose_state();
    world.restart().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_when_one_of_three_shows_its_train_the_others_are_begun() {
    let (mut world, all) = cut_when_shown_on(&["two"]).await;
    lose_everything(&mut world, all).await;
    world.told(all[0], "Train completed. Descendants #2, #3, #4 are now independent trains.").await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_when_two_of_three_show_their_trains_the_last_is_begun() {
    let (mut world, all) = cut_when_shown_on(&["two", "four"]).await;
    lose_everything(&mut world, all).await;
    for root in &all[1..] {
        world.becomes(*root, "waiting_ci").await;
    }
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_when_none_shows_its_train_the_old_one_parts_again() {
    let (mut world, all) = cut_when_shown_on(&[]).await;
    lose_everything(&mut world, all).await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_when_one_of_three_shows_its_train_the_others_show_theirs_later() {
    let (mut world, all) = cut_when_shown_on(&["three"]).await;
    world.kill().await;
    world.forget_faults().await;
    world.restart().await;
    world.told(all[0], "Train completed. Descendants #2, #3, #4 are now independent trains.").await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_after_one_of_three_has_landed_the_others_go_on() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "one"), ("four", "one")]).await;
    world.ci("one", "ci", "success").await;
    world.told(all[0], "Train completed. Descendants #2, #3, #4 are now independent trains.").await;
    world.ci("three", "ci", "success").await;
    world.told(all[2], "Train completed. Landed on `main`").await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    world.restart().await;
    for root in [all[1], all[3]] {
        world.until("it is found", async || (!world.train(root).await.is_null()).then_some(())).await;
    }
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}
