//! Somebody lands pull requests past the train, and restacks what is left.

use super::{ALL_THREE, BOTH, DEBUG, brings, shared, takes_back};
use crate::trains::support::{AUTHOR, COMPARING, Rules, Trains};

/// #1 is squashed by a person while the daemon is away, and #2 rebased onto main by its author, who retargets it.
async fn squashed_and_rebased(world: &mut Trains, [one, two]: [u64; 2]) {
    world.settled().await;
    world.kill().await;
    let author = world.checkout(AUTHOR).await;
    world.merge_by_hand(one, "squash").await;
    author.sh("git fetch -q origin && git checkout -q two && git rebase -q --onto origin/main origin/one").await;
    author.sh("git push -q --force origin two").await;
    world.retarget(two, "main").await;
    world.restart().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correct_rebase_after_a_squash_by_hand_keeps_its_deletions() {
    let mut world = Trains::wish().config(COMPARING).start().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    squashed_and_rebased(&mut world, [one, two]).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_correct_rebase_after_a_squash_by_hand_keeps_what_it_changed() {
    let mut world = Trains::wish().config(COMPARING).start().await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &brings("one.txt", &shared(&[DEBUG]))).await;
    let modified = shared(&[(10, "line 10\ndebug = only on Mondays")]);
    let own = ("two.txt", Some("mine\n"));
    let helper = ("helper.txt", Some("helps more\n"));
    author.branch("two", "one", &[own, helper, ("shared.txt", Some(&modified))]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    squashed_and_rebased(&mut world, [one, two]).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&[BOTH[0], own, helper, ("shared.txt", Some(&modified))]).await;
}

/// A person squashes #1 and #2 in a row, whatever the train does; then #3 is started.
async fn two_squashed_in_a_row(mut world: Trains) {
    let (_, [one, two, three]) = world.one_brings_and_three_takes_back().await;
    world.settled().await;
    world.kill().await;
    world.merge_by_hand(one, "squash").await;
    world.retarget(two, "main").await;
    world.merge_by_hand(two, "squash").await;
    world.restart().await;
    world.retargeted(three).await;
    world.settled().await;
    world.start_and_land(three, &[three]).await;
    world.finish_exactly(&ALL_THREE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_squashes_by_hand_in_a_row_lose_no_deletion_of_the_third() {
    two_squashed_in_a_row(Trains::wish().config(COMPARING).start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_squashes_by_hand_while_a_train_waits_lose_no_deletion_of_the_third() {
    let mut world = Trains::wish().config(COMPARING).start().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (_, [one, two, three]) = world.one_brings_and_three_takes_back().await;
    world.start_and_wait_for_ci(one).await;
    world.kill().await;
    world.merge_by_hand(one, "squash").await;
    world.retarget(two, "main").await;
    world.merge_by_hand(two, "squash").await;
    world.restart().await;
    world.retargeted(three).await;
    world.ci_passes("ci").await;
    world.landed(&[three]).await;
    world.finish_exactly(&ALL_THREE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_was_reconciled_once_and_restacked_keeps_what_it_deletes_of_its_new_predecessor() {
    let world = Trains::wish().config(COMPARING).start().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[("one.txt", Some("mine\n"))]).await;
    author.branch("two", "one", &[("two.txt", Some("mine\n"))]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.open_pull("two", "one", serde_json::json!({})).await;
    let declaration = world.declares(two, one).await;
    world.acknowledged(declaration).await;
    world.start_and_wait_for_ci(one).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    world.stop(one).await;
    world.becomes(one, "stopped").await;
    // #2 is restacked on #3, of which it takes something back.
    author.branch("three", "main", &brings("three.txt", &shared(&[DEBUG]))).await;
    let three = world.propose("three", "main", None).await;
    author.sh("git fetch -q origin && git checkout -q -B two origin/two && git merge -q --no-edit origin/three").await;
    author.commit("Take it back", &takes_back("two.txt", &shared(&[]))).await;
    author.sh("git push -q origin two").await;
    world.retarget(two, "three").await;
    world.edits(AUTHOR, declaration, &format!("@merge-train predecessor #{three}")).await;
    world.settled().await;
    world.merge_by_hand(three, "squash").await;
    world.settled().await;
    world.ci_passes("ci").await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&ALL_THREE).await;
}
