//! A repository's webhooks: made, changed, tried out, looked at.

use serde_json::{Value, json};

use crate::support::{Receiver, World, eventually};

const HOOKS: &str = "/repos/octocat/app/hooks";

async fn scene() -> (World, Receiver) {
    let world = World::new().await;
    world.repo("app").await;
    (world, Receiver::new().await)
}

async fn hooked(world: &World, receiver: &Receiver, config: Value) -> u64 {
    let mut config = config;
    config["url"] = receiver.url.as_str().into();
    let body = json!({ "config": config, "events": ["push", "issue_comment", "issues"] });
    let answer = world.octocat.post(HOOKS, body).await.expect(201);
    answer.json["id"].as_u64().expect("an id")
}

/// The deliveries of a hook once there are `count`, the newest first.
async fn deliveries(world: &World, hook: u64, count: usize) -> Vec<Value> {
    eventually("the deliveries are listed", || async {
        let answer = world.octocat.get(&format!("{HOOKS}/{hook}/deliveries")).await.expect(200);
        answer.json.as_array().filter(|list| list.len() == count).cloned()
    })
    .await
}

#[tokio::test]
async fn a_new_hook_is_pinged_and_its_secret_is_never_shown() {
    let (world, receiver) = scene().await;
    let config = json!({ "url": receiver.url, "secret": "hush", "content_type": "json", "insecure_ssl": 0 });
    let made = world.octocat.post(HOOKS, json!({ "name": "web", "config": config })).await.expect(201).json;
    assert_eq!(made["config"]["secret"], "********");
    assert_eq!(made["events"], json!(["push"]));
    assert_eq!(made["last_response"]["status"], "unused");
    let ping = receiver.expect("ping").await;
    assert_eq!(ping.json["hook_id"], made["id"]);
    assert_eq!(ping.json["hook"]["config"]["secret"], "********");
    assert!(ping.json["zen"].is_string());
    assert!(!ping.signature.is_empty());
    let hook = made["id"].as_u64().unwrap();
    deliveries(&world, hook, 1).await;
    let shown = world.octocat.get(&format!("{HOOKS}/{hook}")).await.expect(200).json;
    assert_eq!(shown["last_response"], json!({ "code": 200, "status": "active", "message": "OK" }));
    world.finish().await;
}

#[tokio::test]
async fn what_github_refuses_in_a_hook_is_refused() {
    let (world, receiver) = scene().await;
    for (body, message) in [
        (json!({}), "url cannot be blank"),
        (json!({ "config": { "url": "" } }), "url cannot be blank"),
        (json!({ "config": { "url": "ftp://example.com" } }), "not a valid URL"),
        (json!({ "config": { "url": "nonsense" } }), "not a valid URL"),
        (json!({ "config": { "url": receiver.url, "content_type": "xml" } }), "content_type"),
        (json!({ "config": { "url": receiver.url, "insecure_ssl": "2" } }), "insecure_ssl"),
        (json!({ "config": { "url": receiver.url }, "events": ["pushed"] }), "\\\"pushed\\\" is not a valid event"),
        (json!({ "config": { "url": receiver.url }, "events": [] }), "events cannot be empty"),
        (json!({ "name": "irc", "config": { "url": receiver.url } }), "invalid"),
    ] {
        let answer = world.octocat.post(HOOKS, body.clone()).await.expect(422);
        assert!(answer.text.contains(message), "{body}: {}", answer.text);
    }
    hooked(&world, &receiver, json!({})).await;
    let again = json!({ "config": { "url": receiver.url }, "events": ["push", "issue_comment", "issues"] });
    let answer = world.octocat.post(HOOKS, again).await.expect(422);
    assert!(answer.text.contains("Hook already exists on this repository"), "{}", answer.text);
    let stranger = world.user("stranger").await;
    stranger.get(HOOKS).await.expect(404);
    stranger.post(HOOKS, json!({ "config": { "url": receiver.url } })).await.expect(403);
    world.anonymous().get(HOOKS).await.expect(401);
    world.octocat.get(&format!("{HOOKS}/1")).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_hook_is_changed_and_deleted() {
    let (world, receiver) = scene().await;
    let hook = hooked(&world, &receiver, json!({ "secret": "hush" })).await;
    let path = format!("{HOOKS}/{hook}");
    let change = json!({ "add_events": ["create"], "remove_events": ["issues"], "active": false });
    let changed = world.octocat.patch(&path, change).await.expect(200).json;
    assert_eq!(changed["events"], json!(["push", "issue_comment", "create"]));
    assert_eq!((&changed["active"], &changed["config"]["secret"]), (&json!(false), &json!("********")));

    let config = format!("{path}/config");
    world.octocat.patch(&config, json!({ "content_type": "json" })).await.expect(200);
    let shown = world.octocat.get(&config).await.expect(200).json;
    assert_eq!((&shown["content_type"], &shown["secret"]), (&json!("json"), &json!("********")));
    // A whole new configuration without a secret takes the old one away.
    let changed = world.octocat.patch(&path, json!({ "config": { "url": receiver.url } })).await.expect(200).json;
    assert!(changed["config"].get("secret").is_none(), "{changed}");

    assert_eq!(world.octocat.get(HOOKS).await.expect(200).json.as_array().unwrap().len(), 1);
    world.octocat.delete(&path).await.expect(204);
    world.octocat.get(&path).await.expect(404);
    world.octocat.get(&format!("{path}/deliveries")).await.expect(404);
    world.octocat.delete(&path).await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn an_inactive_hook_hears_nothing_but_pings() {
    let (world, receiver) = scene().await;
    let other = Receiver::new().await;
    let hook = hooked(&world, &receiver, json!({ "content_type": "json" })).await;
    hooked(&world, &other, json!({ "content_type": "json" })).await;
    receiver.expect("ping").await;
    world.octocat.patch(&format!("{HOOKS}/{hook}"), json!({ "active": false })).await.expect(200);
    world.octocat.post("/repos/octocat/app/issues", json!({ "title": "Hear me" })).await.expect(201);
    other.expect("issues.opened").await;
    world.octocat.post(&format!("{HOOKS}/{hook}/pings"), json!({})).await.expect(204);
    receiver.expect("ping").await;
    assert!(receiver.all().is_empty(), "{:?}", receiver.all());
    world.finish().await;
}

#[tokio::test]
async fn a_test_sends_the_latest_push_to_this_hook_only() {
    let (world, receiver) = scene().await;
    let other = Receiver::new().await;
    let hook = hooked(&world, &receiver, json!({ "content_type": "json" })).await;
    hooked(&world, &other, json!({ "content_type": "json" })).await;
    world.octocat.post(&format!("{HOOKS}/{hook}/tests"), json!({})).await.expect(204);
    let push = receiver.expect("push").await;
    assert_eq!(push.json["ref"], "refs/heads/main");
    assert_eq!(push.json["commits"].as_array().unwrap().len(), 1);
    other.expect("ping").await;
    assert!(other.all().is_empty());
    world.finish().await;
}

#[tokio::test]
async fn a_form_hook_gets_its_payload_as_a_form_field() {
    let (world, receiver) = scene().await;
    hooked(&world, &receiver, json!({ "content_type": "form" })).await;
    let ping = eventually("a ping", || async { receiver.all().pop() }).await;
    assert_eq!(ping.headers["content-type"], "application/x-www-form-urlencoded");
    let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(&ping.body).expect("a form");
    assert_eq!(fields[0].0, "payload");
    let payload: Value = serde_json::from_str(&fields[0].1).expect("JSON");
    assert!(payload["zen"].is_string());
    assert!(ping.headers.get("x-hub-signature-256").is_none(), "it has no secret");
    world.finish().await;
}

#[tokio::test]
async fn deliveries_are_listed_shown_and_sent_again() {
    let (world, receiver) = scene().await;
    let hook = hooked(&world, &receiver, json!({ "content_type": "json", "secret": "hush" })).await;
    receiver.expect("ping").await;
    receiver.answer_next_with(&[500]);
    world.octocat.post("/repos/octocat/app/issues", json!({ "title": "One" })).await.expect(201);
    let first = receiver.expect("issues.opened").await;
    let listed = deliveries(&world, hook, 2).await;
    assert_eq!(listed[0]["event"], "issues");
    assert_eq!(listed[0]["action"], "opened");
    assert_eq!(listed[0]["guid"], first.delivery.as_str());
    assert_eq!(listed[0]["status_code"], 500);
    assert_eq!(listed[0]["status"], "Invalid HTTP Response: 500");
    assert_eq!(listed[1]["event"], "ping");

    let one = format!("{HOOKS}/{hook}/deliveries/{}", listed[0]["id"]);
    let shown = world.octocat.get(&one).await.expect(200).json;
    assert_eq!(shown["request"]["payload"], first.json);
    assert_eq!(shown["request"]["headers"]["X-Hub-Signature-256"], first.signature.as_str());
    world.octocat.get(&format!("{HOOKS}/{hook}/deliveries/1")).await.expect(404);

    world.octocat.post(&format!("{one}/attempts"), json!({})).await.expect(202);
    let again = receiver.expect("issues.opened").await;
    assert_eq!((again.delivery, again.json), (first.delivery, first.json));
    let listed = deliveries(&world, hook, 3).await;
    assert_eq!((&listed[0]["redelivery"], &listed[0]["status"]), (&json!(true), &json!("OK")));
    let again = world.octocat.get(&format!("{HOOKS}/{hook}/deliveries?redelivery=true")).await.expect(200).json;
    assert_eq!(again.as_array().unwrap().len(), 1);
    let failed = world.octocat.get(&format!("{HOOKS}/{hook}/deliveries?status=failure")).await.expect(200).json;
    assert_eq!(failed[0]["status_code"], 500);
    world.finish().await;
}

#[tokio::test]
async fn deliveries_come_a_page_at_a_time_by_cursor() {
    let (world, receiver) = scene().await;
    let hook = hooked(&world, &receiver, json!({ "content_type": "json" })).await;
    for n in 0..4 {
        world.octocat.post("/repos/octocat/app/issues", json!({ "title": format!("{n}") })).await.expect(201);
    }
    let all: Vec<Value> = deliveries(&world, hook, 5).await.iter().map(|delivery| delivery["id"].clone()).collect();
    let mut path = format!("{HOOKS}/{hook}/deliveries?per_page=2");
    let mut seen = Vec::new();
    for pages in 1.. {
        let answer = world.octocat.get(&path).await.expect(200);
        seen.extend(answer.json.as_array().unwrap().iter().map(|delivery| delivery["id"].clone()));
        let Some(next) = answer.header("link").split(['<', '>']).nth(1).map(str::to_owned) else { break };
        assert!(answer.header("link").contains("rel=\"next\"") && pages < 4, "{next}");
        path = next.split("/api/v3").nth(1).expect("a link to the API").to_owned();
    }
    assert_eq!(seen, all);
    world.octocat.get(&format!("{HOOKS}/{hook}/deliveries?cursor=x")).await.expect(422);
    world.finish().await;
}

#[tokio::test]
async fn a_receiver_that_is_not_there_or_too_slow_is_noted() {
    let (world, receiver) = scene().await;
    let config = json!({ "url": "http://127.0.0.1:1/", "content_type": "json" });
    let hook = world.octocat.post(HOOKS, json!({ "config": config })).await.expect(201).json["id"].as_u64().unwrap();
    let listed = deliveries(&world, hook, 1).await;
    assert_eq!((&listed[0]["status"], &listed[0]["status_code"]), (&json!("failed to connect to host"), &json!(0)));
    world.control("PATCH", "/settings", json!({ "webhook_timeout_ms": 50 })).await.expect(200);
    receiver.answer_next_after(std::time::Duration::from_secs(30));
    let hook = hooked(&world, &receiver, json!({})).await;
    assert_eq!(deliveries(&world, hook, 1).await[0]["status"], "timed out");
    world.finish().await;
}
