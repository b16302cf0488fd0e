//! Many workspaces, and what a heartbeat costs.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{REPO, Shop, eventually};

const WORKSPACES: usize = 1_000;

async fn graphql_calls(shop: &Shop) -> usize {
    let counted = shop.world.control(Method::GET, "/calls", Value::Null).await;
    let calls = counted["calls"].as_object().expect("what was called, and how often").iter();
    let calls = calls.filter(|(name, _)| name.ends_with("/graphql")).filter_map(|(_, count)| count.as_u64());
    usize::try_from(calls.sum::<u64>()).expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_workspaces_cost_no_more_than_25_requests_a_heartbeat_and_no_fixer() {
    let shop = Shop::wish().ratchet("heartbeat_secs = 5").open().await;
    shop.world.control(Method::DELETE, &format!("/repos/{REPO}/ci"), Value::Null).await;
    let head = shop.world.call(Method::GET, &format!("/repos/{REPO}/git/ref/heads/main"), Value::Null).await;
    let parent = head["object"]["sha"].as_str().expect("a head").to_owned();
    let tree = shop.world.call(Method::GET, &format!("/repos/{REPO}/git/commits/{parent}"), Value::Null).await;
    let commit = json!({ "message": "Change", "tree": tree["tree"]["sha"], "parents": [parent] });
    let commit = shop.world.call(Method::POST, &format!("/repos/{REPO}/git/commits"), commit).await;
    for number in 0..WORKSPACES {
        let branch = format!("many-{number}");
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": commit["sha"] });
        shop.world.call(Method::POST, &format!("/repos/{REPO}/git/refs"), made).await;
        let pull = json!({ "title": branch, "head": branch, "base": "main" });
        shop.world.call(Method::POST, &format!("/repos/{REPO}/pulls"), pull).await;
    }
    let all_done = || async {
        let state = shop.daemon().state(REPO).await;
        let done = state["workspaces"]
            .as_object()
            .map_or(0, |all| all.values().filter(|it| it["status"] == "PAUSED_DONE").count());
        (done == WORKSPACES).then_some(())
    };
    for _ in 0..3 {
        if tokio::time::timeout(Duration::from_secs(50), eventually("all are looked at", all_done)).await.is_ok() {
            break;
        }
    }
    eventually("all are looked at", all_done).await;
    // From one heartbeat to the next but one: two of them, and nothing else.
    let beats = || async {
        let text = shop.daemon().http.get(format!("{}/metrics", shop.daemon().url)).send().await.expect("an answer");
        let text = text.text().await.expect("text");
        let line =
            text.lines().find_map(|line| line.strip_prefix("ratchet_heartbeat_seconds_count ").map(str::to_owned));
        line.and_then(|count| count.parse::<usize>().ok()).unwrap_or_default()
    };
    let settled = beats().await;
    eventually("a quiet beat", || async { (beats().await > settled + 1).then_some(()) }).await;
    let (first, calls) = (beats().await, graphql_calls(&shop).await);
    eventually("two more beats", || async { (beats().await >= first + 2).then_some(()) }).await;
    let (last, more) = (beats().await, graphql_calls(&shop).await);
    let per_beat = (more - calls).div_ceil(last - first);
    println!("{} GraphQL requests in {} heartbeats with {WORKSPACES} workspaces", more - calls, last - first);
    assert!((20..=25).contains(&per_beat), "{per_beat} requests a heartbeat");
    assert_eq!(shop.begun(), 0);
    shop.close().await;
}
