//! Daemons that die in the middle, and trains that carry on as if nothing had been.

mod believed;
mod crawl;
mod fan_out;
mod lifecycle;
mod lost;
mod precedence;
mod restart;
mod review;
mod squash;

use serde_json::json;

use crate::trains::support::outage::Call;
use crate::trains::support::{POLLING, Rules, Trains};

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_idle_it_looks_again_whether_the_pull_request_is_ready() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.kill().await;
    // What happens meanwhile is told to nobody.
    world.ci_passes("ci").await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_preparing_it_prepares_the_rest() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.push("one").await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    let record = world.phase(all[0], "Preparing").await;
    assert_eq!(record["cascade_phase"]["Preparing"]["completed"], json!([all[1]]));
    world.kill().await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_squash_it_squashes() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "SquashPending").await;
    world.kill().await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_a_squash_that_it_did_not_hear_of_it_does_not_squash_twice() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "SquashPending").await;
    world.kill().await;
    // As if the request had reached GitHub and the answer had not come back.
    world.merge_by_hand(all[0], "squash").await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_reconciling_it_reconciles_the_rest() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    let record = world.phase(all[0], "Reconciling").await;
    assert_eq!(record["cascade_phase"]["Reconciling"]["completed"], json!([all[1]]));
    world.kill().await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_catching_up_it_catches_up() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.delay(Call::Push(1), 1500).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.phase(all[0], "Reconciling").await;
    world.commit_on_main("meanwhile.txt").await;
    world.phase(all[0], "CatchingUp").await;
    world.kill().await;
    world.forget_faults().await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_retargeting_it_retargets_the_rest() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Retarget(all[2])).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "Retargeting").await;
    world.kill().await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_answer_is_lost_is_not_repeated() {
    let world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.push("one").await;
    world.lose_answer(Call::Push(1)).await;
    world.lose_answer(Call::Push(2)).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_whose_answer_is_lost_is_not_repeated() {
    let world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.lose_answer(Call::Squash).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retarget_whose_answer_is_lost_is_found_done() {
    let world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.lose_answer(Call::Retarget(all[1])).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_commit_that_github_names_late_is_waited_for() {
    let world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.fault(json!({ "kind": "lag_merge_commit_sha", "ms": 2500 })).await;
    world.lose_answer(Call::Squash).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_declared_while_the_daemon_was_dead_is_not_among_the_frozen() {
    let mut world = Trains::polling().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let late = world.open("late", "one").await;
    world.settled().await;
    world.hold(Call::Push(1)).await;
    world.start(one).await;
    world.struck().await;
    world.phase(one, "Reconciling").await;
    world.kill().await;
    world.declares(late, one).await;
    world.restart().await;
    world.landed(&[one, two]).await;
    let frozen: Vec<_> = world
        .events("phase_transition")
        .await
        .into_iter()
        .filter_map(|event| Some(event["phase"].as_object()?.values().next()?["frozen_descendants"].clone()))
        .collect();
    assert!(frozen.iter().all(|set| !set.as_array().expect("a list").contains(&json!(late))), "{frozen:?}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_that_was_never_prepared_is_not_reconciled() {
    let mut world = Trains::polling().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Squash).await;
    world.start(one).await;
    world.struck().await;
    world.phase(one, "SquashPending").await;
    world.kill().await;
    // The root gets a commit that the descendant does not have, and is merged by somebody.
    world.push("one").await;
    world.merge_by_hand(one, "squash").await;
    world.restart().await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "NotPrepared", "{record}");
    world.told(two, "Descendant #2 was not prepared before squash. Manual intervention required").await;
    assert_eq!(world.pull(two).await["base"]["ref"], "one");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_again_and_again_it_lands_everything_once() {
    let mut world = Trains::wish().config(POLLING).start().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_runs("ci", "true").await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.push("one").await;
    world.start(all[0]).await;
    world.until("the train is under way", async || (!world.train(all[0]).await.is_null()).then_some(())).await;
    for _ in 0..6 {
        let seen = world.state().await["recent_events"].as_array().map_or(0, Vec::len);
        world
            .until("something more has happened", async || {
                let now = world.state().await["recent_events"].as_array().map_or(0, Vec::len);
                (now >= seen + 3 || world.is_merged(all[2]).await).then_some(())
            })
            .await;
        world.kill().await;
        world.restart().await;
    }
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_word_that_is_ever_heard_of_a_repository_is_heard() {
    let mut world = Trains::new().await;
    world.kill().await;
    world.lose_state();
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    world.declares(two, one).await;
    world.restart().await;
    world.start(one).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}
