//! What cannot be done is tried a few times, and then somebody is told.

use std::time::{Duration, Instant};

use serde_json::json;

use super::BOTH;
use crate::trains::support::outage::Call;
use crate::trains::support::{AUTHOR, Trains};

const PUSHES: &str = "POST /{owner}/{repo}.git/git-receive-pack";
const MERGES: &str = "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge";
const FETCHES: &str = "GET /{owner}/{repo}.git/info/refs";
/// What ran in circles did so ten times a second and more.
const WATCHED: Duration = Duration::from_secs(5);
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

impl Trains {
    /// For a while, an endpoint is called no more often than this in all.
    async fn expect_few(&self, endpoint: &str, most: u64) {
        let until = Instant::now() + WATCHED;
        while Instant::now() < until {
            let count = self.calls(endpoint).await;
            assert!(count <= most, "{endpoint}: {count} times");
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_pull_request_whose_branch_goes_away_is_told_so_and_not_pushed_to_for_ever() {
    let mut world = Trains::polling().await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.delay(Call::Push(1), 1500).await;
    world.merge_by_hand(one, "squash").await;
    world.struck().await;
    world.forget_calls().await;
    // Nobody hears that the pull request was closed with its branch.
    world.fault(json!({ "kind": "drop_webhook", "match": { "event": "pull_request.closed" }, "count": null })).await;
    world.delete_branch("two").await;
    world.told(two, "The branch `two` of PR #2 no longer exists").await;
    world.expect_few(PUSHES, 2).await;
    world.kill().await;
    world.forget_calls().await;
    world.restart().await;
    world.settled().await;
    world.expect_few(PUSHES, 0).await;
    // Restored and re-opened, as the advice has it.
    author.sh("git push -q origin two").await;
    world.forget_faults().await;
    world.reopen(two).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merge_that_github_answers_with_409_is_tried_a_few_times_and_then_waits() {
    let world = Trains::new().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.refuse(Call::Squash, 409, "Head branch was modified. Review and try the merge again.", 1_000).await;
    world.forget_calls().await;
    world.start(one).await;
    world
        .waits_because(
            one,
            "GitHub does not merge PR #1 for now. It says: `GitHub has another head, or calls it out of date`.",
        )
        .await;
    world.expect_few(MERGES, 5).await;
    assert!(!world.is_merged(one).await);
    world.forget_faults().await;
    world.says(AUTHOR, one, "@merge-train retry").await;
    world.landed(&[one, two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_ref_that_lags_behind_is_looked_at_a_few_times_and_then_waited_for() {
    let world = Trains::new().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    let head = world.head("one").await;
    world.set_pull_ref(one, &world.head("main").await).await;
    world.forget_calls().await;
    world.start(one).await;
    world.waits_because(one, "GitHub does not merge PR #1 for now. It says: `git has the head SHA`.").await;
    // All of them since the start: the plan, and a few looks.
    let fetches = world.calls(FETCHES).await;
    assert!(fetches <= 15, "{fetches} fetches");
    world.expect_few(FETCHES, fetches).await;
    assert_eq!(world.calls(MERGES).await, 0);
    world.set_pull_ref(one, &head).await;
    world.says(AUTHOR, one, "@merge-train retry").await;
    world.landed(&[one, two]).await;
    world.finish_exactly(&BOTH).await;
}
