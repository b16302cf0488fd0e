//! Trains of which nobody knows how far they had come: a person has to look.

use reqwest::Method;
use serde_json::json;

use crate::trains::support::{ADMIN, Trains};

/// In the words of the specification.
fn told(descendants: &str) -> String {
    format!(
        "Train state was lost. Manual review required. The bot has identified {descendants} but cannot safely resume \
         mid-operation. Options: (a) Issue `@merge-train stop` then `@merge-train start` to restart from current position, \
         (b) Manually complete the cascade."
    )
}

/// A stack of three of which the first has landed, and a daemon that is dead and has lost everything.
async fn one_of_three_landed() -> (Trains, [u64; 3]) {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.ci("one", "ci", "success").await;
    world.merged(all[0]).await;
    world.retargeted(all[1]).await;
    world
        .until("the comment shows the next", async || {
            (world.status(all[0]).await?["current_pr"] == all[1]).then_some(())
        })
        .await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    (world, all)
}

async fn delete_status(world: &Trains, root: u64) {
    let comment = world.status_comment(root).await.expect("a status comment")["id"].as_u64().expect("an id");
    world.deletes(ADMIN, comment).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_status_comment_a_person_has_to_look_and_can_start_the_rest() {
    let (mut world, [one, two, three]) = one_of_three_landed().await;
    delete_status(&world, one).await;
    world.restart().await;
    let record = world.becomes(two, "needs_manual_review").await;
    assert_eq!((record["current_pr"].as_u64(), record["original_root_pr"].as_u64()), (Some(two), Some(two)));
    assert_eq!(record["error"]["message"], told("#3"));
    let comment = world.status_comment(two).await.expect("a status comment")["body"].clone();
    assert!(comment.as_str().expect("text").contains(&told("#3")), "{comment}");
    world.ci_passes("ci").await;
    world.settled().await;
    assert!(!world.is_merged(two).await, "nobody knows how far it was");
    let stopped = world.stop(two).await;
    world.acknowledged(stopped).await;
    world.becomes(two, "stopped").await;
    world.start_again(two).await;
    world.landed(&[one, two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_changes_nothing_about_that() {
    let (mut world, [one, two, three]) = one_of_three_landed().await;
    delete_status(&world, one).await;
    world.restart().await;
    world.becomes(two, "needs_manual_review").await;
    world.settled().await;
    world.kill().await;
    world.restart().await;
    world.ci_passes("ci").await;
    world.settled().await;
    assert_eq!(world.train(two).await["state"], "needs_manual_review");
    // The disk may be lost again, too: what the comment shows by now is what is known.
    world.kill().await;
    world.lose_state();
    world.restart().await;
    world.until("it is known", async || (world.train(two).await["state"] == "needs_manual_review").then_some(())).await;
    assert!(!world.is_merged(two).await);
    world.stop(two).await;
    world.becomes(two, "stopped").await;
    world.start_again(two).await;
    world.landed(&[one, two, three]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_had_landed_nothing_needs_a_person_as_well() {
    let mut world = Trains::polling().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    delete_status(&world, one).await;
    world.restart().await;
    let record = world.becomes(one, "needs_manual_review").await;
    assert_eq!(record["error"]["message"], told("#2"));
    world.ci_passes("ci").await;
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    world.start_again(one).await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cascade_can_be_completed_by_hand_instead() {
    let (mut world, [one, two, three]) = one_of_three_landed().await;
    delete_status(&world, one).await;
    world.restart().await;
    world.becomes(two, "needs_manual_review").await;
    world.ci_passes("ci").await;
    world.merge_by_hand(two, "squash").await;
    world.call(ADMIN, Method::POST, "/merges", json!({ "base": "three", "head": "main" })).await;
    world.retarget(three, "main").await;
    world.merge_by_hand(three, "squash").await;
    world.settled().await;
    assert_eq!(world.train(two).await["state"], "needs_manual_review", "until somebody says that it is done");
    let stopped = world.stop(two).await;
    world.acknowledged(stopped).await;
    world.becomes(two, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_without_a_train_is_left_alone() {
    let mut world = Trains::polling().await;
    let [one, two, three] = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    world.merge_by_hand(one, "squash").await;
    world.restart().await;
    // Whoever stood on what somebody merged is brought into order, and lands when somebody starts a train.
    world.retargeted(two).await;
    world.until("its worktree is gone", async || (!world.worktree(two).exists()).then_some(())).await;
    world.settled().await;
    let state = world.state().await;
    assert!(state["active_trains"].as_object().is_none_or(serde_json::Map::is_empty), "{}", state["active_trains"]);
    assert!(!world.is_merged(two).await && !world.is_merged(three).await);
    world.finish().await;
}
