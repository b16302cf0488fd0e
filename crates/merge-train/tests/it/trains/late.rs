//! Pull requests that join when what they stand on has landed, or is about to.

use serde_json::json;

use crate::trains::support::outage::Call;
use crate::trains::support::{COMPARING, MAIN, POLLING, Trains};

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_declared_after_its_predecessor_landed_is_reconciled_and_retargeted() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    let late = world.open("late", "one").await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.commit_on_main("afterwards.txt").await;
    let declared = world.declares(late, one).await;
    world.acknowledged(declared).await;
    world.retargeted(late).await;
    // What it stands on was landed by a train, so one lands this, too.
    world.landed(&[late]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_declared_between_freeze_and_merge_is_late_and_not_reconciled_with_the_others() {
    let world = Trains::polling().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let late = world.open("late", "one").await;
    world.delay(Call::Squash, 2000).await;
    world.start(one).await;
    world.phase(one, "SquashPending").await;
    let declared = world.declares(late, one).await;
    world.acknowledged(declared).await;
    let frozen = &world.train(one).await["cascade_phase"]["SquashPending"]["frozen_descendants"];
    assert_eq!(*frozen, json!([two]), "who comes later was never prepared");
    world.landed(&[one, two]).await;
    world.retargeted(late).await;
    world.landed(&[late]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declaration_that_nobody_heard_is_found_by_polling() {
    let world = Trains::wish().config(POLLING).config(COMPARING).start().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    let late = world.open("late", "one").await;
    world.start(one).await;
    world.landed(&[one, two]).await;
    world.fault(json!({ "kind": "drop_webhook", "match": { "event": "issue_comment.created" } })).await;
    world.declares(late, one).await;
    world.retargeted(late).await;
    world.landed(&[late]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_for_one_further_up_joins_the_train_while_it_is_under_way() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    let three = world.open("three", "two").await;
    let declared = world.declares(three, two).await;
    world.acknowledged(declared).await;
    world.ci_passes("ci").await;
    world.landed(&[one, two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_pull_request_whose_predecessor_was_no_squash_is_told_so() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let late = world.open("late", "one").await;
    world.set_repository(json!({ "allow_merge_commit": true })).await;
    world.merge_by_hand(one, "merge").await;
    world.declares(late, one).await;
    world.told(late, "Predecessor #1 was merged with merge (not squash).").await;
    assert_eq!(world.pull(late).await["base"]["ref"], "one");
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_pull_request_whose_predecessor_was_rebased_is_told_so() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let late = world.open("late", "one").await;
    world.commit_on_main("meanwhile.txt").await;
    world.set_repository(json!({ "allow_rebase_merge": true })).await;
    world.merge_by_hand(one, "rebase").await;
    world.declares(late, one).await;
    world.told(late, "Manual intervention required").await;
    assert_eq!(world.pull(late).await["base"]["ref"], "one");
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_pull_request_that_conflicts_with_main_is_told_what_to_do() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    let late = world.open("late", "one").await;
    world.change_line("late", 40, "what late says").await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.change_line(MAIN, 40, "what main says").await;
    world.declares(late, one).await;
    let told = world.told(late, "cannot be reconciled with main").await;
    assert!(told.contains("`shared.txt`"), "{told}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_retargeted_by_hand_before_it_was_reconciled_is_warned_and_reconciled() {
    let mut world = Trains::wish().config(COMPARING).start().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.kill().await;
    world.merge_by_hand(one, "squash").await;
    world.retarget(two, "main").await;
    world.restart().await;
    world
        .told(
            two,
            "⚠️ **Warning**: This PR was retargeted to `main` but has not been reconciled with predecessor #1's squash commit.",
        )
        .await;
    world
        .until("#2 contains the squash of #1", async || {
            let squash = world.pull(one).await["merge_commit_sha"].as_str()?.to_owned();
            let compared = world.get(&format!("/compare/{squash}...two")).await;
            (compared["behind_by"] == 0).then_some(())
        })
        .await;
    world.settled().await;
    world.start(two).await;
    world.landed(&[two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_retargets_when_the_branch_is_deleted_and_the_pull_request_is_reconciled_all_the_same() {
    let world = Trains::wish().config(POLLING).settings(json!({ "delete_branch_on_merge": true })).start().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.merge_by_hand(one, "squash").await;
    world.retargeted(two).await;
    world
        .until("#2 contains the squash of #1", async || {
            let squash = world.pull(one).await["merge_commit_sha"].as_str()?.to_owned();
            let compared = world.get(&format!("/compare/{squash}...two")).await;
            (compared["behind_by"] == 0).then_some(())
        })
        .await;
    world.settled().await;
    world.start(two).await;
    world.landed(&[two]).await;
    world.finish().await;
}
