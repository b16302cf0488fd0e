//! What a second arrival gets: every row of the tables, over HTTP.

use reqwest::Response;
use serde_json::{Value, json};

use crate::support::{Daemon, Database, KEY, Log, Sender, Setup, comment, eventually, http, pull_request};

const REPO: &str = "acme/widgets";

struct World {
    _dir: tempfile::TempDir,
    setup: Setup,
    daemon: Daemon,
    sender: Sender,
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let setup = Setup::new(dir.path());
        let daemon = setup.start().await;
        let sender = Sender::to(&daemon.url);
        Self { _dir: dir, setup, daemon, sender }
    }

    async fn send(&self, event: &str, delivery: &str, payload: &Value) -> (u16, bool, Value) {
        told(self.sender.send(event, delivery, payload).await.expect("an answer")).await
    }

    async fn ask(&self, repo: &str, request: Option<(&str, &str)>, body: &str) -> (u16, bool, Value) {
        let mut asked = http().post(format!("{}/api/v1/repos/{repo}/sync", self.daemon.url)).bearer_auth(KEY);
        if let Some((header, id)) = request {
            asked = asked.header(header, id);
        }
        told(asked.body(body.to_owned()).send().await.expect("an answer")).await
    }

    /// The line of the log that ends a delivery.
    async fn processed(&self, delivery: &str) -> Value {
        eventually(&format!("{delivery} is processed"), || async {
            let state = self.daemon.state(REPO).await;
            let events = state["recent_events"].as_array()?.clone();
            events.into_iter().find(|event| event["delivery"] == delivery)
        })
        .await
    }
}

/// The status, whether it is marked as replayed, and the body.
async fn told(response: Response) -> (u16, bool, Value) {
    let replayed = response.headers().get("idempotent-replayed").is_some_and(|value| value == "true");
    (response.status().as_u16(), replayed, response.json().await.expect("JSON"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_webhook_twice_is_done_once_and_answered_from_memory() {
    let world = World::new().await;
    let payload = pull_request(REPO, 1, "opened", 5, 0);
    let (status, replayed, body) = world.send("pull_request", "d-1", &payload).await;
    assert_eq!((status, replayed, &body["status"]), (202, false, &json!("accepted")));
    world.processed("d-1").await;
    let (status, replayed, body) = world.send("pull_request", "d-1", &payload).await;
    assert_eq!((status, replayed), (202, true));
    assert_eq!((&body["status"], &body["outcome"]), (&json!("processed"), &json!("applied")));
    assert!(world.daemon.log().contains(r#""event":"idempotency_hit","key":"github:d-1""#), "{}", world.daemon.log());
    assert!(world.daemon.stop().await.success());
    let store = Database::Sqlite.open(&world.setup).await;
    assert_eq!(Log::read(store.as_ref(), REPO).await.deliveries(), ["d-1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_redelivered_under_a_new_id_is_logged_as_a_duplicate_and_changes_nothing() {
    let world = World::new().await;
    // What has landed can be declared, whatever the base.
    for landed in [3, 4] {
        let mut payload = pull_request(REPO, landed, "closed", landed, 0);
        let pull = payload["pull_request"].as_object_mut().expect("an object");
        pull.extend([
            ("state".to_owned(), json!("closed")),
            ("merged".to_owned(), json!(true)),
            ("merged_at".to_owned(), json!("2026-01-01T00:00:00Z")),
            ("closed_at".to_owned(), json!("2026-01-01T00:00:00Z")),
            ("merge_commit_sha".to_owned(), json!(format!("{:040x}", 90 + landed))),
        ]);
        assert_eq!(world.send("pull_request", &format!("landed-{landed}"), &payload).await.0, 202);
    }
    for (event, payload) in [
        ("pull_request", pull_request(REPO, 1, "opened", 5, 0)),
        ("issue_comment", comment(REPO, 1, 9, "created", "@merge-train predecessor #3", "2026-01-01T00:00:00Z")),
        ("issue_comment", comment(REPO, 1, 9, "edited", "@merge-train predecessor #4", "2026-01-01T00:00:01Z")),
        // Without an identity of its own: an equal payload within five seconds.
        ("pull_request_review_comment", review_comment()),
    ] {
        let action = payload["action"].as_str().expect("an action");
        let (first, second) = (format!("{event}-{action}-1"), format!("{event}-{action}-2"));
        assert_eq!(world.send(event, &first, &payload).await.0, 202);
        assert_eq!(world.send(event, &second, &payload).await.0, 202);
        assert_eq!(world.processed(&first).await["outcome"], "applied", "{first}");
        assert_eq!(world.processed(&second).await["outcome"], "duplicate", "{second}");
    }
    let state = world.daemon.state(REPO).await;
    assert_eq!(state["prs"]["1"]["predecessor"], 4, "the edit was not taken for a repetition: {state}");
}

fn review_comment() -> Value {
    let pull = pull_request(REPO, 1, "opened", 5, 0);
    json!({ "action": "created", "comment": { "id": 77, "body": "hm", "user": { "id": 7, "login": "dev" } },
            "pull_request": pull["pull_request"], "repository": pull["repository"] })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_delivery_id_with_another_payload_is_a_conflict_and_never_the_old_answer() {
    let world = World::new().await;
    assert_eq!(world.send("pull_request", "d-1", &pull_request(REPO, 1, "opened", 5, 0)).await.0, 202);
    world.processed("d-1").await;
    let (status, replayed, body) = world.send("pull_request", "d-1", &pull_request(REPO, 2, "opened", 6, 0)).await;
    assert_eq!((status, replayed, &body["code"]), (409, false, &json!("IDEMPOTENCY_CONFLICT")));
    assert_eq!(world.daemon.state(REPO).await["prs"]["2"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_delivery_id_for_another_tenant_is_another_delivery() {
    let world = World::new().await;
    for repo in [REPO, "globex/widgets"] {
        let (status, replayed, body) = world.send("pull_request", "d-1", &pull_request(repo, 1, "opened", 5, 0)).await;
        assert_eq!((status, replayed, &body["status"]), (202, false, &json!("accepted")), "{repo}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_cannot_be_read_fails_in_its_place_and_may_be_tried_again() {
    let world = World::new().await;
    let mut broken = pull_request(REPO, 1, "opened", 5, 0);
    broken["pull_request"]["head"]["sha"] = json!(null);
    assert_eq!(world.send("pull_request", "d-1", &broken).await.0, 202, "what is acknowledged is not lost, even so");
    let ended = world.processed("d-1").await;
    assert_eq!(ended["outcome"], "failed");
    assert!(ended["reason"].as_str().is_some_and(|reason| reason.contains("sha")), "{ended}");
    let count = || async {
        let state = world.daemon.state(REPO).await;
        state["recent_events"].as_array().map(|events| events.iter().filter(|event| event["delivery"] == "d-1").count())
    };
    for attempt in 2..=3 {
        assert_eq!(world.send("pull_request", "d-1", &broken).await.0, 202, "attempt {attempt}");
        eventually("it is tried again", || async { (count().await == Some(attempt)).then_some(()) }).await;
    }
    let (status, _, body) = world.send("pull_request", "d-1", &broken).await;
    assert_eq!((status, &body["code"]), (422, &json!("REQUEST_FAILED")), "three attempts are enough: {body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_call_is_taken_in_once_for_each_request_id_of_a_client() {
    let world = World::new().await;
    for header in ["x-request-id", "x-idempotency-key"] {
        let id = Some((header, header));
        let (status, replayed, body) = world.ask(REPO, id, "{}").await;
        assert_eq!((status, replayed, &body["status"]), (202, false, &json!("accepted")));
        assert_eq!(body["key"], format!("api:all:{header}"));
        let again = eventually("it is processed", || async {
            let (status, replayed, body) = world.ask(REPO, id, "{}").await;
            assert_eq!(status, 202);
            // Until then it is in flight.
            if !replayed {
                assert_eq!(body["status"], "processing");
            }
            replayed.then_some(body)
        })
        .await;
        assert_eq!((&again["status"], &again["request"]), (&json!("processed"), &json!("sync")));
        let (status, replayed, body) = world.ask(REPO, id, r#"{"note":"another"}"#).await;
        assert_eq!((status, replayed, &body["code"]), (409, false, &json!("IDEMPOTENCY_CONFLICT")));
        let (status, _, body) = world.ask("acme/other", id, "{}").await;
        assert_eq!((status, &body["code"]), (409, &json!("IDEMPOTENCY_CONFLICT")), "the same id for another thing");
    }
    // Whoever names no request gets no deduplication.
    let (_, _, first) = world.ask(REPO, None, "{}").await;
    let (_, replayed, second) = world.ask(REPO, None, "{}").await;
    assert!(!replayed && first["key"] != second["key"], "{first} {second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_is_answered_with_processing() {
    let world = World::new().await;
    // Many at once under one id: one is accepted, and none of the others is done a second time.
    let payload = pull_request(REPO, 1, "opened", 5, 0);
    let answers = futures_util::future::join_all((0..40).map(|_| world.send("pull_request", "d-1", &payload))).await;
    let accepted = answers.iter().filter(|(_, _, body)| body["status"] == "accepted").count();
    assert_eq!(accepted, 1);
    for (status, replayed, body) in &answers {
        assert_eq!(*status, 202);
        let known = body["status"] == "accepted"
            || body["status"] == "processing"
            || (*replayed && body["status"] == "processed");
        assert!(known, "{body}");
    }
    world.processed("d-1").await;
    assert!(world.daemon.stop().await.success());
    let store = Database::Sqlite.open(&world.setup).await;
    assert_eq!(Log::read(store.as_ref(), REPO).await.deliveries(), ["d-1"]);
}
