//! The whole intake, driven by the simulator's own webhooks, with its faults on.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Daemon, Database, KEY, Log, REPO, World, eventually, http};

/// The same of what the daemon believes.
async fn belief(daemon: &Daemon) -> BTreeMap<String, [String; 3]> {
    let state = daemon.state(REPO).await;
    let Some(prs) = state["prs"].as_object() else { return BTreeMap::new() };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = |pr: &Value| [text(&pr["state"]), text(&pr["head_sha"]), text(&pr["base_ref"])];
    prs.iter().map(|(number, pr)| (number.clone(), shown(pr))).collect()
}

async fn agree(world: &World, daemon: &Daemon) {
    let truth = world.truth().await;
    eventually(&format!("the daemon knows the truth: {truth:?}"), || async {
        (belief(daemon).await == truth).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cache_follows_what_happens_on_github() {
    let (world, daemon) = World::new().await;
    let one = world.open_pull("one", "main").await;
    let two = world.open_pull("two", "one").await;
    world.comment(two, &format!("@merge-train predecessor #{one}")).await;
    agree(&world, &daemon).await;
    eventually("the predecessor is known", || async {
        (daemon.state(REPO).await["prs"][two.to_string()]["predecessor"] == one).then_some(())
    })
    .await;
    eventually("whether it can be merged is known", || async {
        (daemon.state(REPO).await["prs"][one.to_string()]["merge_state"] == "CLEAN").then_some(())
    })
    .await;
    world.push("one", "more").await;
    world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{two}"), json!({ "base": "main" })).await;
    agree(&world, &daemon).await;
    world.call(Method::PUT, &format!("/repos/{REPO}/pulls/{one}/merge"), json!({ "merge_method": "squash" })).await;
    world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{two}"), json!({ "state": "closed" })).await;
    agree(&world, &daemon).await;
    let state = daemon.state(REPO).await;
    assert_eq!(state["default_branch"], "main");
    assert!(state["prs"][one.to_string()]["merge_commit_sha"].is_string(), "{state}");
    assert!(daemon.stop().await.success());
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_every_fault_on_nothing_acknowledged_is_lost_and_the_truth_comes_out() {
    let (world, daemon) = World::new().await;
    for fault in [
        json!({ "kind": "duplicate_webhook", "match": { "probability": 0.3 }, "times": 2, "count": null }),
        json!({ "kind": "reorder_webhook", "match": { "probability": 0.3 }, "count": null }),
        json!({ "kind": "delay_webhook", "ms": 120, "match": { "probability": 0.3 }, "count": null }),
        json!({ "kind": "drop_webhook", "match": { "probability": 0.15 }, "count": null }),
        json!({ "kind": "status", "status": 502, "match": { "path": "/graphql", "probability": 0.3 }, "count": null }),
        json!({ "kind": "truncate", "match": { "path": "/repos/*/pulls*", "method": "GET", "probability": 0.2 }, "count": 10 }),
        json!({ "kind": "status", "status": 403, "message": "You have exceeded a secondary rate limit.", "retry_after": 1,
                "match": { "path": "/graphql", "nth": 4 } }),
    ] {
        world.fault(fault).await;
    }
    let mut daemon = daemon;
    for round in 0..6 {
        let branch = format!("work-{round}");
        let number = world.open_pull(&branch, "main").await;
        world.push(&branch, "two").await;
        world.comment(number, "@merge-train predecessor #1").await;
        world.push(&branch, "three").await;
        if round % 3 == 1 {
            world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{number}"), json!({ "state": "closed" })).await;
        }
        if round == 3 {
            // And killed in the middle of it; GitHub finds nobody for a while.
            daemon.kill().await;
            world.push(&branch, "four").await;
            daemon = world.setup.start().await;
            world.aim_at(&daemon).await;
        }
    }
    world.control(Method::DELETE, "/faults", Value::Null).await;
    // What GitHub never said must be asked for.
    let sync = http().post(format!("{}/api/v1/repos/{REPO}/sync", daemon.url)).bearer_auth(KEY);
    assert_eq!(sync.send().await.expect("an answer").status(), 202);
    agree(&world, &daemon).await;
    assert!(daemon.stop().await.success());
    // What was acknowledged in its last moments waits in the inbox.
    let daemon = world.setup.start().await;
    Database::Sqlite.settled(&world.setup).await;
    assert!(daemon.stop().await.success());

    let store = Database::Sqlite.open(&world.setup).await;
    let log = Log::read(store.as_ref(), REPO).await;
    let counts = log.counts();
    let acknowledged: Vec<String> = world
        .deliveries()
        .await
        .iter()
        .filter(|delivery| delivery["status_code"] == 202 && delivery["repository"] == REPO)
        .map(|delivery| delivery["guid"].as_str().expect("an id").to_owned())
        .collect();
    assert!(acknowledged.len() > 30, "too little happened: {}", acknowledged.len());
    for delivery in &acknowledged {
        assert_eq!(counts.get(delivery.as_str()), Some(&1), "{delivery} was acknowledged");
    }
    store.close().await;
    world.sim.stop().await;
    drop(world.dir);
}
