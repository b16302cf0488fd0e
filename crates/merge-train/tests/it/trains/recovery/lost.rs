//! A daemon that has lost its disk: GitHub remembers.

use serde_json::Value;

use crate::trains::support::outage::Call;
use crate::trains::support::{AUTHOR, Trains};

/// Waits until the status comment shows this phase.
async fn comment_shows(world: &Trains, root: u64, phase: &str) {
    world
        .until(&format!("the comment shows {phase}"), async || {
            let shown = world.status(root).await?["cascade_phase"].clone();
            (shown == phase || shown.get(phase).is_some()).then_some(())
        })
        .await;
}

/// What the daemon knows of a train, once it knows of it.
async fn known(world: &Trains, root: u64) -> Value {
    world.until("the train is known", async || Some(world.train(root).await).filter(|train| !train.is_null())).await
}

/// The daemon dies, its disk is lost, and another begins with nothing.
async fn lose_everything(world: &mut Trains) {
    world.kill().await;
    world.forget_faults().await;
    world.lose_state();
    world.restart().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_idle_it_waits_for_what_it_waited_for() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.ci("one", "ci", "success").await;
    world.merged(all[0]).await;
    world
        .until("the comment shows the next", async || {
            let record = world.status(all[0]).await?;
            (record["current_pr"] == all[1] && record["state"] == "waiting_ci").then_some(())
        })
        .await;
    lose_everything(&mut world).await;
    let train = known(&world, all[0]).await;
    assert_eq!(train["current_pr"], all[1]);
    world.settled().await;
    assert!(!world.is_merged(all[1]).await, "its check has not finished");
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_preparing_it_prepares_the_rest() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.push("one").await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    comment_shows(&world, all[0], "Preparing").await;
    lose_everything(&mut world).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_before_the_squash_it_squashes() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    comment_shows(&world, all[0], "SquashPending").await;
    lose_everything(&mut world).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_after_a_squash_that_nobody_recorded_it_does_not_squash_twice() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    comment_shows(&world, all[0], "SquashPending").await;
    world.kill().await;
    world.merge_by_hand(all[0], "squash").await;
    world.lose_state();
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_reconciling_it_reconciles_the_rest() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    comment_shows(&world, all[0], "Reconciling").await;
    lose_everything(&mut world).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_catching_up_it_catches_up() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.delay(Call::Push(1), 1500).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.phase(all[0], "Reconciling").await;
    world.commit_on_main("meanwhile.txt").await;
    comment_shows(&world, all[0], "CatchingUp").await;
    lose_everything(&mut world).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_retargeting_it_retargets_the_rest() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Retarget(all[2])).await;
    world.start(all[0]).await;
    world.struck().await;
    comment_shows(&world, all[0], "Retargeting").await;
    lose_everything(&mut world).await;
    world.landed(&all).await;
    world.finish().await;
}

/// What the comment shows is as old as its last update that came through.
async fn lost_with_a_comment_from_before(held: Call, phase: &str) {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.push("one").await;
    world.hold_all(Call::RewriteStatus).await;
    world.hold(held).await;
    world.start(all[0]).await;
    world.phase(all[0], phase).await;
    world.until("it hangs", async || world.has_struck(held).await.then_some(())).await;
    let shown = world.status(all[0]).await.map(|record| record["cascade_phase"].clone());
    assert!(shown.as_ref().is_some_and(|shown| shown.get(phase).is_none()), "the comment is behind: {shown:?}");
    lose_everything(&mut world).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_reconciling_with_a_comment_from_before_the_squash_everything_lands() {
    lost_with_a_comment_from_before(Call::Push(4), "Reconciling").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_while_retargeting_with_a_comment_from_before_the_squash_everything_lands() {
    lost_with_a_comment_from_before(Call::Retarget(3), "Retargeting").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_train_stays_stopped() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(all[1]).await;
    world.stop(all[1]).await;
    world.becomes(all[0], "stopped").await;
    world.settled().await;
    lose_everything(&mut world).await;
    world
        .until("it is known to be stopped", async || (world.train(all[0]).await["state"] == "stopped").then_some(()))
        .await;
    world.ci_passes("ci").await;
    world.settled().await;
    assert!(!world.is_merged(all[1]).await, "nobody has started it again");
    // Where it stands by now, as a train of its own; the old one gives way to it.
    world.start(all[1]).await;
    world.merged(all[1]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_train_stays_aborted() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    let declared = world.comments(all[1]).await[0]["id"].as_u64().expect("an id");
    world.deletes(AUTHOR, declared).await;
    let before = world.becomes(all[0], "aborted").await;
    world.settled().await;
    lose_everything(&mut world).await;
    let after = known(&world, all[0]).await;
    assert_eq!(after["error"]["message"], before["error"]["message"]);
    world.ci_passes("ci").await;
    world.settled().await;
    assert_eq!(world.train(all[0]).await["state"], "aborted", "nobody has started it again");
    let declared = world.declares(all[1], all[0]).await;
    world.acknowledged(declared).await;
    world.start_again(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_train_is_found() {
    let mut world = Trains::polling().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let [red, blue] = world.waiting([("red", "main"), ("blue", "red")]).await;
    let alone = world.open("alone", "main").await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    world
        .until("the comment shows the next", async || (world.status(one).await?["current_pr"] == two).then_some(()))
        .await;
    world.stop(red).await;
    world.becomes(red, "stopped").await;
    world.settled().await;
    lose_everything(&mut world).await;
    let found = world
        .until("both are known", async || {
            let trains = world.state().await["active_trains"].as_object()?.clone();
            (trains.len() == 2).then_some(trains)
        })
        .await;
    let of = |root: u64, name: &str| found[&root.to_string()][name].clone();
    assert_eq!((of(one, "current_pr"), of(red, "state")), (two.into(), Value::from("stopped")));
    world.start_again(red).await;
    world.ci_passes("ci").await;
    world.landed(&[one, two, red, blue]).await;
    assert!(!world.is_merged(alone).await, "it was never part of a train");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_frozen_stays_frozen() {
    let mut world = Trains::polling().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let late = world.open("late", "one").await;
    world.settled().await;
    world.hold(Call::Push(1)).await;
    world.start(one).await;
    world.struck().await;
    comment_shows(&world, one, "Reconciling").await;
    world.kill().await;
    world.declares(late, one).await;
    world.lose_state();
    world.restart().await;
    world.landed(&[one, two]).await;
    let frozen = |event: Value| Some(event["phase"].as_object()?.values().next()?["frozen_descendants"].clone());
    let frozen: Vec<Value> = world.events("phase_transition").await.into_iter().filter_map(frozen).collect();
    assert!(frozen.iter().flat_map(|set| set.as_array().expect("a list")).all(|number| *number != late), "{frozen:?}");
    // It was not among them, and is brought into order afterwards.
    world.retargeted(late).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_is_given_during_the_first_look_is_heard() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    world.restart().await;
    let stopped = world.says(AUTHOR, all[0], "@merge-train stop").await;
    world.acknowledged(stopped).await;
    world.becomes(all[0], "stopped").await;
    world.ci_passes("ci").await;
    world.settled().await;
    assert!(!world.is_merged(all[0]).await);
    world.finish().await;
}
