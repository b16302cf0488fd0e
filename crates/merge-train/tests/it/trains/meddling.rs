//! What people do to a stack while its train is under way.

use serde_json::json;

use crate::trains::support::Trains;
use crate::trains::support::outage::Call;

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_the_root_in_the_moment_of_its_squash_lands_nothing_that_nobody_checked() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.delay(Call::Squash, 1500).await;
    world.ci("one", "ci", "success").await;
    world.struck().await;
    world.push("one").await;
    // GitHub answers that the head was modified: the train looks again whether it is ready.
    world.waits_because(one, "The check `ci` has not finished on PR #1 at `SHA`.").await;
    assert!(!world.is_merged(one).await);
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_a_descendant_while_it_is_prepared_is_taken_in() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.push("one").await;
    world.delay(Call::Push(1), 1500).await;
    world.start(all[0]).await;
    world.struck().await;
    world.push("two").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_a_descendant_that_conflicts_with_its_preparation_aborts() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.change_line("one", 40, "what one says").await;
    world.delay(Call::Push(1), 1500).await;
    world.start(one).await;
    world.struck().await;
    world.change_line("two", 40, "what two says").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergeConflict");
    world.told(two, "Someone pushed to PR #2 during the cascade").await;
    assert!(!world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_to_a_descendant_while_it_is_reconciled_aborts() {
    let world = Trains::new().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.delay(Call::Push(1), 1500).await;
    world.start(one).await;
    world.struck().await;
    world.push("two").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PushRejected");
    world.told(two, "Branch was modified during cascade. Remote has tree").await;
    world.told(three, "failed at PR #").await;
    assert!(world.is_merged(one).await && !world.is_merged(two).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_a_rule_forbids_aborts_and_is_not_tried_for_ever() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.push("one").await;
    world.lock_branch("two").await;
    world.start(one).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PushRejected");
    world.told(two, "was rejected").await;
    assert!(!world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_with_what_reached_main_after_the_squash_aborts() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.change_line("two", 40, "what two says").await;
    world.delay(Call::Push(1), 2000).await;
    world.start(one).await;
    world.struck().await;
    world.change_line("main", 40, "what main says").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["message"], "Conflict with commits on main that landed after the squash.");
    world.told(two, "Conflict with commits on main that landed after the squash.").await;
    assert!(world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_is_closed_aborts_and_can_be_started_again_once_it_is_open() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.close(one).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PrClosed");
    world.told(one, "PR #1 was closed without being merged.").await;
    world.told(two, "is orphaned").await;
    world.reopen(one).await;
    world.ci_passes("ci").await;
    world.start_again(one).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_that_is_closed_during_the_cascade_is_skipped() {
    let world = Trains::new().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.delay(Call::Squash, 1500).await;
    world.start(one).await;
    world.struck().await;
    world.close(two).await;
    world.landed(&[one, three]).await;
    world.told(one, "Descendant #2 was closed during cascade, skipping.").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_whose_only_descendant_is_closed_is_done_with_what_landed() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.delay(Call::Squash, 1500).await;
    world.start(one).await;
    world.struck().await;
    world.close(two).await;
    world.landed(&[one]).await;
    world.told(one, "Descendant #2 was closed during cascade, skipping.").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_whose_branch_is_deleted_during_the_cascade_is_skipped() {
    let world = Trains::new().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    // That the pull request was closed with its branch, nobody hears.
    world.fault(json!({ "kind": "drop_webhook", "match": { "event": "pull_request.closed" } })).await;
    world.delay(Call::Squash, 1500).await;
    world.start(one).await;
    world.struck().await;
    world.delete_branch("two").await;
    world.landed(&[one, three]).await;
    world.told(one, "The branch `two` of descendant #2 was deleted during cascade, skipping.").await;
    world.settled().await;
    assert!(world.status_comment(two).await.is_none(), "what was skipped is not tried again by itself");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_somebody_else_as_a_squash_is_taken_for_the_trains_own() {
    let world = Trains::polling().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.merge_by_hand(one, "squash").await;
    world.retargeted(two).await;
    world.ci("two", "ci", "success").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_somebody_else_that_is_no_squash_aborts() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.set_repository(json!({ "allow_merge_commit": true })).await;
    world.merge_by_hand(one, "merge").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergedOutsideCascade");
    world.told(one, "PR was merged outside the cascade.").await;
    world.told(two, "failed at PR #").await;
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declarations_that_form_a_ring_before_the_bot_came_start_nothing() {
    let mut world = Trains::new().await;
    world.kill().await;
    world.lose_state();
    let one = world.open("one", "main").await;
    let two = world.open("two", "one").await;
    world.declares(two, one).await;
    world.push("one").await;
    world.retarget(one, "two").await;
    world.declares(one, two).await;
    world.restart().await;
    world.start(one).await;
    world.told(one, "Cannot start merge train: cycle detected in the predecessor declarations: #1 → #2 → #1.").await;
    assert!(world.train(one).await.is_null());
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_with_another_base_than_the_default_branch_is_not_landed_there() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.branch("elsewhere", "main").await;
    world.retarget(one, "elsewhere").await;
    world.waits_because(one, "PR #1 targets `elsewhere`, not `main`.").await;
    world.ci("one", "ci", "success").await;
    world.settled().await;
    assert!(!world.is_merged(one).await);
    world.retarget(one, "main").await;
    world.landed(&[one]).await;
    world.finish().await;
}
