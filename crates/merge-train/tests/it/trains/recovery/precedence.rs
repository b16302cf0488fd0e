//! Two records of one train: the one that is further counts, wherever it is.

use crate::trains::support::outage::Call;
use crate::trains::support::{COMPARING, POLLING, Trains};

/// Waits until the status comment of a train shows all that its record says.
async fn shown(world: &Trains, root: u64) {
    world
        .until("the comment shows the record", async || {
            let (shown, record) = (world.status(root).await?, world.train(root).await);
            (shown["recovery_seq"] == record["recovery_seq"]).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_goes_on_from_what_the_status_comment_shows() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.settled().await;
    world.kill().await;
    let backup = world.back_up();
    world.restart().await;
    world.ci("one", "ci", "success").await;
    world.retargeted(all[1]).await;
    world.waits_because(all[0], &format!("The check `ci` has not finished on PR #{} at `SHA`.", all[1])).await;
    shown(&world, all[0]).await;
    let seq = world.train(all[0]).await["recovery_seq"].as_u64();
    world.kill().await;
    world.restore(&backup);
    world.restart().await;
    world
        .until("the train is where it was", async || {
            let train = world.train(all[0]).await;
            (train["current_pr"] == all[1] && train["recovery_seq"].as_u64() >= seq).then_some(())
        })
        .await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_from_before_a_squash_does_not_squash_again() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Squash).await;
    world.hold(Call::Push(1)).await;
    world.start(all[0]).await;
    world.phase(all[0], "SquashPending").await;
    world.struck().await;
    world.kill().await;
    let backup = world.back_up();
    world.restart().await;
    world.phase(all[0], "Reconciling").await;
    world
        .until("the comment shows the phase", async || {
            world.status(all[0]).await?["cascade_phase"].get("Reconciling").map(drop)
        })
        .await;
    world.kill().await;
    world.forget_faults().await;
    world.restore(&backup);
    world.forget_calls().await;
    world.restart().await;
    world.landed(&all).await;
    // One for each that stood on it.
    assert_eq!(world.calls("PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge").await, 2);
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_from_before_the_end_of_a_train_does_not_begin_it_again() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    let backup = world.back_up();
    world.restart().await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.kill().await;
    world.restore(&backup);
    world.restart().await;
    world.until("the train is over", async || world.train(all[0]).await.is_null().then_some(())).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_from_before_a_stop_leaves_the_train_stopped() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    let backup = world.back_up();
    world.restart().await;
    world.stop(all[0]).await;
    world.becomes(all[0], "stopped").await;
    world.settled().await;
    world.kill().await;
    world.restore(&backup);
    world.ci_passes("ci").await;
    world.restart().await;
    world
        .until("it is known to be stopped", async || (world.train(all[0]).await["state"] == "stopped").then_some(()))
        .await;
    world.settled().await;
    assert!(!world.is_merged(all[0]).await);
    world.start_again(all[0]).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_from_before_a_start_hears_of_the_train_from_its_comment() {
    let mut world = Trains::wish().config(POLLING).config(COMPARING).start().await;
    world.stack([("other", "main")]).await;
    world.settled().await;
    world.kill().await;
    let backup = world.back_up();
    world.restart().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    world.restore(&backup);
    world.restart().await;
    world.look().await;
    world.until("the train is known", async || (!world.train(all[0]).await.is_null()).then_some(())).await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_of_a_train_under_way_goes_on_elsewhere() {
    let mut world = Trains::polling().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.hold(Call::Push(2)).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "Reconciling").await;
    let export = world.export().await;
    world.kill().await;
    world.import(&export).await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_whose_update_was_lost_is_written_from_the_record() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    shown(&world, all[0]).await;
    world.hold_all(Call::RewriteStatus).await;
    world.ci("one", "ci", "success").await;
    world.retargeted(all[1]).await;
    world
        .until("the record is at the next", async || (world.train(all[0]).await["current_pr"] == all[1]).then_some(()))
        .await;
    let known = world.train(all[0]).await["recovery_seq"].as_u64();
    world.kill().await;
    let told = world.status(all[0]).await.expect("a record")["recovery_seq"].as_u64();
    assert!(told < known, "the comment is behind: {told:?} of {known:?}");
    world.forget_faults().await;
    world.restart().await;
    shown(&world, all[0]).await;
    assert!(world.status(all[0]).await.expect("a record")["recovery_seq"].as_u64() >= known);
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}
