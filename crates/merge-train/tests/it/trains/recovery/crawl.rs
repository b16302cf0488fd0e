//! The first look at a repository: large, interrupted, and with a GitHub that is not always there.

use crate::trains::support::outage::Call;
use crate::trains::support::{MAINTAINER, Rules, STRANGER, Trains};

const QUERIES: &str = "POST /graphql";
const LISTS: &str = "GET /repos/{owner}/{repo}/pulls";
/// With the one that has a train, more than fit into two readings of fifty.
const OTHERS: usize = 105;

/// A train in a crowd, and a daemon that is dead and has lost everything.
async fn large() -> (Trains, u64) {
    let mut world = Trains::new().await;
    let [one] = world.waiting([("one", "main")]).await;
    world.settled().await;
    world.kill().await;
    world.many(OTHERS).await;
    world.lose_state();
    (world, one)
}

/// Waits until the whole repository was read, and every merge state.
async fn is_read(world: &Trains) {
    world
        .until("everything is read", async || {
            let state = world.state().await;
            let mut prs = state["prs"].as_object()?.values();
            (state["lifecycle"] == "ready" && prs.all(|pr| pr["merge_state_wanted_since"].is_null())).then_some(())
        })
        .await;
    assert_eq!(world.state().await["prs"].as_object().expect("pull requests").len(), OTHERS + 1);
}

/// What was read of pull requests and their conversations, by the endpoint.
async fn read(world: &Trains) -> Vec<(String, u64)> {
    let calls = world.all_calls().await.into_iter();
    let is_about_them = |call: &str| call == QUERIES || call.contains("/pulls") || call.contains("/issues");
    calls.filter(|(call, _)| is_about_them(call) && !call.starts_with("PATCH ")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_repository_is_read_in_few_calls_and_known_after_a_restart() {
    let (mut world, one) = large().await;
    world.forget_calls().await;
    world.restart().await;
    is_read(&world).await;
    // Three for the conversations, three for the merge states. The list of those that are open has two pages.
    let expected = [(LISTS, 3), (QUERIES, 6)];
    assert_eq!(read(&world).await, expected.map(|(call, count)| (call.to_owned(), count)));
    world.settled().await;
    world.kill().await;
    world.forget_calls().await;
    world.restart().await;
    world
        .until("it has looked around", async || (!world.events("status_trusted").await.is_empty()).then_some(()))
        .await;
    is_read(&world).await;
    // Three for the merge states, and one for the status comment of the train.
    assert_eq!(read(&world).await, [(QUERIES.to_owned(), 4)]);
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_and_refused_in_the_middle_only_the_rest_is_read() {
    let (mut world, one) = large().await;
    world.limit(Call::List, 1, 1).await;
    world.restart_to_die_at("append.conversations_heard.after=return").await;
    world.dies().await;
    world.forget_calls().await;
    world.refuse(Call::Query, 502, "Bad Gateway", 2).await;
    world.truncate(Call::Query).await;
    world.restart_to_die_at("append.conversations_heard.after=return").await;
    world.dies().await;
    // Nothing more is answered until somebody has looked.
    world.refuse(Call::Query, 502, "Bad Gateway", 1000).await;
    world.restart().await;
    let unread = world.state().await["sync"]["unread"].as_u64().expect("a number");
    assert!((1..=50).contains(&unread), "two of three are done: {unread}");
    world.forget_faults().await;
    is_read(&world).await;
    assert_eq!(world.calls(LISTS).await, 0, "the list is not read again");
    world.ci("one", "ci", "success").await;
    world.landed(&[one]).await;
    world.finish().await;
}

/// A train whose status comment is not among the first hundred under its pull request, and a daemon that has lost everything.
async fn long_conversation() -> (Trains, [u64; 2], Vec<u64>) {
    let mut world = Trains::polling().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    let mut remarks = Vec::new();
    for number in 0..101 {
        remarks.push(world.says(STRANGER, all[0], &format!("Remark {number}.")).await);
    }
    world.start(all[0]).await;
    world.becomes(all[0], "waiting_ci").await;
    world.settled().await;
    world.kill().await;
    world.lose_state();
    (world, all, remarks)
}

/// The conversation that is kept need not hold all of it.
async fn tidy(world: &Trains, remarks: Vec<u64>) {
    for remark in remarks {
        world.deletes(STRANGER, remark).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_conversation_is_read_to_its_end() {
    let (mut world, all, remarks) = long_conversation().await;
    world.restart().await;
    world.until("the train is known", async || (!world.train(all[0]).await.is_null()).then_some(())).await;
    assert_eq!(world.train(all[0]).await["state"], "waiting_ci");
    tidy(&world, remarks).await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_comment_after_the_hundredth_that_somebody_edited_is_not_believed() {
    let (mut world, all, remarks) = long_conversation().await;
    let comment = world.status_comment(all[0]).await.expect("a status comment");
    let body = comment["body"].as_str().expect("a text").replace("\"recovery_seq\": ", "\"recovery_seq\": 4000");
    world.edits(MAINTAINER, comment["id"].as_u64().expect("an id"), &body).await;
    world.restart().await;
    let record = world.becomes(all[0], "needs_manual_review").await;
    assert!(record["recovery_seq"].as_u64() < Some(4000), "{record}");
    tidy(&world, remarks).await;
    world.stop(all[0]).await;
    world.becomes(all[0], "stopped").await;
    world.start_again(all[0]).await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}
