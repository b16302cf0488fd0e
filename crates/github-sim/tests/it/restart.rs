//! The same state after a restart on the same data directory.

use serde_json::{Value, json};

use crate::support::{Receiver, World, eventually};

/// What the paths answer, without the port, which is another each time.
async fn looks(world: &World, paths: &[&str]) -> Vec<Value> {
    let mut all = Vec::new();
    for path in paths {
        let text =
            world.octocat.get(path).await.expect(200).text.replace(&world.running().address().to_string(), "HOST");
        all.push(serde_json::from_str(&text).expect("JSON"));
    }
    all
}

#[tokio::test]
async fn everything_is_the_same_after_a_restart() {
    let mut world = World::new().await;
    let reviewer = world.user("hubot").await;
    let clone = world.repo("demo").await;
    world.pull(&clone, "one", "main").await;
    world.pull(&clone, "two", "one").await;
    let repo = "/repos/octocat/demo";
    let base = world.octocat.get(&format!("{repo}/git/ref/heads/one")).await.expect(200);
    let head = base.json["object"]["sha"].as_str().unwrap().to_owned();
    world.octocat.post(&format!("{repo}/issues/1/comments"), json!({ "body": "first" })).await.expect(201);
    world.octocat.post(&format!("{repo}/issues/1/labels"), json!({ "labels": ["ready"] })).await.expect(200);
    reviewer.post(&format!("{repo}/pulls/1/reviews"), json!({ "event": "APPROVE" })).await.expect(200);
    let status = json!({ "state": "success", "context": "build" });
    world.octocat.post(&format!("{repo}/statuses/{head}"), status).await.expect(201);
    let protection = json!({
        "required_status_checks": { "strict": true, "contexts": ["build"] }, "enforce_admins": false,
        "required_pull_request_reviews": null, "restrictions": null
    });
    world.octocat.put(&format!("{repo}/branches/main/protection"), protection).await.expect(200);
    let commit = format!("{repo}/commits/{head}/status");
    let paths = [
        "/user",
        "/user/repos",
        repo,
        "/repos/octocat/demo/branches",
        "/repos/octocat/demo/branches/main/protection",
        "/repos/octocat/demo/pulls?state=all",
        "/repos/octocat/demo/pulls/2/files",
        "/repos/octocat/demo/pulls/1/reviews",
        "/repos/octocat/demo/issues/1/comments",
        "/repos/octocat/demo/issues/1/labels",
        &commit,
    ];
    let before = looks(&world, &paths).await;
    let description = world.running().description();

    world.restart().await;

    for ((path, before), after) in paths.iter().zip(before).zip(looks(&world, &paths).await) {
        assert_eq!(after, before, "{path}");
    }
    let again = world.running().description();
    assert_eq!((&again["users"], &again["app"]), (&description["users"], &description["app"]));
    let fresh = world.clone_of("octocat", "demo").await;
    assert_eq!(fresh.git(&["rev-parse", "origin/one"]).await, head);

    // Numbers and ids go on where they were.
    assert_eq!(world.pull(&fresh, "three", "two").await, 3);
    world.finish().await;
}

#[tokio::test]
async fn webhooks_that_nobody_answered_before_the_stop_are_sent_after_it() {
    let mut world = World::new().await;
    // Connections to it are made, and wait.
    let deaf = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", deaf.local_addr().expect("an address"));
    let clone = world.repo("demo").await;
    world.pull(&clone, "one", "main").await;
    let hook = json!({ "config": { "url": url, "content_type": "json" }, "events": ["issue_comment"] });
    world.octocat.post("/repos/octocat/demo/hooks", hook).await.expect(201);
    world.octocat.post("/repos/octocat/demo/issues/1/comments", json!({ "body": "later" })).await.expect(201);

    world.restart().await;

    let receiver = Receiver::on(deaf);
    receiver.expect("ping").await;
    let webhook = receiver.expect("issue_comment.created").await;
    assert_eq!(webhook.json["comment"]["body"], "later");
    world.finish().await;
}

#[tokio::test]
async fn a_second_simulator_on_the_same_data_is_refused_until_the_first_has_stopped() {
    let mut world = World::new().await;
    let options = github_sim::Options::new(world.dir.path().join("data"));
    let refused = github_sim::start(options).await.err().expect("refused");
    assert!(refused.to_string().contains("another simulator uses"), "{refused}");
    world.restart().await;
    eventually("it answers", || async { (world.octocat.get("/rate_limit").await.status == 200).then_some(()) }).await;
    world.finish().await;
}
