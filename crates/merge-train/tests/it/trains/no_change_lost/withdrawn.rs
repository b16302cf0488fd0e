//! What was withdrawn from a pull request does not land with the ones above it.

use crate::trains::support::outage::Call;
use crate::trains::support::{AUTHOR, Change, Checkout, Trains};

const ONE: Change<'_> = ("one.txt", Some("mine\n"));
const TWO: Change<'_> = ("two.txt", Some("mine\n"));
const SECRET: Change<'_> = ("secret.env", Some("TOKEN=hunter2\n"));

/// #1 and #2, and a commit with a secret on top of #1 that #2 does not have yet.
async fn one_has_a_secret(world: &Trains) -> (Checkout, [u64; 2]) {
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE]).await;
    author.branch("two", "one", &[TWO]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    author.push("one", "Add the settings", &[SECRET]).await;
    (author, [one, two])
}

/// The author takes the commit with the secret back, by force.
async fn withdraw(author: &Checkout) {
    author.sh("git checkout -q one && git reset -q --hard HEAD~1 && git push -q --force origin one").await;
}

/// What #2 is told is done, and the stack started again.
async fn lands_without_it(world: Trains, [one, two]: [u64; 2], told: &str) {
    assert!(!world.is_merged(one).await);
    assert!(told.contains("`Add the settings` by `author`"), "it names the commit: {told}");
    world.follow(AUTHOR, told, &[]).await;
    world.settled().await;
    world.start_and_land(one, &[one, two]).await;
    expect_no_trace(&world).await;
    world.finish_exactly(&[ONE, TWO]).await;
}

/// No commit of the default branch ever had it.
async fn expect_no_trace(world: &Trains) {
    let log = world.checkout(AUTHOR).await.sh("git log --format=%H origin/main -- secret.env").await;
    assert_eq!(log, "", "the secret was on main");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_was_withdrawn_while_its_squash_was_tried_halts_the_train() {
    let world = Trains::new().await;
    let (author, all) = one_has_a_secret(&world).await;
    world.delay(Call::Squash, 2000).await;
    world.start(all[0]).await;
    world.struck().await;
    withdraw(&author).await;
    // GitHub has another head than the one that was to be squashed.
    let record = world.becomes(all[0], "aborted").await;
    assert_eq!(record["error"]["type"], "WithdrawnCommits");
    let told = world.told(all[1], "which #1 no longer contains").await;
    lands_without_it(world, all, &told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_was_withdrawn_between_stop_and_start_halts_the_train() {
    let world = Trains::polling().await;
    let (author, all) = one_has_a_secret(&world).await;
    world.hold(Call::Squash).await;
    world.start(all[0]).await;
    world.struck().await;
    world.stop(all[0]).await;
    world.becomes(all[0], "stopped").await;
    withdraw(&author).await;
    world.settled().await;
    world.start(all[0]).await;
    let told = world.told(all[0], "Cannot start merge train").await;
    lands_without_it(world, all, &told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_the_upper_one_was_written_on_does_not_land_with_it() {
    let world = Trains::new().await;
    let author = world.checkout(AUTHOR).await;
    author.branch("one", "main", &[ONE]).await;
    author.push("one", "Add the settings", &[SECRET]).await;
    author.branch("two", "one", &[TWO]).await;
    let one = world.propose("one", "main", None).await;
    let two = world.propose("two", "one", Some(one)).await;
    world.settled().await;
    author
        .sh("git checkout -q one && git rm -q secret.env && git commit -q --amend --allow-empty -m 'Add nothing'")
        .await;
    author.sh("git push -q --force origin one").await;
    world.settled().await;
    world.start_and_land(one, &[one, two]).await;
    expect_no_trace(&world).await;
    world.finish_exactly(&[ONE, TWO]).await;
}
