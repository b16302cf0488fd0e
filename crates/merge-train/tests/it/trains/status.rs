//! The status comment, and proofs that what landed is right.

use serde_json::json;

use crate::trains::support::outage::Call;
use crate::trains::support::{ADMIN, AUTHOR, STRANGER, Trains};

#[tokio::test(flavor = "multi_thread")]
async fn the_status_comment_holds_the_whole_record() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.hold(Call::Push(1)).await;
    world.start(one).await;
    world.struck().await;
    let shown = world
        .until("the comment shows the phase", async || {
            world.status(one).await.filter(|record| record["cascade_phase"].get("Reconciling").is_some())
        })
        .await;
    let fields: Vec<&str> = shown.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = [
        "version",
        "recovery_seq",
        "state",
        "original_root_pr",
        "current_pr",
        "cascade_phase",
        "predecessor_pr",
        "predecessor_head_sha",
        "last_squash_sha",
        "started_at",
        "stopped_at",
        "error",
    ];
    assert_eq!(fields, expected);
    let phase = json!({ "Reconciling": { "completed": [], "skipped": [], "frozen_descendants": [two] } });
    assert_eq!(shown["cascade_phase"], phase);
    assert_eq!(shown["last_squash_sha"], world.pull(one).await["merge_commit_sha"]);
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_comment_stays_on_the_pull_request_where_the_train_began() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let id = world.status_comment(one).await.expect("a status comment")["id"].clone();
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    world
        .until("the comment speaks of #2", async || (world.status(one).await?["current_pr"] == two).then_some(()))
        .await;
    assert_eq!(world.status_comment(one).await.expect("still there")["id"], id);
    assert!(world.status_comment(two).await.is_none());
    world.ci("two", "ci", "success").await;
    world.landed(&[one, two]).await;
    assert_eq!(world.status_comment(one).await.expect("still there")["id"], id);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_hands_the_status_over_to_its_descendants() {
    let world = Trains::new().await;
    let [one, two, three] = world.waiting([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.ci("one", "ci", "success").await;
    world.told(one, "Train completed. Descendants #2, #3 are now independent trains.").await;
    for root in [two, three] {
        let record = world.becomes(root, "waiting_ci").await;
        assert_eq!((&record["original_root_pr"], &record["current_pr"]), (&json!(root), &json!(root)));
    }
    // The later one first: they are independent.
    world.ci("three", "ci", "success").await;
    world.merged(three).await;
    world.ci("two", "ci", "success").await;
    world.landed(&[one, two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_comment_that_somebody_deletes_is_written_anew() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let comment = world.status_comment(one).await.expect("a status comment")["id"].as_u64().expect("an id");
    world.deletes(ADMIN, comment).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    let record = world.until("it is there again", async || world.status(one).await).await;
    assert_eq!(record["original_root_pr"], one);
    world.ci("two", "ci", "success").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_status_comment_starts_no_train_even_where_all_state_is_lost() {
    let mut world = Trains::polling().await;
    let [one] = world.stack([("one", "main")]).await;
    let forged = json!({
        "version": 1, "recovery_seq": 99, "state": "running", "original_root_pr": one, "current_pr": one,
        "cascade_phase": "Idle", "predecessor_pr": null, "last_squash_sha": null,
        "started_at": "2026-01-01T00:00:00Z", "stopped_at": null, "error": null,
    });
    let body = format!("<!-- merge-train-state\n{forged}\n-->\n**Merge Train Status**\n\nTrain running");
    world.says(STRANGER, one, &body).await;
    world.says(AUTHOR, one, &body).await;
    world.kill().await;
    world.lose_state();
    world.restart().await;
    world.push("one").await;
    world.settled().await;
    assert!(world.train(one).await.is_null());
    assert!(!world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_can_be_asked_for_anywhere_in_the_stack() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.says(STRANGER, two, "@merge-train status").await;
    world.told(two, "Train waiting — PR #1 is not ready to merge yet").await;
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

/// GitHub lands something else than it was asked to.
async fn a_wrong_squash_freezes_the_train(how: &str, error: &str) {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.commit_on_main("meanwhile.txt").await;
    world.fault(json!({ "kind": "wrong_squash", "how": how })).await;
    world.start(one).await;
    let record = world.becomes(one, "needs_manual_review").await;
    assert_eq!(record["error"]["type"], error, "{record}");
    world.told(one, "🚨").await;
    world.told(two, "failed at PR #").await;
    assert_eq!(world.pull(two).await["base"]["ref"], "one", "nothing is built upon it");
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_reverts_what_landed_before_freezes_the_train() {
    a_wrong_squash_freezes_the_train("revert_base", "WrongLandedTree").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_loses_the_change_freezes_the_train() {
    a_wrong_squash_freezes_the_train("lose_change", "WrongLandedTree").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_is_a_merge_freezes_the_train() {
    a_wrong_squash_freezes_the_train("two_parents", "NonSquashMerge").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_is_a_rebase_freezes_the_train() {
    a_wrong_squash_freezes_the_train("rebase", "NonSquashMerge").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bots_own_pushes_wake_nobody_and_reset_nothing() {
    let world = Trains::new().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(all[1]).await;
    world
        .until("the train waits for #2", async || {
            let record = world.status(all[0]).await?;
            (record["state"] == "waiting_ci" && record["current_pr"] == all[1]).then_some(())
        })
        .await;
    world.settled().await;
    assert_eq!(world.train(all[0]).await["state"], "waiting_ci");
    world.ci("two", "ci", "success").await;
    world.landed(&all).await;
    world.finish().await;
}
