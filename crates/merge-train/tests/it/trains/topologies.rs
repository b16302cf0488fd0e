//! Stacks of every shape land whole, and once.

use serde_json::json;

use crate::trains::support::{Rules, Trains};

/// What GitHub is asked at most for each pull request of a long stack.
const CALLS_PER_LANDING: u64 = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_single_pull_request_lands() {
    let world = Trains::new().await;
    let [one] = world.stack([("one", "main")]).await;
    world.start(one).await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_of_two_lands() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_of_three_lands_although_the_lower_ones_grew_after_the_upper_were_opened() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.push("one").await;
    world.push("two").await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_of_ten_lands_with_few_calls_to_github() {
    let world = Trains::new().await;
    let all = world
        .stack([
            ("one", "main"),
            ("two", "one"),
            ("three", "two"),
            ("four", "three"),
            ("five", "four"),
            ("six", "five"),
            ("seven", "six"),
            ("eight", "seven"),
            ("nine", "eight"),
            ("ten", "nine"),
        ])
        .await;
    world.settled().await;
    world.forget_calls().await;
    world.start(all[0]).await;
    // Looked for in the daemon's own memory: what this test asks GitHub for must not be counted.
    world.until("the train is done", async || (!world.events("train_completed").await.is_empty()).then_some(())).await;
    let calls = world.all_calls().await;
    let count: u64 = calls.values().sum();
    println!("{count} calls for {} landed pull requests: {calls:#?}", all.len());
    world.landed(&all).await;
    assert!(count <= CALLS_PER_LANDING * all.len() as u64, "{count} calls: {calls:#?}");
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_of_two_lands() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_of_three_lands_although_what_they_stand_on_grew() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one"), ("four", "one")]).await;
    world.push("one").await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_of_four_lands() {
    let world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one"), ("four", "one"), ("five", "one")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_depth_three_lands() {
    let world = Trains::new().await;
    let all = world
        .stack([
            ("one", "main"),
            ("two", "one"),
            ("three", "one"),
            ("four", "two"),
            ("five", "two"),
            ("six", "three"),
            ("seven", "three"),
        ])
        .await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_reach_main_between_the_squashes_are_kept() {
    let world = Trains::new().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    for (pr, branch) in all.into_iter().zip(["one", "two", "three"]) {
        world.retargeted(pr).await;
        world.commit_on_main(&format!("before-{branch}.txt")).await;
        world.ci(branch, "ci", "success").await;
        world.merged(pr).await;
    }
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_lands_where_a_check_is_required_that_ci_runs_for_every_push() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_runs("ci", "test -f shared.txt").await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_lands_where_heads_must_be_up_to_date_with_main() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], strict: true, ..Rules::default() }).await;
    world.ci_runs("ci", "test -f shared.txt").await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_lands_where_github_deletes_the_branch_of_what_was_merged() {
    let world = Trains::wish().settings(json!({ "delete_branch_on_merge": true })).start().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two"), ("four", "two")]).await;
    world.push("one").await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_lands_on_a_default_branch_of_another_name() {
    let world = Trains::wish().default_branch("develop").start().await;
    let all = world.stack([("one", "develop"), ("two", "one"), ("three", "two")]).await;
    world.push("one").await;
    world.start(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_waits_for_ci_delays_no_other() {
    let world = Trains::new().await;
    let slow = world.waiting([("one", "main"), ("two", "one")]).await;
    let quick = world.stack([("three", "main"), ("four", "three")]).await;
    world.ci("three", "ci", "success").await;
    world.start(quick[0]).await;
    world.merged(quick[0]).await;
    world.retargeted(quick[1]).await;
    world.ci("four", "ci", "success").await;
    world.landed(&quick).await;
    assert!(!world.is_merged(slow[0]).await);
    world.ci_passes("ci").await;
    world.landed(&slow).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stacks_that_start_together_both_land() {
    let world = Trains::new().await;
    let left = world.stack([("one", "main"), ("two", "one")]).await;
    let right = world.stack([("three", "main"), ("four", "three")]).await;
    world.start(left[0]).await;
    world.start(right[0]).await;
    world.landed(&[left, right].concat()).await;
    world.finish().await;
}
