//! When a pull request may land: GitHub's `mergeStateStatus`, drafts, and the CI of the very head that lands.

use reqwest::Method;
use serde_json::json;

use crate::trains::support::outage::Call;
use crate::trains::support::{POLLING, REPO, Rules, Trains};

const MERGE: &str = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge";

#[tokio::test(flavor = "multi_thread")]
async fn clean_lands() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], approvals: 1, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let [one] = world.stack([("one", "main")]).await;
    world.ci("one", "ci", "success").await;
    world.approve(one).await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unstable_lands_because_the_failing_check_is_not_required() {
    let world = Trains::new().await;
    world.ci_waits("lint").await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.ci("one", "lint", "failure").await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_required_checks_nobody_waits_for_ci() {
    let world = Trains::new().await;
    // No suite ever ends.
    world.ci_waits("lint").await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_by_a_check_waits_says_why_and_lands_when_the_check_passes() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.waits_because(one, "The check `ci` has not finished on PR #1 at `SHA`.").await;
    assert!(!world.is_merged(one).await);
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_by_a_missing_approval_waits_and_lands_when_it_is_given() {
    let world = Trains::new().await;
    world.protect(Rules { approvals: 1, ..Rules::default() }).await;
    let [one] = world.stack([("one", "main")]).await;
    world.start(one).await;
    world.becomes(one, "waiting_ci").await;
    world.waits_because(one, "PR #1 needs an approving review.").await;
    world.approve(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_at_the_root_is_updated_and_lands_when_ci_has_seen_the_update() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], strict: true, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let [one] = world.stack([("one", "main")]).await;
    world.ci("one", "ci", "success").await;
    world.commit_on_main("meanwhile.txt").await;
    let before = world.head("one").await;
    world.start(one).await;
    world.until("the root is updated", async || (world.head("one").await != before).then_some(())).await;
    world.waits_because(one, "The check `ci` has not finished on PR #1 at `SHA`.").await;
    assert!(!world.is_merged(one).await, "CI has not seen that head");
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_at_a_root_that_conflicts_with_main_aborts() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], strict: true, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let [one, two] = world.stack([("one", "main"), ("two", "one")]).await;
    world.change_line("one", 40, "what one says").await;
    world.start(one).await;
    world.becomes(one, "waiting_ci").await;
    world.commit_on_main("meanwhile.txt").await;
    // Between GitHub's word that it is behind and the update, something more reaches main.
    world.delay(Call::Fetch, 2000).await;
    world.ci("one", "ci", "success").await;
    world.struck().await;
    world.change_line("main", 40, "what main says").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergeConflict");
    world
        .told(
            one,
            "Cannot update PR #1: merge conflicts with main. Please resolve conflicts locally and push, then re-issue \
             `@merge-train start`.",
        )
        .await;
    world.told(two, "failed at PR #").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_during_preparation_is_cured_by_the_preparation() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.protect_branch("one", Rules { strict: true, ..Rules::default() }).await;
    world.push("one").await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_merge_state_says_nothing_while_the_base_is_gone() {
    let world = Trains::wish().config(POLLING).settings(json!({ "delete_branch_on_merge": true })).start().await;
    // For a second after each push, GitHub does not know.
    world
        .control(Method::PATCH, "/settings", json!({ "merge_state_lag_ms": 1000, "merge_state_lag_mode": "unknown" }))
        .await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_after_the_retarget_is_caught_up_again() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], strict: true, ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.ci("one", "ci", "success").await;
    world.start(all[0]).await;
    world.merged(all[0]).await;
    world.retargeted(all[1]).await;
    world.commit_on_main("meanwhile.txt").await;
    let before = world.head("two").await;
    world.ci("two", "ci", "success").await;
    world.until("#2 is caught up", async || (world.head("two").await != before).then_some(())).await;
    assert!(!world.is_merged(all[1]).await);
    world.ci("two", "ci", "success").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dirty_aborts_and_names_what_to_do() {
    let world = Trains::new().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.change_line("main", 0, "what main says").await;
    world.ci("one", "ci", "success").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergeConflict");
    world.told(one, "**What to do:**").await;
    world.told(two, "failed at PR #").await;
    assert!(!world.is_merged(one).await);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_is_asked_again() {
    let world = Trains::polling().await;
    let [one] = world.stack([("one", "main")]).await;
    world
        .control(Method::PATCH, "/settings", json!({ "merge_state_lag_ms": 2000, "merge_state_lag_mode": "unknown" }))
        .await;
    world.push("one").await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn has_hooks_aborts() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    let hooks = json!({ "has_pre_receive_hook": true });
    world.control(Method::PATCH, &format!("/repos/{REPO}"), hooks).await;
    world.ci("one", "ci", "success").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergeHooksEnabled");
    world.told(one, "HAS_HOOKS").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_not_started() {
    let world = Trains::new().await;
    let one = world.open_draft("one", "main").await;
    world.start(one).await;
    world.told(one, "Cannot start merge train: PR #1 is a draft. Please mark it as ready for review first.").await;
    assert!(world.train(one).await.is_null());
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_that_is_a_draft_is_waited_for() {
    let world = Trains::new().await;
    let one = world.open("one", "main").await;
    let two = world.open_draft("two", "one").await;
    let declared = world.declares(two, one).await;
    world.acknowledged(declared).await;
    world.start(one).await;
    world.merged(one).await;
    world.waits_because(one, "PR #2 is a draft.").await;
    assert!(!world.is_merged(two).await);
    world.ready(two).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_is_turned_into_a_draft_is_waited_for() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.draft(one).await;
    world.ci("one", "ci", "success").await;
    world.waits_because(one, "PR #1 is a draft.").await;
    assert!(!world.is_merged(one).await);
    world.ready(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_of_the_head_before_the_push_is_not_believed() {
    let world = Trains::new().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.control(Method::PATCH, "/settings", json!({ "merge_state_lag_ms": 3000 })).await;
    world.ci("one", "ci", "success").await;
    world.merged(all[0]).await;
    world.retargeted(all[1]).await;
    // All who asked had the old state of #2 for an answer: clean.
    world
        .until("GitHub knows better", async || (world.pull(all[1]).await["mergeable_state"] == "blocked").then_some(()))
        .await;
    assert_eq!(world.calls(MERGE).await, 1, "nobody tried to merge #2");
    world.ci("two", "ci", "success").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_and_a_status_are_both_waited_for() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci", "legacy"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.commit_status(&world.head("one").await, "legacy", "success").await;
    world.ci("one", "ci", "success").await;
    world.start(all[0]).await;
    world.retargeted(all[1]).await;
    let head = world.head("two").await;
    world.commit_status(&head, "legacy", "pending").await;
    world.ci("two", "ci", "success").await;
    world.settled().await;
    assert!(!world.is_merged(all[1]).await);
    world.commit_status(&head, "legacy", "success").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_alone_is_enough_where_nothing_else_reports() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["legacy"], ..Rules::default() }).await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.commit_status(&world.head("one").await, "legacy", "success").await;
    world.start(all[0]).await;
    world.retargeted(all[1]).await;
    let head = world.head("two").await;
    world.commit_status(&head, "legacy", "pending").await;
    world.commit_status(&head, "legacy", "success").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_an_older_head_wakes_nobody() {
    let world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    let old = world.head("one").await;
    world.push("one").await;
    world.commit_status(&old, "ci", "success").await;
    world.settled().await;
    assert!(!world.is_merged(one).await);
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_never_came_is_made_up_for_by_polling_and_the_log_tells_so() {
    let world = Trains::polling().await;
    let [one] = world.waiting([("one", "main")]).await;
    for event in ["check_suite", "check_run"] {
        world.fault(json!({ "kind": "drop_webhook", "match": { "event": event }, "count": null })).await;
    }
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    let log = world.daemon().log();
    assert!(log.contains(r#""trigger":"poll","message":"evaluating cascade (poll fallback)""#), "it was no webhook");
    world.finish().await;
}
