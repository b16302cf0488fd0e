//! Nothing lands without a start of its own or of its root, once the bot said that it will not.

use super::{ALL_THREE, BOTH};
use crate::trains::support::outage::Call;
use crate::trains::support::{Rules, Trains};

impl Trains {
    /// How often the bot said this on a pull request.
    async fn times_told(&self, number: u64, text: &str) -> usize {
        self.notes(number).await.iter().filter(|note| note.contains(text)).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_skipped_descendant_that_is_re_opened_lands_only_when_it_is_started() {
    let world = Trains::polling().await;
    let (_, [one, two, three]) = world.one_brings_and_three_takes_back().await;
    world.delay(Call::Squash, 1500).await;
    world.start(one).await;
    world.struck().await;
    world.close(two).await;
    world.landed(&[one]).await;
    world.told(one, "Descendant #2 was closed during cascade, skipping.").await;
    world.reopen(two).await;
    world.look().await;
    world.settled().await;
    assert!(!world.is_merged(two).await && !world.is_merged(three).await);
    assert_eq!(world.pull(two).await["base"]["ref"], "one", "nothing was done for it");
    assert_eq!(world.times_told(one, "skipping").await, 1);
    world.start_and_land(two, &[two, three]).await;
    world.finish_exactly(&ALL_THREE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_that_is_closed_and_re_opened_while_its_predecessor_is_squashed_lands_only_when_it_is_started() {
    let world = Trains::polling().await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.delay(Call::Push(1), 2500).await;
    world.start(one).await;
    world.struck().await;
    world.close(two).await;
    world.told(one, "Descendant #2 was closed during cascade, skipping.").await;
    world.reopen(two).await;
    world.landed(&[one]).await;
    world.look().await;
    world.settled().await;
    assert!(!world.is_merged(two).await);
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&BOTH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_retargeted_away_and_back_is_told_once_and_lands_only_when_it_is_started() {
    let world = Trains::polling().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (_, [one, two, three]) = world.one_brings_and_three_takes_back().await;
    world.start_and_wait_for_ci(one).await;
    world.retarget(two, "main").await;
    world.told(two, &format!("continues without PR #{two}.")).await;
    world.retarget(two, "one").await;
    world.told(two, "The current train continues without it").await;
    world.ci_passes("ci").await;
    world.landed(&[one]).await;
    world.look().await;
    world.settled().await;
    assert!(!world.is_merged(two).await && !world.is_merged(three).await);
    assert_eq!(world.times_told(two, &format!("continues without PR #{two}.")).await, 1);
    world.start_and_land(two, &[two, three]).await;
    world.finish_exactly(&ALL_THREE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_descendant_that_stays_retargeted_lands_only_when_it_is_started() {
    let world = Trains::polling().await;
    world.protect(Rules { checks: &["ci"], ..Rules::default() }).await;
    world.ci_waits("ci").await;
    let (_, [one, two]) = world.one_brings_and_two_takes_back().await;
    world.start_and_wait_for_ci(one).await;
    world.retarget(two, "main").await;
    world.told(two, &format!("continues without PR #{two}.")).await;
    world.ci_passes("ci").await;
    world.landed(&[one]).await;
    world.look().await;
    world.settled().await;
    assert!(!world.is_merged(two).await);
    assert_eq!(world.times_told(two, &format!("continues without PR #{two}.")).await, 1);
    world.start_and_land(two, &[two]).await;
    world.finish_exactly(&BOTH).await;
}
