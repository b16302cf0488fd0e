//! What makes a train wait, and what ends it: "Pause Conditions", row by row.

use serde_json::json;

use crate::trains::support::outage::Call;
use crate::trains::support::{Rules, Trains};

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
async fn a_squash_that_is_one_too_many_for_githubs_limits_is_tried_again() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    let matcher = json!({ "method": "PUT", "path": "/repos/octocat/hello/pulls/*/merge" });
    world.fault(json!({ "kind": "status", "status": 429, "retry_after": 1, "match": matcher })).await;
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

/// GitHub will not do it, and says why.
async fn a_refusal_aborts(message: &str) {
    let world = Trains::new().await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.refuse(Call::Squash, 405, message, 1).await;
    world.start(one).await;
    let record = world.becomes(one, "aborted").await;
    let error = record["error"]["message"].as_str().expect("text");
    assert!(error.contains(message), "{error}");
    world.told(one, message).await;
    world.told(two, "failed at PR #").await;
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
    world.told(three, "failed at PR #").await;
    assert!(!world.is_merged(one).await);
    // Resolved by hand, and started again.
    world.merge_into("two", "one").await;
    world.ci_passes("ci").await;
    world.start_again(one).await;
    world.landed(&[one, two, three]).await;
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
