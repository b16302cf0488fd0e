//! The commands that the bot gives after a conflict are carried out as they are, and then the train lands exactly.

use serde_json::json;

use super::{BOTH, DEBUG, brings, shared, takes_back};
use crate::trains::support::outage::Call;
use crate::trains::support::{AUTHOR, MAIN, Trains};

/// #1 brings a helper and two lines; #2 takes both back and changes line 40.
async fn two_takes_back_and_changes_a_line(world: &Trains) -> [u64; 2] {
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &brings("one.txt", &shared(&[DEBUG]))).await;
    author.branch("two", "one", &takes_back("two.txt", &shared(&[(40, "what two says")]))).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    [one, two]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_conflict_in_reconciliation_loses_nothing() {
    let world = Trains::new().await;
    let [one, two] = two_takes_back_and_changes_a_line(&world).await;
    world.delay(Call::Squash, 2000).await;
    world.start(one).await;
    world.struck().await;
    world.change_line(MAIN, 40, "what main says").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "MergeConflict");
    assert!(world.is_merged(one).await);
    let told = world.told(two, "Cannot reconcile PR #2 with the squash of #1").await;
    let settled = shared(&[(40, "what both say")]);
    world.follow(AUTHOR, &told, &[("shared.txt", Some(&settled))]).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&[BOTH[0], BOTH[1], ("shared.txt", Some(&settled))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_for_a_descendant_that_was_not_prepared_loses_nothing() {
    let world = Trains::new().await;
    let (author, [one, two]) = world.one_brings_and_two_takes_back().await;
    // #2 is prepared with this.
    let more = ("more.txt", Some("more\n"));
    author.push("one", "One more", &[more]).await;
    world.delay(Call::Squash, 2000).await;
    world.start(one).await;
    world.struck().await;
    // Its author throws the preparation away.
    author.sh("git push -q --force origin two").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["type"], "NotPrepared");
    assert!(world.is_merged(one).await);
    let told = world.told(two, "Descendant #2 was not prepared before squash.").await;
    world.follow(AUTHOR, &told, &[]).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&[BOTH[0], BOTH[1], more]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_conflict_of_a_late_pull_request_loses_nothing() {
    let world = Trains::new().await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &brings("one.txt", &shared(&[DEBUG]))).await;
    author.branch("two", "one", &takes_back("two.txt", &shared(&[(40, "what two says")]))).await;
    let one = world.propose("one", "main", None).await;
    let two = world.open_pull("two", "one", json!({})).await;
    world.start_and_land(one, &[one]).await;
    world.change_line(MAIN, 40, "what main says").await;
    world.declares(two, one).await;
    let told = world.told(two, "cannot be reconciled with main").await;
    let settled = shared(&[(40, "what both say")]);
    world.follow(AUTHOR, &told, &[("shared.txt", Some(&settled))]).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&[BOTH[0], BOTH[1], ("shared.txt", Some(&settled))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_conflict_with_what_came_after_the_squash_loses_nothing() {
    let world = Trains::new().await;
    let [one, two] = two_takes_back_and_changes_a_line(&world).await;
    world.delay(Call::Push(1), 2000).await;
    world.start(one).await;
    world.struck().await;
    world.change_line(MAIN, 40, "what main says").await;
    let record = world.becomes(one, "aborted").await;
    assert_eq!(record["error"]["message"], "Conflict with commits on main that landed after the squash.");
    let told = world.told(two, "Conflict with commits on main that landed after the squash.").await;
    assert!(told.contains("Merge main into the branch of PR #2, resolve the conflicts and push"), "{told}");
    // The squash is in the branch by now: merging main is right.
    let settled = shared(&[(40, "what both say")]);
    let author = world.checkout(AUTHOR).await;
    author.sh("git checkout -q two && ! git merge -q origin/main").await;
    author.commit("Merge main", &[("shared.txt", Some(&settled))]).await;
    author.sh("git push -q origin two").await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&[BOTH[0], BOTH[1], ("shared.txt", Some(&settled))]).await;
}

/// #1 is landed by hand, and not as a squash: #2 is moved as it is told.
async fn landed_by_hand_as(method: &str) {
    let world = Trains::new().await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &brings("one.txt", &shared(&[DEBUG]))).await;
    // Of one commit alone, a rebase is as good as a squash.
    let more = ("more.txt", Some("more\n"));
    author.push("one", "One more", &[more]).await;
    author.branch("two", "one", &takes_back("two.txt", &shared(&[]))).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    let setting = if method == "merge" { "allow_merge_commit" } else { "allow_rebase_merge" };
    world.commit_on_main("meanwhile.txt").await;
    world.set_repository(json!({ setting: true })).await;
    world.merge_by_hand(one, method).await;
    let told = world.told(two, "Predecessor #1 was merged with").await;
    world.set_repository(json!({ setting: false })).await;
    world.follow(AUTHOR, &told, &[]).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.expect_main(&[BOTH[0], BOTH[1], more, ("meanwhile.txt", Some("from elsewhere\n"))]).await;
    world.finish_after_a_wrong_landing().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_merge_commit_by_hand_loses_nothing() {
    landed_by_hand_as("merge").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_advice_after_a_rebase_by_hand_loses_nothing() {
    landed_by_hand_as("rebase").await;
}
