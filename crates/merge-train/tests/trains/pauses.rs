//! What makes a train wait, and what ends it: "Pause Conditions", row by row.

use serde_json::json;

use crate::support::outage::Call;
use crate::support::{COMPARING, Rules, Trains};

#[tokio::test(flavor = "multi_thread")]
async fn a_required_check_that_fails_on_a_descendant_is_waited_for_until_somebody_pushes_a_fix() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    world.ci("two", "ci", "failure").await;
    world.waits_because(one, "The required check `ci` failed on PR #2 at `SHA`.").await;
    world.push("two").await;
    world.ci("two", "ci", "success").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_withdrawn_is_waited_for() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], approvals: 1, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let [one] = world.stack([("one", "main")]).await;
    world.approve(one).await;
    world.start(one).await;
    world.becomes(one, "waiting_ci").await;
    world.review(one, "REQUEST_CHANGES").await;
    world.ci("one", "ci", "success").await;
    world.settled().await;
    assert!(!world.is_merged(one).await);
    world.waits_because(one, "A reviewer requested changes on PR #1.").await;
    world.approve(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_fails_for_now_is_tried_again() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.refuse(Call::Squash, 502, "Server Error", 1).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_onto_a_branch_that_was_modified_is_tried_again() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.refuse(Call::Squash, 405, "Base branch was modified. Review and try the merge again.", 1).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_whose_checks_github_does_not_see_yet_is_tried_again_and_then_waits_for_the_next_status() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    world.refuse(Call::Squash, 405, "Required status check \"ci\" is expected.", 4).await;
    world.start(one).await;
    world
        .waits_because(one, "GitHub does not merge PR #1 for now. It says: `Required status check \"ci\" is expected`.")
        .await;
    assert!(!world.is_merged(one).await);
    world.commit_status(&world.head("one").await, "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

async fn a_refusal_aborts(message: &str) {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.refuse(Call::Squash, 405, message, 1).await;
    world.start(one).await;
    let record = world.becomes(one, "aborted").await;
    let error = record["error"]["message"].as_str().expect("text");
    assert!(error.contains(message), "{error}");
    world.told(one, message).await;
    world.told(two, "is halted").await;
    assert!(!world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_that_lacks_an_approval_aborts() {
    a_refusal_aborts("At least 1 approving review is required by reviewers with write access.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_of_what_must_be_signed_aborts() {
    a_refusal_aborts("Changes must be signed.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_nobody_knows_aborts() {
    a_refusal_aborts("The moon is in the wrong house.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preparation_that_conflicts_aborts_before_anything_has_landed() {
    let world = Trains::new().await;
    let [one, two, three] = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.change_line("one", 40, "what one says").await;
    world.change_line("two", 40, "what two says").await;
    world.ci("one", "ci", "success").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergeConflict");
    let told = world.told(two, "Cannot prepare PR #2: merge conflicts with its predecessor #1.").await;
    assert!(told.contains("`shared.txt`"), "{told}");
    world.told(three, "is halted").await;
    assert!(!world.is_merged(one).await);
    // Resolved by hand, and started again.
    world.merge_into("two", "one").await;
    world.ci_passes("ci").await;
    world.start_again(one).await;
    world.landed(&[one, two, three]).await;
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
    world.told(three, "is halted").await;
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
    let [one, _, three] = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    // That the pull request was closed with its branch, nobody hears.
    world.fault(json!({ "kind": "drop_webhook", "match": { "event": "pull_request.closed" } })).await;
    world.delay(Call::Squash, 1500).await;
    world.start(one).await;
    world.struck().await;
    world.delete_branch("two").await;
    world.landed(&[one, three]).await;
    world.told(one, "The branch `two` of descendant #2 was deleted during cascade, skipping.").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn declarations_that_form_a_ring_behind_the_bots_back_abort() {
    let world = Trains::wish().config(COMPARING).start().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.push("one").await;
    for event in ["pull_request.edited", "issue_comment.created"] {
        world.fault(json!({ "kind": "drop_webhook", "match": { "event": event } })).await;
    }
    world.retarget(one, "two").await;
    world.declares(one, two).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "CycleDetected");
    world.told(one, "Cycle detected in the predecessor declarations").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_is_dismissed_aborts_and_another_approval_alone_resumes_nothing() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], approvals: 1, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let [one] = world.stack([("one", "main")]).await;
    let review = world.approve(one).await;
    world.start(one).await;
    world.becomes(one, "waiting_ci").await;
    world.dismiss(one, review).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "ReviewDismissed");
    world.told(one, "A review of PR #1 was dismissed.").await;
    world.approve(one).await;
    world.ci("one", "ci", "success").await;
    world.settled().await;
    assert!(!world.is_merged(one).await, "the reviewer may have meant it");
    world.start_again(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_review_that_a_push_dismissed_by_a_setting_aborts_and_names_the_setting() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], approvals: 1, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.approve(one).await;
    world.approve(two).await;
    world.start(one).await;
    world.becomes(one, "waiting_ci").await;
    // Turned on while the train is under way, and noticed at the next push.
    world.protect(Rules { checks: &["ci"], approvals: 1, dismiss_stale: true, ..Rules::default() }).await;
    world.push("one").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "ReviewDismissed");
    world.told(one, "\"Dismiss stale pull request approvals when new commits are pushed\" enabled").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_by_somebody_else_as_a_squash_is_taken_for_the_trains_own() {
    let world = Trains::polling().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.merge_by_hand(one, "squash").await;
    world.retargeted(two).await;
    world
        .until("the train goes on, or says that it cannot", async || {
            let record = world.status(one).await;
            let gone_on =
                record.as_ref().is_none_or(|record| record["current_pr"] == two || record["state"] == "aborted");
            gone_on.then_some(())
        })
        .await;
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
    world.told(two, "is halted").await;
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_train_leaves_a_clean_worktree_and_goes_on_when_it_is_started_again() {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.refuse(Call::Squash, 405, "Changes must be signed.", 1).await;
    world.start(one).await;
    world.becomes(one, "aborted").await;
    world.settled().await;
    world.start_again(one).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}
