//! What the daemon says to whom: signatures, keys, errors, health, configuration.

use serde_json::{Value, json};

use crate::support::{KEY, SECRET, Sender, Setup, eventually, http, pull_request, sign};

const REPO: &str = "acme/widgets";

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_must_be_signed_with_a_secret_that_is_accepted_now() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).secrets(&["the next secret", SECRET]).start().await;
    let sender = Sender::to(&daemon.url);
    let body = pull_request(REPO, 1, "opened", 5, 0).to_string();
    for (delivery, signature, expected) in [
        ("old", sign(SECRET, body.as_bytes()), 202),
        ("new", sign("the next secret", body.as_bytes()), 202),
        ("other", sign("another secret", body.as_bytes()), 401),
        ("changed", sign(SECRET, b"something else"), 401),
        ("empty", String::new(), 401),
        ("weak", "sha1=2fd4e1c67a2d28fced849ee1bb76e7391b93eb12".to_owned(), 401),
        ("odd", "sha256=zz".to_owned(), 401),
    ] {
        let answer = sender.send_signed("pull_request", delivery, &signature, body.clone()).await.expect("an answer");
        assert_eq!(answer.status(), expected, "{delivery}");
    }
    let unsigned = http().post(format!("{}/webhook", daemon.url)).body(body.clone()).send().await.expect("an answer");
    assert_eq!(unsigned.status(), 401);
    assert_eq!(unsigned.headers()["content-type"], "application/problem+json");
    let problem: Value = unsigned.json().await.expect("JSON");
    assert_eq!((&problem["status"], &problem["code"]), (&json!(401), &json!("UNAUTHORIZED")));
    assert!(!daemon.log().contains(SECRET) && !daemon.log().contains("the next secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_signed_but_wrong_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).more("max_body_mb = 1\n").start().await;
    let sender = Sender::to(&daemon.url);
    let good = pull_request(REPO, 1, "opened", 5, 0).to_string();
    let long = format!("{{\"x\":\"{}\"}}", "y".repeat(1 << 20));
    for (event, delivery, body, status, word) in [
        ("pull_request", "not json", &good, 400, "X-GitHub-Delivery"),
        ("", "d", &good, 400, "X-GitHub-Event"),
        ("pull_request", "d", &"{".to_owned(), 400, "pull_request"),
        ("pull_request", "d", &"[1]".to_owned(), 400, "pull_request"),
        ("pull_request", "d", &r#"{"repository":{"full_name":"../../etc"}}"#.to_owned(), 400, "full_name"),
        ("pull_request", "d", &long, 413, "longer"),
    ] {
        let signature = sign(SECRET, body.as_bytes());
        let answer = sender.send_signed(event, delivery, &signature, body.clone()).await.expect("an answer");
        assert_eq!(answer.status(), status, "{event} {delivery}");
        let problem: Value = answer.json().await.expect("JSON");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(word)), "{word}: {problem}");
    }
    let unknown =
        r#"{"action":"starred","repository":{"full_name":"acme/widgets"},"surprise":[1,{"a":null}]}"#.to_owned();
    let signature = sign(SECRET, unknown.as_bytes());
    assert_eq!(sender.send_signed("star", "d", &signature, unknown).await.expect("an answer").status(), 202);
    let ping = r#"{"zen":"Speak like a human.","hook_id":1}"#.to_owned();
    let signature = sign(SECRET, ping.as_bytes());
    assert_eq!(sender.send_signed("ping", "p", &signature, ping).await.expect("an answer").status(), 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_encoded_webhook_is_as_good_as_json() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).start().await;
    let payload = pull_request(REPO, 1, "opened", 5, 0).to_string();
    let body = format!("payload={}", payload.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>());
    let request = http().post(format!("{}/webhook", daemon.url)).header("x-github-event", "pull_request");
    let request = request.header("x-github-delivery", "f").header("x-hub-signature-256", sign(SECRET, body.as_bytes()));
    let request = request.header("content-type", "application/x-www-form-urlencoded").body(body);
    assert_eq!(request.send().await.expect("an answer").status(), 202);
    eventually("it is applied", || async { (daemon.state(REPO).await["prs"]["1"]["state"] == "open").then_some(()) })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_shown_to_whoever_has_a_key_for_that_tenant() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).start().await;
    Sender::to(&daemon.url).send("pull_request", "d", &pull_request(REPO, 1, "opened", 5, 0)).await.expect("an answer");
    let state = eventually("it is applied", || async {
        let state = daemon.state(REPO).await;
        (state["prs"]["1"]["state"] == "open").then_some(state)
    })
    .await;
    for field in ["schema_version", "snapshot_at", "default_branch", "prs", "active_trains", "recent_events"] {
        assert!(state.get(field).is_some(), "{field} is missing: {state}");
    }
    let path = format!("/api/v1/repos/{REPO}/state");
    for (key, expected) in
        [(KEY.to_owned(), 200), (format!("{KEY} viewer"), 200), (format!("{KEY} stranger"), 404), ("x".into(), 401)]
    {
        assert_eq!(daemon.get_with(&path, &key).await.0, expected, "{key}");
    }
    assert_eq!(daemon.get_with("/api/v1/repos/ACME/Widgets/state", KEY).await.0, 200, "GitHub's names know no case");
    assert_eq!(http().get(format!("{}{path}", daemon.url)).send().await.expect("an answer").status(), 401);
    assert_eq!(daemon.get("/api/v1/repos/acme/unheard/state").await.0, 404);
    assert_eq!(daemon.get("/api/v1/repos/acme/..%2f/state").await.0, 400);
    assert_eq!(daemon.get("/nowhere").await.1["code"], "NOT_FOUND");
    let viewer = http().post(format!("{}/api/v1/repos/{REPO}/sync", daemon.url)).bearer_auth(format!("{KEY} viewer"));
    assert_eq!(viewer.send().await.expect("an answer").status(), 403, "to look is not to touch");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_readiness_and_metrics_can_be_asked_for() {
    let dir = tempfile::tempdir().expect("a folder");
    let daemon = Setup::new(dir.path()).start().await;
    assert_eq!(daemon.get("/healthz").await.0, 200);
    eventually("it is ready", || async { (daemon.get("/readyz").await.0 == 200).then_some(()) }).await;
    Sender::to(&daemon.url).send("pull_request", "d", &pull_request(REPO, 1, "opened", 5, 0)).await.expect("an answer");
    let text =
        http().get(format!("{}/metrics", daemon.url)).send().await.expect("an answer").text().await.expect("text");
    for line in [
        r#"merge_train_webhooks_total{event="pull_request",result="accepted"} 1"#,
        r#"gwi_idempotency_hits_total{source="github_webhook",result="accepted"} 1"#,
        "merge_train_store_up 1",
        "# TYPE merge_train_ack_seconds histogram",
        "merge_train_ack_seconds_count 1",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_on_the_same_directory_is_told_who_has_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    let daemon = setup.start().await;
    let output = setup.command(&["serve"]).output().await.expect("it runs");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains(&format!("process {}", daemon.pid())), "{text}");
    daemon.kill().await;
    setup.start().await.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_secret_or_a_wrong_setting_is_refused_at_the_start() {
    let dir = tempfile::tempdir().expect("a folder");
    for (setup, words) in [
        (Setup::new(dir.path()).secrets(&[""]), vec!["merge-train.toml:", "webhook_secret"]),
        (Setup::new(dir.path()).secrets(&[]), vec!["webhook_secret"]),
        (Setup::new(dir.path()).more("bind_adress = \"x\"\n"), vec!["bind_adress", "bind_address"]),
        (Setup::new(dir.path()).github("[github]\n".to_owned()), vec!["app_id", "token"]),
    ] {
        let output = setup.command(&["serve"]).output().await.expect("it runs");
        assert!(!output.status.success());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        for word in words {
            assert!(text.contains(word), "{word} is missing in {text}");
        }
    }
}
