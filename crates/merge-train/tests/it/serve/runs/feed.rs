//! `GET /api/v1/events`: what becomes of all runs, as it happens.

use futures_util::{StreamExt as _, stream};

use super::*;
use crate::support::PATIENCE;

/// Somebody who listens.
struct Listener {
    response: reqwest::Response,
    heard: Vec<u8>,
}

impl Listener {
    async fn of(daemon: &Daemon, key: &str) -> Self {
        let request = http().get(format!("{}/api/v1/events", daemon.url)).bearer_auth(key);
        let response = request.send().await.expect("an answer");
        let kind = response.headers()["content-type"].to_str().expect("text").to_owned();
        assert_eq!((response.status().as_u16(), kind.as_str()), (200, "text/event-stream"));
        Self { response, heard: Vec::new() }
    }

    /// The next run that is told of.
    async fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.heard.windows(2).position(|two| two == b"\n\n") {
                let event = String::from_utf8(self.heard.drain(..end + 2).collect()).expect("text");
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                // What only keeps the connection alive has no data.
                if let Some(data) = field("data:") {
                    assert_eq!(field("event:"), Some("run"), "{event}");
                    return serde_json::from_str(data).expect("JSON");
                }
                continue;
            }
            let more = tokio::time::timeout(PATIENCE, self.response.chunk()).await.expect("in time");
            self.heard.extend(more.expect("it can be read").expect("it goes on"));
        }
    }

    /// All that is told until a run is in a state: of which runs, and the run then.
    async fn until(&mut self, run: &str, status: &str) -> (Vec<Value>, Value) {
        let mut told = Vec::new();
        loop {
            let next = self.next().await;
            told.push(next["id"].clone());
            if next["id"] == run && next["status"] == status {
                return (told, next);
            }
        }
    }
}

fn workflows(dir: &Path) -> String {
    format!(
        "[[workflows]]\nname = \"ask\"\n{}{}",
        step("ok", "kind = \"approval\""),
        agent(dir, "tell", "echo '{\"told\": true}'")
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_of_runs_that_are_there_are_new_or_change_and_of_no_other_tenants() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let stranger = format!("{KEY} stranger");
    let mut outside = Listener::of(&daemon, &stranger).await;
    let there = create(&daemon, "ask").await;
    becomes(&daemon, &there, "awaiting_approval").await;

    let mut listener = Listener::of(&daemon, KEY).await;
    let first = listener.next().await;
    assert_eq!((&first["id"], &first["status"]), (&json!(there), &json!("awaiting_approval")), "{first}");
    let new = create(&daemon, "ask").await;
    let (told, run) = listener.until(&new, "awaiting_approval").await;
    assert_eq!(run, show(&daemon, &new).await, "the whole run");
    assert!(told.iter().all(|id| *id == new.as_str()), "what has not changed is not told again: {told:?}");
    assert_eq!(post(&daemon, &format!("/runs/{there}/approve"), Value::Null).await.0, 200);
    let (told, run) = listener.until(&there, "completed").await;
    assert_eq!(run["result"], json!({ "told": true }), "{run}");
    assert!(told.iter().all(|id| *id == there.as_str()), "{told:?}");

    // What somebody else hears first is their own, though all of that came before.
    let wanted = json!({ "workflow": "ask" });
    let (status, own) = ask(&daemon, Method::POST, "/runs", &stranger, None, &wanted).await;
    assert_eq!((status, &own["tenantId"]), (201, &json!("stranger")), "{own}");
    let own = own["id"].as_str().expect("an id");
    let (told, _) = outside.until(own, "awaiting_approval").await;
    assert!(told.iter().all(|id| id == own), "another tenant's run was told: {told:?}");
    let mut late = Listener::of(&daemon, &stranger).await;
    assert_eq!(late.next().await["id"], own);
    listener.until(own, "awaiting_approval").await;
    assert!(daemon.stop().await.success(), "those who listen keep no daemon from stopping");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_hears_of_a_change_however_many_newer_runs_there_are() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let old = create(&daemon, "ask").await;
    let newer: Vec<String> = stream::iter(0..200).map(|_| create(&daemon, "ask")).buffer_unordered(16).collect().await;
    let viewer = format!("{KEY} viewer");
    let mut listener = Listener::of(&daemon, &viewer).await;
    for _ in &newer {
        assert_ne!(listener.next().await["id"], old.as_str(), "the newest are told at first");
    }
    assert_eq!(post(&daemon, &format!("/runs/{old}/approve"), Value::Null).await.0, 200);
    listener.until(&old, "completed").await;
    let unknown = http().get(format!("{}/api/v1/events", daemon.url)).send().await.expect("an answer");
    assert_eq!(unknown.status(), 401);
    assert!(daemon.stop().await.success());
}
