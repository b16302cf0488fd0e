//! What one train waits for, or is told, is nothing to the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::storms::support::{Ci, Edit, Repo, Yard, within};

/// Webhooks only: what takes long here is not made up for by looking.
const NO_POLLING: &str = "";
const PATIENCE: Duration = Duration::from_secs(60);
/// How long the push takes that somebody stops in the middle.
const SLOW_PUSH: Duration = Duration::from_secs(6);
/// So soon a stop takes effect.
const AT_ONCE: Duration = Duration::from_secs(1);

/// A stack of two, whose lower one grew after the upper was opened: both have to be pushed to.
async fn grown(repo: &Repo, name: &str) -> [u64; 2] {
    let (lower, upper) = (format!("{name}-lower"), format!("{name}-upper"));
    let one = repo.open(&lower, "main", &[Edit::File(format!("{lower}.txt"))]).await;
    let two = repo.open(&upper, &lower, &[Edit::File(format!("{upper}.txt"))]).await;
    repo.commit(&lower, &Edit::File(format!("{lower}-more.txt"))).await;
    repo.declares(two, one).await;
    [one, two]
}

/// The train of a pull request, as the API shows it.
async fn train(repo: &Repo, root: u64) -> Value {
    repo.trains().await.into_iter().find(|train| train["root"] == root).unwrap_or_default()
}

async fn becomes(repo: &Repo, root: u64, state: &str) -> Value {
    let what = format!("the train of #{root} becomes {state}");
    let found = within(PATIENCE, &what, async || Some(train(repo, root).await).filter(|it| it["state"] == state)).await;
    found.unwrap_or_else(|why| panic!("{why}\n{}", repo.log()))
}

async fn landed(repo: &Repo, numbers: &[u64]) {
    for number in numbers {
        let what = format!("#{number} lands");
        let found = within(PATIENCE, &what, async || repo.is_merged(*number).await.then_some(())).await;
        found.unwrap_or_else(|why| panic!("{why}\n{}", repo.log()));
    }
}

async fn done(repo: &Repo, root: u64) {
    let what = format!("the train of #{root} is done");
    let found = within(PATIENCE, &what, async || train(repo, root).await.is_null().then_some(())).await;
    found.unwrap_or_else(|why| panic!("{why}\n{}", repo.log()));
}

/// How long a stack takes from `start` until it has landed.
async fn time_to_land(repo: &Repo, stack: [u64; 2]) -> Duration {
    let begun = Instant::now();
    repo.start(stack[0]).await;
    landed(repo, &stack).await;
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_lands_as_fast_as_alone_while_another_waits_for_ci() {
    let yard = Yard::with(1, NO_POLLING).await;
    let repo = Arc::new(Repo::new(&yard, "busy").await);
    repo.protect(&["ci"], false).await;
    let _ci = Ci::passing(&repo, "quick");

    let first = grown(&repo, "quick-first").await;
    let alone = time_to_land(&repo, first).await;

    let slow = grown(&repo, "slow").await;
    repo.start(slow[0]).await;
    let waiting = becomes(&repo, slow[0], "waiting_ci").await;
    assert!(waiting["why"]["blocker"].as_str().is_some_and(|why| why.contains("`ci`")), "{waiting}");
    let second = grown(&repo, "quick-second").await;
    let beside = time_to_land(&repo, second).await;

    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    println!("alone {alone:.1?}, beside one that waits for CI {beside:.1?}: {ratio:.2} times as long");
    assert!(ratio < 3.0, "{ratio:.2} times as long: alone {alone:?}, beside another {beside:?}");
    assert_eq!(train(&repo, slow[0]).await["state"], "waiting_ci", "CI has said nothing of it all the while");
    assert!(!repo.is_merged(slow[0]).await);

    repo.says(slow[0], "@merge-train stop").await;
    becomes(&repo, slow[0], "stopped").await;
    done(&repo, second[0]).await;
    repo.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_in_the_middle_of_a_slow_push_takes_effect_at_once_and_leaves_the_other_train_alone() {
    let yard = Yard::with(2, NO_POLLING).await;
    let repo = Arc::new(Repo::new(&yard, "slow").await);
    let (halted, other) = (grown(&repo, "halted").await, grown(&repo, "other").await);
    let before = repo.head("halted-upper").await;
    let path = format!("/{}.git/git-receive-pack", repo.name());
    let ms = u64::try_from(SLOW_PUSH.as_millis()).expect("a few seconds");
    // It hangs and comes to nothing, so that whatever arrives was pushed afterwards.
    yard.control(Method::POST, "/faults", json!({ "kind": "timeout", "ms": ms, "match": { "path": path } })).await;

    repo.start(halted[0]).await;
    let struck = async || {
        let faults = yard.control(Method::GET, "/faults", Value::Null).await;
        (faults[0]["struck"] == 1).then_some(())
    };
    within(PATIENCE, "the push is under way", struck).await.unwrap_or_else(|why| panic!("{why}\n{}", repo.log()));
    let push_ends = Instant::now() + SLOW_PUSH;
    repo.start(other[0]).await;

    let asked = Instant::now();
    repo.says(halted[0], "@merge-train stop").await;
    becomes(&repo, halted[0], "stopped").await;
    let took = asked.elapsed();
    println!("stopped after {took:.0?}, with {:.1?} of the push to go", push_ends - Instant::now());
    assert!(took < AT_ONCE, "the stop took {took:?}");

    landed(&repo, &other).await;
    done(&repo, other[0]).await;
    within(PATIENCE, "the push would be over", async || (Instant::now() > push_ends).then_some(()))
        .await
        .expect("it is");
    assert_eq!(train(&repo, halted[0]).await["state"], "stopped");
    assert_eq!(repo.head("halted-upper").await, before, "nothing was pushed for the train that was stopped");
    for number in halted {
        assert!(!repo.is_merged(number).await, "#{number} was landed by a train that was stopped");
    }
    repo.verify().await;
    yard.expect_no_forced_push().await;
}
