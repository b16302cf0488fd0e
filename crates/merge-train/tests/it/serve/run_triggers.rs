//! Workflows that GitHub's events start.

use serde_json::{Value, json};

use crate::serve::runs::{Place, agent, becomes};
use crate::support::{Daemon, Sender, comment, eventually, pull_request};

const REPO: &str = "acme/widgets";

async fn listed(daemon: &Daemon, query: &str) -> Vec<Value> {
    let (status, page) = daemon.get(&format!("/api/v1/runs?{query}")).await;
    assert_eq!(status, 200, "{page}");
    page["runs"].as_array().expect("a list").clone()
}

async fn send(daemon: &Daemon, event: &str, delivery: &str, payload: &Value) {
    let answer = Sender::to(&daemon.url).send(event, delivery, payload).await.expect("an answer");
    assert_eq!(answer.status(), 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_starts_the_workflows_that_name_it_once_each() {
    let place = Place::new(|dir| {
        let workflow = |name: &str, on: &str| format!("[[workflows]]\nname = {name:?}\non = {on}\n");
        let look = agent(dir, "look", "cat > told.json; echo '{}'");
        let count = agent(dir, "count", "echo '{}'");
        workflow("greet", "[\"pull_request.opened\"]") + &look + &workflow("count", "[\"pull_request\"]") + &count
    });
    let daemon = place.setup.start().await;
    let opened = pull_request(REPO, 7, "opened", 1, 1);
    send(&daemon, "pull_request", "d-1", &opened).await;
    send(&daemon, "pull_request", "d-1", &opened).await;
    let greet = eventually("a run", || async { listed(&daemon, "type=greet").await.pop() }).await;
    let done = becomes(&daemon, greet["id"].as_str().expect("an id"), "completed").await;
    assert_eq!((done["tenantId"].as_str(), done["repoId"].as_str()), (Some("acme"), Some(REPO)));
    assert_eq!((done["prId"].as_str(), done["idempotencyKey"].as_str()), (Some("7"), Some("github:d-1.greet")));
    let trigger = json!({ "source": "webhook", "userId": "github:dev", "webhookEventId": "d-1" });
    assert_eq!(done["trigger"], trigger);
    let told = place.dir.path().join("runs").join(done["id"].as_str().expect("an id")).join("work/told.json");
    let told: Value = serde_json::from_slice(&std::fs::read(told).expect("what it read")).expect("JSON");
    assert_eq!((&told["run"]["repo"], &told["run"]["pr"]), (&json!(REPO), &json!(7)));

    // Another action is another event; without one, any is meant.
    send(&daemon, "pull_request", "d-2", &pull_request(REPO, 7, "synchronize", 2, 2)).await;
    send(&daemon, "issue_comment", "d-3", &comment(REPO, 7, 1, "created", "Hello", "2026-01-01T00:00:03Z")).await;
    eventually("two are counted", || async { (place.times("count") == 2).then_some(()) }).await;
    assert_eq!(listed(&daemon, "type=count").await.len(), 2);
    assert_eq!((listed(&daemon, "type=greet").await.len(), place.times("look")), (1, 1));
}
