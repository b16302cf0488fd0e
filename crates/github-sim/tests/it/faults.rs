//! What the simulator is told to do wrong, over real HTTP, and the limits it keeps.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Answer, Receiver, Webhook, World, eventually};

const REPO: &str = "/repos/octocat/app";
const ISSUES: &str = "/repos/octocat/app/issues";

async fn scene() -> World {
    let world = World::new().await;
    world.repo("app").await;
    world
}

async fn fault(world: &World, fault: Value) -> Value {
    world.control("POST", "/faults", fault).await.expect(201).json
}

async fn get(world: &World) -> reqwest::Result<Answer> {
    world.octocat.try_send("GET", REPO, None, &[]).await
}

async fn open_issue(world: &World, title: &str) {
    world.octocat.post(ISSUES, json!({ "title": title })).await.expect(201);
}

fn title(issue: &Value) -> String {
    issue["title"].as_str().expect("a title").to_owned()
}

async fn issue_titles(world: &World) -> Vec<String> {
    let list = world.octocat.get(ISSUES).await.expect(200).json;
    list.as_array().expect("a list").iter().map(title).collect()
}

#[tokio::test]
async fn a_status_takes_the_place_of_the_work() {
    let world = scene().await;
    for status in [500, 502, 503] {
        fault(
            &world,
            json!({ "kind": "status", "status": status, "match": { "method": "POST", "path": "/repos/*/issues" } }),
        )
        .await;
        world.octocat.post(ISSUES, json!({ "title": "Lost" })).await.expect(status);
    }
    assert!(issue_titles(&world).await.is_empty());
    for (status, retry_after) in [(429, 7), (403, 60)] {
        fault(&world, json!({ "kind": "status", "status": status, "retry_after": retry_after })).await;
        let answer = get(&world).await.unwrap().expect(status);
        assert_eq!(answer.header("retry-after"), retry_after.to_string());
        assert!(answer.text.contains("secondary rate limit"), "{}", answer.text);
    }
    fault(&world, json!({ "kind": "status", "status": 500, "message": "Oops" })).await;
    assert_eq!(get(&world).await.unwrap().expect(500).json["message"], "Oops");
    get(&world).await.unwrap().expect(200);
    world.finish().await;
}

#[tokio::test]
async fn a_fault_strikes_from_its_nth_call_as_often_as_it_is_told() {
    let world = scene().await;
    let made = fault(&world, json!({ "kind": "status", "status": 500, "count": 2, "match": { "nth": 3 } })).await;
    let mut seen = Vec::new();
    for _ in 0..6 {
        seen.push(get(&world).await.unwrap().status);
    }
    assert_eq!(seen, [200, 200, 500, 500, 200, 200]);
    let left = world.control("GET", "/faults", Value::Null).await.expect(200).json;
    assert_eq!((&left[0]["struck"], &left[0]["count"]), (&json!(2), &json!(0)));
    world.control("DELETE", &format!("/faults/{}", made["id"]), Value::Null).await.expect(204);
    world.control("DELETE", &format!("/faults/{}", made["id"]), Value::Null).await.expect(404);
    fault(&world, json!({ "kind": "status", "status": 500, "count": null })).await;
    for _ in 0..3 {
        get(&world).await.unwrap().expect(500);
    }
    world.control("DELETE", "/faults", Value::Null).await.expect(204);
    get(&world).await.unwrap().expect(200);
    world.finish().await;
}

#[tokio::test]
async fn a_fault_strikes_only_what_it_matches() {
    let world = scene().await;
    world.repo("other").await;
    fault(
        &world,
        json!({ "kind": "status", "status": 500, "count": null, "match": { "repository": "octocat/other" } }),
    )
    .await;
    get(&world).await.unwrap().expect(200);
    world.octocat.get("/user").await.expect(200);
    world.octocat.get("/repos/octocat/other").await.expect(500);
    world.octocat.get("/repos/Octocat/Other/issues").await.expect(500);
    world.finish().await;
}

#[tokio::test]
async fn a_call_times_out_or_comes_late() {
    let world = scene().await;
    fault(&world, json!({ "kind": "timeout", "ms": 200 })).await;
    let started = Instant::now();
    assert!(get(&world).await.is_err());
    assert!(started.elapsed() >= Duration::from_millis(200));
    fault(&world, json!({ "kind": "delay", "ms": 200 })).await;
    let started = Instant::now();
    get(&world).await.unwrap().expect(200);
    assert!(started.elapsed() >= Duration::from_millis(200));
    world.finish().await;
}

#[tokio::test]
async fn an_answer_is_cut_in_half_or_lost_after_the_work_was_done() {
    let world = scene().await;
    fault(&world, json!({ "kind": "truncate", "match": { "method": "POST" } })).await;
    let new = |title: &str| Some(json!({ "title": title }));
    assert!(world.octocat.try_send("POST", ISSUES, new("Half"), &[]).await.is_err());
    fault(&world, json!({ "kind": "lose_response", "match": { "method": "POST" } })).await;
    assert!(world.octocat.try_send("POST", ISSUES, new("Lost"), &[]).await.is_err());
    assert_eq!(issue_titles(&world).await, ["Lost", "Half"]);
    world.finish().await;
}

#[tokio::test]
async fn a_push_is_struck_too() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = clone.commit_on("topic", "main", &[("a.txt", "a")], "Add a").await;
    let push = ["push", "--quiet", "origin", "topic"];
    fault(
        &world,
        json!({ "kind": "status", "status": 503, "match": { "path": "*/git-receive-pack", "method": "POST" } }),
    )
    .await;
    assert!(!clone.try_git(&push).await.status.success());
    world.octocat.get(&format!("{REPO}/branches/topic")).await.expect(404);
    fault(&world, json!({ "kind": "lose_response", "match": { "path": "*/git-receive-pack", "method": "POST" } }))
        .await;
    assert!(!clone.try_git(&push).await.status.success());
    let branch = world.octocat.get(&format!("{REPO}/branches/topic")).await.expect(200).json;
    assert_eq!(branch["commit"]["sha"], sha);
    world.finish().await;
}

async fn listening() -> (World, Receiver) {
    let world = scene().await;
    let receiver = Receiver::new().await;
    let config = json!({ "url": receiver.url, "content_type": "json" });
    world.octocat.post(&format!("{REPO}/hooks"), json!({ "config": config, "events": ["issues"] })).await.expect(201);
    receiver.expect("ping").await;
    (world, receiver)
}

/// The titles of the issues told of, in the order they came, once there are `count`.
async fn told(receiver: &Receiver, count: usize) -> Vec<String> {
    let all: Vec<Webhook> = eventually("the webhooks come", || async {
        let all = receiver.all();
        (all.len() >= count).then_some(all)
    })
    .await;
    all.iter().map(|webhook| title(&webhook.json["issue"])).collect()
}

#[tokio::test]
async fn a_webhook_is_dropped() {
    let (world, receiver) = listening().await;
    fault(&world, json!({ "kind": "drop_webhook", "match": { "event": "issues.opened", "nth": 2 } })).await;
    for title in ["a", "b", "c"] {
        open_issue(&world, title).await;
    }
    assert_eq!(told(&receiver, 2).await, ["a", "c"]);
    let all = world.control("GET", "/deliveries?event=issues", Value::Null).await.expect(200).json;
    assert_eq!(all[1]["status"], "dropped by a fault");
    world.control("POST", &format!("/deliveries/{}/redeliver", all[1]["id"]), json!({})).await.expect(202);
    assert_eq!(told(&receiver, 3).await, ["a", "c", "b"]);
    world.finish().await;
}

#[tokio::test]
async fn a_late_webhook_holds_up_no_other() {
    let (world, receiver) = listening().await;
    fault(&world, json!({ "kind": "delay_webhook", "ms": 300, "match": { "event": "issues" } })).await;
    for title in ["a", "b", "c"] {
        open_issue(&world, title).await;
    }
    assert_eq!(told(&receiver, 3).await, ["b", "c", "a"]);
    world.finish().await;
}

#[tokio::test]
async fn a_webhook_comes_more_than_once_under_one_id() {
    let (world, receiver) = listening().await;
    fault(&world, json!({ "kind": "duplicate_webhook", "times": 2 })).await;
    open_issue(&world, "a").await;
    open_issue(&world, "b").await;
    assert_eq!(told(&receiver, 4).await, ["a", "a", "a", "b"]);
    let ids: Vec<String> = receiver.all().into_iter().map(|webhook| webhook.delivery).collect();
    assert!(ids[0] == ids[1] && ids[1] == ids[2] && ids[2] != ids[3], "{ids:?}");
    world.finish().await;
}

#[tokio::test]
async fn a_webhook_is_overtaken_by_the_next() {
    let (world, receiver) = listening().await;
    fault(&world, json!({ "kind": "reorder_webhook" })).await;
    for title in ["a", "b", "c"] {
        open_issue(&world, title).await;
    }
    assert_eq!(told(&receiver, 3).await, ["b", "a", "c"]);
    world.finish().await;
}

#[tokio::test]
async fn the_merge_state_lags_behind_a_push() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let number = world.pull(&clone, "topic", "main").await;
    let state = async || {
        let pull = world.octocat.get(&format!("{REPO}/pulls/{number}")).await.expect(200).json;
        (pull["mergeable"].clone(), pull["mergeable_state"].as_str().unwrap().to_owned())
    };
    assert_eq!(state().await, (json!(true), "clean".to_owned()));
    fault(&world, json!({ "kind": "lag_merge_state", "ms": 60_000, "mode": "unknown" })).await;
    clone.commit_on("topic", "main", &[("b.txt", "b")], "Add b").await;
    clone.push("topic").await;
    assert_eq!(state().await, (Value::Null, "unknown".to_owned()));
    world.control("POST", "/clock", json!({ "advance_seconds": 61 })).await.expect(200);
    assert_eq!(state().await, (json!(true), "clean".to_owned()));
    world.finish().await;
}

#[tokio::test]
async fn the_merge_commit_lags_behind_a_merge() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let number = world.pull(&clone, "topic", "main").await;
    fault(&world, json!({ "kind": "lag_merge_commit_sha", "ms": 60_000 })).await;
    let path = format!("{REPO}/pulls/{number}");
    let merged =
        world.octocat.put(&format!("{path}/merge"), json!({ "merge_method": "squash" })).await.expect(200).json;
    let shown = world.octocat.get(&path).await.expect(200).json;
    assert_eq!((&shown["merged"], &shown["merge_commit_sha"]), (&json!(true), &Value::Null));
    world.control("POST", "/clock", json!({ "advance_seconds": 61 })).await.expect(200);
    assert_eq!(world.octocat.get(&path).await.expect(200).json["merge_commit_sha"], merged["sha"]);
    world.finish().await;
}

#[tokio::test]
async fn a_squash_goes_wrong_in_the_way_it_is_told() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    for (how, keeps_change, keeps_base, parents) in
        [("lose_change", false, true, 1), ("revert_base", true, false, 1), ("two_parents", true, true, 2)]
    {
        let number = world.pull(&clone, &format!("change-{how}"), "main").await;
        let base = world.pull(&clone, &format!("base-{how}"), "main").await;
        let merge = async |number: u64| {
            let path = format!("{REPO}/pulls/{number}/merge");
            world.octocat.put(&path, json!({ "merge_method": "squash" })).await.expect(200).json["sha"].clone()
        };
        merge(base).await;
        fault(&world, json!({ "kind": "wrong_squash", "how": how })).await;
        let sha = merge(number).await;
        let commit = world.octocat.get(&format!("{REPO}/commits/{}", sha.as_str().unwrap())).await.expect(200).json;
        assert_eq!(commit["parents"].as_array().unwrap().len(), parents, "{how}");
        clone.git(&["fetch", "--quiet", "origin"]).await;
        let files = clone.git(&["ls-tree", "--name-only", "origin/main"]).await;
        assert_eq!(files.contains(&format!("change-{how}.txt")), keeps_change, "{how}: {files}");
        assert_eq!(files.contains(&format!("base-{how}.txt")), keeps_base, "{how}: {files}");
    }
    world.finish().await;
}

#[tokio::test]
async fn a_fault_that_makes_no_sense_is_refused_with_what_would() {
    let world = World::new().await;
    for (fault, reason) in [
        (json!({}), "missing field `kind`"),
        (json!({ "kind": "explode" }), "expected one of `status`, `timeout`"),
        (json!({ "kind": "status" }), "missing field `status`"),
        (json!({ "kind": "status", "status": 99 }), "from 100 to 599"),
        (json!({ "kind": "status", "status": 500, "retryafter": 1 }), "`retryafter`"),
        (json!({ "kind": "truncate", "ms": 1 }), "unknown field `ms`"),
        (json!({ "kind": "truncate", "match": { "url": "/" } }), "unknown field `url`"),
        (json!({ "kind": "truncate", "match": { "probability": 2.0 } }), "from 0 to 1"),
        (json!({ "kind": "truncate", "match": { "nth": 0 } }), "counts from 1"),
        (json!({ "kind": "truncate", "count": 0 }), "at least 1"),
        (json!({ "kind": "duplicate_webhook", "times": 0 }), "from 1 to 100"),
        (json!({ "kind": "wrong_squash", "how": "badly" }), "expected one of `revert_base`"),
    ] {
        let answer = world.control("POST", "/faults", json!([{ "kind": "truncate" }, fault])).await.expect(422);
        assert!(answer.json["message"].as_str().unwrap().contains(reason), "{fault}: {}", answer.text);
    }
    assert_eq!(world.control("GET", "/faults", Value::Null).await.expect(200).json, json!([]));
    let two = world.control("POST", "/faults", json!([{ "kind": "truncate" }, { "kind": "lose_response" }])).await;
    assert_eq!(two.expect(201).json.as_array().unwrap().len(), 2);
    world.finish().await;
}

#[tokio::test]
async fn the_same_seed_and_calls_bring_the_same_faults() {
    let strikes = async |noise: bool| {
        let world = scene().await;
        fault(
            &world,
            json!({ "kind": "status", "status": 500, "count": null, "match": { "path": REPO, "probability": 0.5 } }),
        )
        .await;
        let mut seen = Vec::new();
        for n in 0..100 {
            // What else happens, random or not, has no say in it.
            if noise && n % 7 == 0 {
                open_issue(&world, "noise").await;
            }
            seen.push(get(&world).await.unwrap().status == 500);
        }
        world.finish().await;
        seen
    };
    let first = strikes(false).await;
    let struck = first.iter().filter(|hit| **hit).count();
    assert!((30..=70).contains(&struck), "{struck} of 100");
    assert_eq!(strikes(true).await, first);
}

#[tokio::test]
async fn the_rate_limit_is_kept_shown_and_given_back() {
    let world = scene().await;
    world.control("PATCH", "/settings", json!({ "rate_limit": 5 })).await.expect(200);
    world.control("POST", "/rate_limit/reset", json!({})).await.expect(204);
    let first = get(&world).await.unwrap().expect(200);
    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), ("5", "4"));
    assert_eq!(first.header("x-ratelimit-resource"), "core");
    // An answer that did not change costs nothing.
    let tag = first.header("etag").to_owned();
    for _ in 0..3 {
        let same = world.octocat.try_send("GET", REPO, None, &[("if-none-match", &tag)]).await.unwrap().expect(304);
        assert_eq!(same.header("etag"), tag);
    }
    // Nor does asking.
    let asked = world.octocat.get("/rate_limit").await.expect(200).json;
    assert_eq!((&asked["rate"]["remaining"], &asked["resources"]["core"]["used"]), (&json!(4), &json!(1)));
    for _ in 0..4 {
        get(&world).await.unwrap().expect(200);
    }
    let refused = get(&world).await.unwrap().expect(403);
    assert!(
        refused.json["message"].as_str().unwrap().starts_with("API rate limit exceeded for user ID"),
        "{}",
        refused.text
    );
    assert_eq!((refused.header("x-ratelimit-remaining"), refused.header("x-ratelimit-used")), ("0", "5"));
    let reset: i64 = refused.header("x-ratelimit-reset").parse().unwrap();
    assert!(reset > jiff::Timestamp::now().as_second());
    // Others have a budget of their own, and an hour later there is a new one.
    world.user("mona").await.get(REPO).await.expect(200);
    world.control("POST", "/clock", json!({ "advance_seconds": 3601 })).await.expect(200);
    get(&world).await.unwrap().expect(200);
    world.finish().await;
}

#[tokio::test]
async fn whoever_creates_too_much_has_to_wait_a_minute() {
    let world = scene().await;
    world.control("PATCH", "/settings", json!({ "content_creation_per_minute": 2 })).await.expect(200);
    open_issue(&world, "a").await;
    open_issue(&world, "b").await;
    let refused = world.octocat.post(ISSUES, json!({ "title": "c" })).await.expect(403);
    assert!(refused.text.contains("secondary rate limit"), "{}", refused.text);
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    get(&world).await.unwrap().expect(200);
    world.control("POST", "/clock", json!({ "advance_seconds": wait + 1 })).await.expect(200);
    open_issue(&world, "c").await;
    world.finish().await;
}
