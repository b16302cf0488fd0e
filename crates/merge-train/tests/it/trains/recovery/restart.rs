//! What a daemon does first when it is started again on the state that it had.

use serde_json::{Value, json};

use crate::trains::support::outage::Call;
use crate::trains::support::{STRANGER, Trains};

/// What is known of the structure: what stands on what, where, and which trains there are.
fn structure(state: &Value) -> Value {
    let prs = state["prs"].as_object().expect("pull requests").iter().map(|(number, pr)| {
        let part = ["head_ref", "head_sha", "base_ref", "predecessor", "state", "author"].map(|name| pr[name].clone());
        json!([number, part])
    });
    json!({ "prs": prs.collect::<Value>(), "trains": state["active_trains"], "default": state["default_branch"] })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_is_there_again_although_github_answers_nothing() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one"), ("three", "one")]).await;
    world.settled().await;
    let before = structure(&world.state().await);
    world.kill().await;
    world.refuse_all(Call::Any, 503).await;
    world.restart().await;
    let after = world.state().await;
    assert_eq!(structure(&after), before);
    assert_eq!(after["lifecycle"], "ready");
    world.struck().await;
    assert_eq!(structure(&world.state().await), before, "what cannot be read leaves alone what is known");
    world.forget_faults().await;
    world.ci_passes("ci").await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_in_disorder_is_put_in_order_and_one_of_nobody_is_removed() {
    let mut world =
        Trains::wish().config("[housekeeping]\npoll_interval_mins = 0.03\nworktree_max_age_hours = 1\n").start().await;
    let all = world.stack([("one", "main"), ("two", "one"), ("three", "two")]).await;
    world.hold(Call::Push(1)).await;
    world.start(all[0]).await;
    world.struck().await;
    world.phase(all[0], "Reconciling").await;
    world.kill().await;
    let worktree = world.worktree(all[0]);
    assert!(worktree.exists(), "the train has a worktree");
    std::fs::write(worktree.join("half-written.txt"), "a merge that nobody finished").expect("written");
    std::fs::write(worktree.join(".git"), "gitdir: /nowhere\n").expect("written");
    let stale = world.worktree(77);
    std::fs::create_dir_all(&stale).expect("a folder");
    std::fs::write(stale.join("left.txt"), "of a train that is gone").expect("written");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    std::fs::File::open(&stale).and_then(|folder| folder.set_modified(long_ago)).expect("its age is set");
    world.restart().await;
    world.until("the stale one is removed", async || (!stale.exists()).then_some(())).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_and_not_worked_on_is_worked_on_after_the_restart() {
    let mut world = Trains::new().await;
    let all = world.stack([("one", "main"), ("two", "one")]).await;
    world.settled().await;
    world.kill().await;
    world.restart_to_die_at("append.delivery_processed.before=return").await;
    let said = world.start(all[0]).await;
    world.dies().await;
    assert_eq!(world.reactions(said).await, [""; 0], "nothing came of it yet");
    world.restart().await;
    // GitHub does not say it again.
    world.acknowledged(said).await;
    world.landed(&all).await;
    world.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_came_while_the_daemon_was_dead_is_not_needed_to_go_on() {
    let mut world = Trains::polling().await;
    let all = world.waiting([("one", "main"), ("two", "one")]).await;
    world.kill().await;
    world.says(STRANGER, all[0], "Nice.").await;
    world.commit_on_main("meanwhile.txt").await;
    world.ci_passes("ci").await;
    world.restart().await;
    world.landed(&all).await;
    world.finish().await;
}
