//! What a stack stands on is taken away: a stack that somebody collapsed, a default branch that somebody rewound.

use reqwest::Method;
use serde_json::json;

use super::{ALL_THREE, BOTH, DEBUG, brings, shared, takes_back};
use crate::trains::support::{ADMIN, AUTHOR, COMPARING, Rules, Trains};

/// #1, #2 that brings a helper and two lines, and #3 that takes both back; with the comment that #3 declares #2 with.
async fn three_takes_back_what_two_brings(world: &Trains) -> ([u64; 3], u64) {
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[("one.txt", Some("mine\n"))]).await;
    author.branch("two", "one", &brings("two.txt", &shared(&[DEBUG]))).await;
    author.branch("three", "two", &takes_back("three.txt", &shared(&[]))).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    let three = world.open_pull("three", "two", json!({})).await;
    let declaration = world.declares(three, two).await;
    world.acknowledged(declaration).await;
    ([one, two, three], declaration)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_was_collapsed_lands_exactly_after_what_the_bot_advises() {
    let world = Trains::new().await;
    let ([one, two, three], declaration) = three_takes_back_what_two_brings(&world).await;
    world.merge_by_hand(two, "squash").await;
    let told = world.told(three, "was merged into the branch of #1 and not into the default branch").await;
    assert!(told.contains("change the base branch of PR #3 to `one`"), "{told}");
    assert!(told.contains("edit its declaration to `@merge-train predecessor #1`"), "{told}");
    world.follow(AUTHOR, &told, &[]).await;
    world.retarget(three, "one").await;
    world.edits(AUTHOR, declaration, &format!("@merge-train predecessor #{one}")).await;
    world.settled().await;
    world.start_and_land(one, &[one, three]).await;
    world.finish_exactly(&ALL_THREE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_was_merged_into_what_had_landed_leaves_advice_that_lands_the_next() {
    let world = Trains::wish().config(COMPARING).start().await;
    let ([one, two, three], declaration) = three_takes_back_what_two_brings(&world).await;
    world.merge_by_hand(two, "squash").await;
    world.told(three, "was merged into the branch of #1").await;
    world.start_and_land(one, &[one]).await;
    world.start(three).await;
    let told = world.told(three, "delete its declaration").await;
    world.follow(AUTHOR, &told, &[]).await;
    world.retarget(three, "main").await;
    world.deletes(AUTHOR, declaration).await;
    world.settled().await;
    world.start_and_land(three, &[three]).await;
    world.finish_exactly(&ALL_THREE).await;
}

impl Trains {
    /// Somebody forces the default branch to another commit.
    async fn force_main(&self, commit: &str) {
        let body = json!({ "sha": commit, "force": true });
        self.call(ADMIN, Method::PATCH, "/git/refs/heads/main", body).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_default_branch_that_was_rewound_freezes_the_train_until_it_is_back() {
    let world = Trains::new().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    let origin = world.head("main").await;
    world.start_and_wait_for_ci(one).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(two).await;
    let squash = world.head("main").await;
    world.force_main(&origin).await;
    world.ci_passes("ci").await;
    let record = world.becomes(one, "needs_manual_review").await;
    assert_eq!(record["error"]["type"], "DefaultBranchRewound");
    let told = world.told(two, "main was rewound").await;
    assert!(told.contains(&squash), "it names the commit: {told}");
    assert!(!world.is_merged(two).await);
    world.force_main(&squash).await;
    world.settled().await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_squash_by_hand_that_was_rewound_is_not_called_merged_by_someone_else() {
    let mut world = Trains::wish().config(COMPARING).start().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    let origin = world.head("main").await;
    world.start_and_wait_for_ci(one).await;
    world.kill().await;
    world.merge_by_hand(one, "squash").await;
    let squash = world.head("main").await;
    world.force_main(&origin).await;
    world.restart().await;
    let told = world.told(two, "main was rewound").await;
    assert!(told.contains(&squash) && !told.contains("someone else"), "{told}");
    world.force_main(&squash).await;
    world.settled().await;
    world.ci_passes("ci").await;
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&BOTH).await;
}
