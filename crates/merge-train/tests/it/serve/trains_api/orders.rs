//! Orders: to start a train, and to stop one.

use reqwest::Response;
use serde_json::{Value, json};

use super::{REPO, path, railway};
use crate::support::{Daemon, KEY, eventually, http};

/// What an order gets: the status, where to follow it, whether it is a replay, and the body.
struct Answer {
    status: u16,
    location: Option<String>,
    is_replay: bool,
    body: Value,
}

async fn answer(response: Response) -> Answer {
    let header = |name: &str| response.headers().get(name).map(|value| value.to_str().expect("text").to_owned());
    let (location, is_replay) = (header("location"), header("idempotent-replayed").is_some());
    let status = response.status().as_u16();
    Answer { status, location, is_replay, body: response.json().await.expect("JSON") }
}

async fn order(daemon: &Daemon, rest: &str, key: &str, id: Option<&str>, body: &str) -> Answer {
    let mut request = http().post(format!("{}{}", daemon.url, path(rest))).bearer_auth(key).body(body.to_owned());
    if let Some(id) = id {
        request = request.header("x-idempotency-key", id);
    }
    answer(request.send().await.expect("an answer")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_taken_in_once_and_says_how_to_follow_it() {
    let (_dir, _setup, daemon) = railway().await;
    let first = order(&daemon, "/20/start", KEY, Some("one"), "").await;
    assert_eq!((first.status, first.is_replay), (202, false), "{}", first.body);
    assert_eq!(first.location.as_deref(), Some("/api/v1/repos/acme/widgets/trains/20"));
    assert_eq!((&first.body["status"], &first.body["train"]), (&json!("accepted"), &json!(first.location)));
    let told = eventually("it is worked on", || async {
        let again = order(&daemon, "/20/start", KEY, Some("one"), "").await;
        assert_eq!(again.status, 202, "{}", again.body);
        again.is_replay.then_some(again.body)
    })
    .await;
    assert_eq!(
        (&told["status"], &told["request"]),
        (&json!("processed"), &json!({ "start_train": { "pr": 20, "by": "api:all" } }))
    );
    for other in ["/20/stop", "/10/start"] {
        let another = order(&daemon, other, KEY, Some("one"), "").await;
        assert_eq!((another.status, &another.body["code"]), (409, &json!("IDEMPOTENCY_CONFLICT")), "{other}");
    }
    let events = daemon.state(REPO).await["recent_events"].clone();
    let handled = events.as_array().expect("a list").iter().filter(|event| event["type"] == "request_processed");
    let handled: Vec<_> = handled.collect();
    assert_eq!(handled.len(), 1, "{handled:?}");
    assert_eq!(handled[0]["key"], "api:all:one", "who asked is on record");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_makes_no_sense_or_is_not_allowed_is_refused_at_once() {
    let (_dir, _setup, daemon) = railway().await;
    let viewer = format!("{KEY} viewer");
    let stranger = format!("{KEY} stranger");
    for (rest, key, body, status, word) in [
        ("/77/start", KEY, "", 404, "acme/widgets has no known pull request #77"),
        ("/77/stop", KEY, "", 404, "acme/widgets has no known pull request #77"),
        ("/30/start", KEY, "", 409, "#30 of acme/widgets is already merged"),
        ("/31/start", KEY, "", 409, "#31 of acme/widgets is closed: reopen it"),
        ("/x/start", KEY, "", 400, "\"x\" is not a pull request number"),
        ("/20/start", KEY, "{\"force\":true}", 400, "unknown field `force`"),
        (
            "/20/start",
            &viewer,
            "",
            403,
            "the API key \"viewer\" has the role \"viewer\", but this needs the role \"operator\"",
        ),
        ("/20/stop", &viewer, "", 403, "operator"),
        ("/20/start", &stranger, "", 404, "there is no such repository"),
        ("/20/start", "nobody", "", 401, "unknown API key"),
    ] {
        let told = order(&daemon, rest, key, None, body).await;
        assert_eq!(told.status, status, "{rest}: {}", told.body);
        assert!(told.body["detail"].as_str().is_some_and(|detail| detail.contains(word)), "{rest}: {}", told.body);
    }
    assert_eq!(daemon.get(&path("/20/start")).await.0, 405, "to look is not to order");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_of_nothing_is_taken_in_and_says_that_it_did_nothing() {
    let (_dir, _setup, daemon) = railway().await;
    // #20 has no train, and that of #1 was stopped before.
    for pull in [20, 1] {
        let told = eventually("it is worked on", || async {
            let told = order(&daemon, &format!("/{pull}/stop"), KEY, Some(&format!("stop-{pull}")), "").await;
            assert_eq!(told.status, 202, "{}", told.body);
            told.is_replay.then_some(told.body)
        })
        .await;
        assert_eq!(told["outcome"], "nothing", "{told}");
    }
}
