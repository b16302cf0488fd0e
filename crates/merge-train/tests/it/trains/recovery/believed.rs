//! Whose word is believed: the bot's own, and nobody else's.

use crate::trains::support::{MAINTAINER, STRANGER, Trains};

/// A train that waits, the text of its status comment, and a daemon that is dead and has lost everything.
async fn lost_while_waiting() -> (Trains, [u64; 2], String) {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    let comment = world.status_comment(all[0]).await.expect("a status comment");
    world.kill().await;
    world.lose_state();
    (world, all, comment["body"].as_str().expect("a text").to_owned())
}

/// The same comment, of a train that is about to squash and far ahead.
fn tempting(body: &str) -> String {
    let from = body.find("\"cascade_phase\":").expect("a phase");
    let until = from + body[from..].find(",\n").expect("its end");
    let phase = r#""cascade_phase": {"SquashPending": {"skipped": [], "frozen_descendants": []}}"#;
    let body = format!("{}{phase}{}", &body[..from], &body[until..]);
    let from = body.find("\"recovery_seq\":").expect("a number");
    let until = from + body[from..].find(",\n").expect("its end");
    format!("{}\"recovery_seq\": 4000{}", &body[..from], &body[until..]).replace("waiting_ci", "running")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_comment_that_somebody_else_wrote_is_not_believed() {
    let (mut world, [one, two], body) = lost_while_waiting().await;
    let forged = world.says(STRANGER, one, &tempting(&body)).await;
    world.says(STRANGER, two, &tempting(&body).replace(": 1,", ": 2,")).await;
    world.restart().await;
    // The bot's own counts, although it says that it is further behind.
    world.waits_because(one, &format!("The check `ci` has not finished on PR #{one} at `SHA`.")).await;
    world.until("the train is known", async || (!world.train(one).await.is_null()).then_some(())).await;
    let train = world.train(one).await;
    assert!(train["recovery_seq"].as_u64() < Some(4000) && train["state"] == "waiting_ci", "{train}");
    world.settled().await;
    assert!(!world.is_merged(one).await);
    world.deletes(STRANGER, forged).await;
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forged_status_comment_begins_no_train() {
    let (world, [one, _], body) = lost_while_waiting().await;
    let mut world = world;
    let alone = world.open("alone", "main").await;
    let forged = tempting(&body).replace("\"original_root_pr\": 1", &format!("\"original_root_pr\": {alone}"));
    let forged = forged.replace("\"current_pr\": 1", &format!("\"current_pr\": {alone}"));
    world.says(STRANGER, alone, &forged).await;
    world.says(MAINTAINER, alone, &forged).await;
    world.restart().await;
    world.until("the train is known", async || (!world.train(one).await.is_null()).then_some(())).await;
    world.ci("alone", "ci", "success").await;
    world.settled().await;
    assert!(world.train(alone).await.is_null(), "nobody has started one");
    assert!(!world.is_merged(alone).await);
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_comment_that_a_maintainer_edited_is_not_believed() {
    let (mut world, [one, two], body) = lost_while_waiting().await;
    let comment = world.status_comment(one).await.expect("a status comment")["id"].as_u64().expect("an id");
    world.edits(MAINTAINER, comment, &tempting(&body)).await;
    world.restart().await;
    let record = world.becomes(one, "needs_manual_review").await;
    assert!(record["recovery_seq"].as_u64() < Some(4000), "{record}");
    world.settled().await;
    assert!(!world.is_merged(one).await);
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    world.start_again(one).await;
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_comment_that_a_maintainer_edited_misleads_no_restart_either() {
    let mut world = Trains::polling().await;
    let [one, two] = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    let comment = world.status_comment(one).await.expect("a status comment");
    world.kill().await;
    let body = tempting(comment["body"].as_str().expect("a text"));
    world.edits(MAINTAINER, comment["id"].as_u64().expect("an id"), &body).await;
    world.restart().await;
    world
        .until("what is remembered is trusted", async || {
            let state = world.state().await;
            (state["train_details"][one.to_string()]["status"]["doubted"] != true).then_some(())
        })
        .await;
    let train = world.train(one).await;
    assert!(train["recovery_seq"].as_u64() < Some(4000) && train["state"] == "waiting_ci", "{train}");
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_that_is_somebody_else_now_does_not_believe_the_one_before() {
    let mut world = Trains::polling().await;
    let [one, two, three] = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    world
        .until("the comment shows the next", async || (world.status(one).await?["current_pr"] == two).then_some(()))
        .await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    world.become_another_app("other-train").await;
    world.restart().await;
    let record = world.becomes(two, "needs_manual_review").await;
    assert_eq!(record["current_pr"], two);
    world.ci_passes("ci").await;
    world.settled().await;
    assert!(!world.is_merged(two).await);
    world.stop(two).await;
    world.becomes(two, "stopped").await;
    world.start_again(two).await;
    world.landed(&[two, three]).await;
    world.finish().await;
}
