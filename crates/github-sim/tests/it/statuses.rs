//! Commit statuses.

use serde_json::{Value, json};

use crate::support::{Clone, Receiver, World};

async fn head(clone: &Clone) -> String {
    clone.git(&["rev-parse", "HEAD"]).await
}

fn contexts(combined: &Value) -> Vec<(&str, &str)> {
    let statuses = combined["statuses"].as_array().expect("statuses").iter();
    statuses.map(|one| (one["context"].as_str().expect("a text"), one["state"].as_str().expect("a text"))).collect()
}

#[tokio::test]
async fn a_commit_nobody_spoke_about_is_pending() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = head(&clone).await;
    let answer = world.octocat.get("/repos/octocat/app/commits/main/status").await.expect(200);
    assert_eq!((answer.json["state"].as_str(), answer.json["total_count"].as_u64()), (Some("pending"), Some(0)));
    assert_eq!(answer.json["sha"], json!(sha));
    world.finish().await;
}

#[tokio::test]
async fn the_newest_status_of_each_context_counts() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = head(&clone).await;
    let path = format!("/repos/octocat/app/statuses/{sha}");
    let combined = format!("/repos/octocat/app/commits/{sha}/status");
    let say = |context: &'static str, state: &'static str| {
        let (client, path) = (world.octocat.clone(), path.clone());
        async move { client.post(&path, json!({ "context": context, "state": state })).await.expect(201) }
    };
    let state = || async { world.octocat.get(&combined).await.expect(200).json["state"].clone() };

    say("build", "pending").await;
    assert_eq!(state().await, "pending");
    say("build", "success").await;
    assert_eq!(state().await, "success");
    say("lint", "error").await;
    assert_eq!(state().await, "failure");
    say("lint", "success").await;
    say("test", "pending").await;
    assert_eq!(state().await, "pending");
    let answer = world.octocat.get(&combined).await.expect(200);
    assert_eq!(contexts(&answer.json), [("build", "success"), ("lint", "success"), ("test", "pending")]);

    let all = world.octocat.get(&format!("/repos/octocat/app/commits/{sha}/statuses")).await.expect(200);
    assert_eq!(all.json.as_array().unwrap().len(), 5);
    assert_eq!(all.json[0]["context"], "test");
    let old_address = world.octocat.get(&path).await.expect(200);
    assert_eq!(old_address.json, all.json);
    let paged = world.octocat.get(&format!("{combined}?per_page=2")).await.expect(200);
    assert_eq!((paged.json["total_count"].as_u64(), contexts(&paged.json).len()), (Some(3), 2));
    assert!(paged.header("link").contains("rel=\"next\""));
    world.finish().await;
}

#[tokio::test]
async fn a_status_carries_what_it_was_given_and_who_gave_it() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = head(&clone).await;
    let body = json!({ "state": "success", "target_url": "https://ci.example.com/1", "description": "All good" });
    let answer = world.octocat.post(&format!("/repos/octocat/app/statuses/{sha}"), body).await.expect(201);
    assert_eq!(answer.json["context"], "default");
    assert_eq!(answer.json["target_url"], "https://ci.example.com/1");
    assert_eq!(answer.json["description"], "All good");
    assert_eq!(answer.json["creator"]["login"], "octocat");
    world.finish().await;
}

#[tokio::test]
async fn a_status_is_told_to_hooks() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = head(&clone).await;
    let receiver = Receiver::new().await;
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": ["status"] });
    world.octocat.post("/repos/octocat/app/hooks", hook).await.expect(201);
    let body = json!({ "state": "failure", "context": "ci/build" });
    world.octocat.post(&format!("/repos/octocat/app/statuses/{sha}"), body).await.expect(201);
    let webhook = receiver.expect("status").await;
    assert_eq!((webhook.json["sha"].as_str(), webhook.json["state"].as_str()), (Some(sha.as_str()), Some("failure")));
    assert_eq!(webhook.json["branches"][0]["name"], "main");
    assert_eq!(webhook.json["commit"]["sha"], json!(sha));
    world.finish().await;
}

#[tokio::test]
async fn what_is_no_status_is_refused() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = head(&clone).await;
    let path = format!("/repos/octocat/app/statuses/{sha}");
    let refused = |body: Value| {
        let (client, path) = (world.octocat.clone(), path.clone());
        async move { client.post(&path, body).await.expect(422).json }
    };
    let answer = refused(json!({ "state": "fine" })).await;
    assert_eq!(answer["errors"][0]["message"], "state is not included in the list");
    let answer = refused(json!({})).await;
    assert!(answer["message"].as_str().unwrap().contains("\"state\" wasn't supplied"), "{answer}");
    let answer = refused(json!({ "state": "success", "description": "x".repeat(141) })).await;
    assert_eq!(answer["errors"][0]["field"], "description");
    let answer = refused(json!({ "state": "success", "target_url": "ftp://x" })).await;
    assert_eq!(answer["errors"][0]["field"], "target_url");

    let unknown = format!("/repos/octocat/app/statuses/{}", "0".repeat(40));
    let answer = world.octocat.post(&unknown, json!({ "state": "success" })).await.expect(422);
    assert!(answer.json["message"].as_str().unwrap().starts_with("No commit found for SHA"), "{}", answer.text);
    world.octocat.get("/repos/octocat/app/commits/nowhere/status").await.expect(404);
    world.octocat.get("/repos/octocat/app/commits/nowhere/statuses").await.expect(404);
    world.finish().await;
}

#[tokio::test]
async fn a_context_takes_a_thousand_statuses_and_no_more() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let path = format!("/repos/octocat/app/statuses/{}", head(&clone).await);
    for _ in 0..1000 {
        world.octocat.post(&path, json!({ "state": "pending", "context": "busy" })).await.expect(201);
    }
    let answer = world.octocat.post(&path, json!({ "state": "success", "context": "busy" })).await.expect(422);
    assert_eq!(answer.json["errors"][0]["message"], "This SHA and context has reached the maximum number of statuses.");
    world.octocat.post(&path, json!({ "state": "success", "context": "another" })).await.expect(201);
    world.finish().await;
}

#[tokio::test]
async fn only_those_who_may_write_set_a_status() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let path = format!("/repos/octocat/app/statuses/{}", head(&clone).await);
    let stranger = world.user("stranger").await;
    stranger.post(&path, json!({ "state": "success" })).await.expect(403);
    world.anonymous().post(&path, json!({ "state": "success" })).await.expect(401);
    stranger.get("/repos/octocat/app/commits/main/status").await.expect(200);
    world.finish().await;
}

#[tokio::test]
async fn a_branch_with_a_slash_is_named_encoded() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let sha = clone.commit_on("feature/x", "main", &[("x", "1")], "Add x").await;
    clone.push("feature/x").await;
    let answer = world.octocat.get("/repos/octocat/app/commits/feature%2Fx/status").await.expect(200);
    assert_eq!(answer.json["sha"], json!(sha));
    world.finish().await;
}
