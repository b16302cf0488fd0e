//! A squash that GitHub knows of and the record does not, or the other way about.

use serde_json::{Value, json};

use crate::trains::support::Trains;
use crate::trains::support::outage::Call;

/// The record says that the squash was done, and has lost its commit.
fn without_its_squash(state: &mut Value, root: u64) {
    let key = root.to_string();
    let train = &mut state["active_trains"][&key];
    let frozen = train["cascade_phase"]["SquashPending"]["frozen_descendants"].clone();
    train["cascade_phase"] = json!({ "Reconciling": { "completed": [], "skipped": [], "frozen_descendants": frozen } });
    train["last_squash_sha"] = Value::Null;
    state["train_details"][&key].as_object_mut().expect("details").remove("intent");
}

/// A train whose squash gets no answer.
async fn squashing() -> (Trains, [u64; 2]) {
    let world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "SquashPending").await;
    (world, all)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_whose_commit_was_lost_is_asked_for_until_github_names_it() {
    let (mut world, all) = squashing().await;
    world.doctor_state(|state| without_its_squash(state, all[0])).await;
    world.fault(json!({ "kind": "lag_merge_commit_sha", "ms": 2500 })).await;
    world.merge_by_hand(all[0], "squash").await;
    world.restart().await;
    world.landed(&all).await;
    let waits: Vec<_> = world
        .events("work_delayed")
        .await
        .into_iter()
        .filter(|event| event["reason"] == format!("GitHub does not name the commit of #{} yet", all[0]))
        .collect();
    assert!(waits.len() >= 2, "it was waited for: {waits:?}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_was_recorded_and_never_done_is_done() {
    let (mut world, all) = squashing().await;
    world.doctor_state(|state| without_its_squash(state, all[0])).await;
    world.restart().await;
    world.landed(&all).await;
    let phases: Vec<String> = world
        .events("phase_transition")
        .await
        .iter()
        .filter(|event| event["current_pr"] == all[0])
        .filter_map(|event| Some(event["phase"].as_object()?.keys().next()?.clone()))
        .collect();
    assert_eq!(phases[..2], ["SquashPending", "Reconciling"], "{phases:?}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_its_commit_lost_a_descendant_that_was_never_prepared_is_not_reconciled() {
    let (mut world, [one, two]) = squashing().await;
    world
        .doctor_state(|state| {
            without_its_squash(state, one);
            // As if somebody had pushed to the root after it was prepared, and merged that.
            state["active_trains"][one.to_string()]["predecessor_head_sha"] = Value::Null;
        })
        .await;
    world.push("one").await;
    world.merge_by_hand(one, "squash").await;
    world.restart().await;
    let record = world.becomes(one, "aborted").await;
    let told = format!(
        "Descendant #{two} was not prepared before squash. Manual intervention required: rebase the descendant onto main."
    );
    assert_eq!(record["error"]["message"], told, "{record}");
    world.told(two, &told).await;
    assert_eq!(world.pull(two).await["base"]["ref"], "one");
    world.finish().await;
}
