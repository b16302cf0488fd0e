//! Somebody pushes inside a push of the bot, or right after it.

use super::{BOTH, shared};
use crate::trains::support::outage::Call;
use crate::trains::support::{Rules, Trains};

/// The reconciling push of #2 is on its way while `commands` are run in the author's clone, in which `two` is checked out.
async fn while_two_is_reconciled(commands: &str) {
    let world = Trains::new().await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.delay(Call::Push(1), 1500).await;
    world.start(one).await;
    world.struck().await;
    assert!(world.is_merged(one).await, "the first push is the one that reconciles");
    author.sh(commands).await;
    world.landed(&[one, two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_commit_inside_the_reconciling_push_loses_no_deletion() {
    while_two_is_reconciled("git commit -q --allow-empty -m 'Start CI' && git push -q origin two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amend_with_the_same_tree_inside_the_reconciling_push_loses_no_deletion() {
    while_two_is_reconciled("git commit -q --amend -m 'Say it better' && git push -q --force origin two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_inside_the_reconciling_push_halts_and_the_next_start_lands_both_exactly() {
    let world = Trains::new().await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.delay(Call::Push(1), 1500).await;
    world.start(one).await;
    world.struck().await;
    author.push("two", "One more", &[("more.txt", Some("more\n"))]).await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "PushRejected");
    world.told(two, "Branch was modified during cascade.").await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&[BOTH[0], BOTH[1], ("more.txt", Some("more\n"))]).await;
}

/// #1 has landed, #2 is reconciled and waits for CI while `commands` are run in the author's clone, in which `two` is checked
/// out without what the bot pushed.
async fn while_two_waits_for_ci(commands: &str) {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.start_and_wait_for_ci(one).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    world.waits_because(one, "The check `ci` has not finished on PR #2 at `SHA`.").await;
    author.sh(commands).await;
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amend_without_the_bots_commits_after_reconciliation_loses_no_deletion() {
    while_two_waits_for_ci("git commit -q --amend -m 'Say it better' && git push -q --force origin two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebase_onto_main_after_reconciliation_loses_no_deletion() {
    let rebase = "git fetch -q origin && git rebase -q --onto origin/main two~1 two && git push -q --force origin two";
    while_two_waits_for_ci(rebase).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_of_the_branch_after_reconciliation_loses_no_deletion() {
    while_two_waits_for_ci("git push -q --force origin two").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amend_after_reconciliation_that_brings_back_a_part_lands_as_it_says() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.start_and_wait_for_ci(one).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    // The helper stays after all, the two lines go, and another line is changed.
    let text = shared(&[(40, "what two says")]);
    author.sh("git checkout -q HEAD~1 -- helper.txt && git commit -q --amend --no-edit").await;
    author.commit("Change a line", &[("shared.txt", Some(&text))]).await;
    author.sh("git push -q --force origin two").await;
    world.ci_passes("ci").await;
    world.landed(&[one, two]).await;
    world.finish_exactly(&[BOTH[0], BOTH[1], ("helper.txt", Some("helps\n")), ("shared.txt", Some(&text))]).await;
}
