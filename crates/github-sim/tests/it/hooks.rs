//! A repository's webhooks: made, changed, tried out, looked at.

use serde_json::{Value, json};

use crate::support::{Answer, Receiver, World, eventually};

async fn hooked(world: &World, receiver: &Receiver, config: Value) -> u64 {
    let mut config = config;
    config["url"] = receiver.url.as_str().into();
    let body = json!({ "config": config, "events": ["push", "issue_comment", "issues"] });
    let answer = world.octocat.post("/repos/octocat/app/hooks", body).await.expect(201);
    answer.json["id"].as_u64().expect("an id")
}

/// The deliveries of a hook once there are `count`.
async fn deliveries(world: &World, hook: u64, count: usize) -> Vec<Value> {
    eventually("the deliveries are listed", || async {
        let answer = world.octocat.get(&format!("/repos/octocat/app/hooks/{hook}/deliveries")).await.expect(200);
        answer.json.as_array().filter(|list| list.len() == count).cloned()
    })
    .await
}

fn messages(answer: &Answer) -> String {
    answer.json["errors"].to_string()
}

#[tokio::test]
async fn a_new_hook_is_pinged_and_its_secret_is_never_shown() {
    let world = World::new().await;
    world.repo("app").await;
    let receiver = Receiver::new().await;
    let body = json!({ "name": "web", "config": { "url": receiver.url, "secret": "hush", "content_type": "json", "insecure_ssl": 0 } });
    let made = world.octocat.post("/repos/octocat/app/hooks", body).await.expect(201).json;
    assert_eq!(made["config"]["secret"], "********");
    assert_eq!(made["events"], json!(["push"]));
    assert_eq!(made["last_response"]["status"], "unused");
    let ping = receiver.expect("ping").await;
    assert_eq!(ping.json["hook_id"], made["id"]);
    assert_eq!(ping.json["hook"]["config"]["secret"], "********");
    assert!(ping.json["zen"].is_string());
    assert!(!ping.signature.is_empty());
    world.finish().await;
}
