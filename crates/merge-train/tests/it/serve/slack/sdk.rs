//! Slack's own library signs what is sent, and reads what is said.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::town::{OPERATOR, SECRET, Town, gate, now, send_signed, workflow};
use crate::support::{PATIENCE, client};

/// Runs the script, and gives what it printed; it must succeed.
async fn script(words: &[&str], input: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/slack_sdk/slack.py");
    let mut command = Command::new(client("slack_sdk/bin/python"));
    command.arg(script).args(words).env("PYTHONDONTWRITEBYTECODE", "1").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).await.expect("it reads");
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await.expect("in time").expect("it ends");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

async fn signed(secret: &str, at: i64, body: &str) -> String {
    script(&["sign", secret, &at.to_string()], body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_slack_sdk_signs_is_accepted_and_what_was_tampered_with_or_replayed_is_not() {
    let town = Town::new(&workflow("ask", &[gate("ok", "")])).await;
    let daemon = town.setup.start().await;
    let (body, at) = (town.typed(OPERATOR, "t1", "run ask"), now());
    let signature = signed(SECRET, at, &body).await;
    let send = |body: String, at: i64, signature: String| {
        let daemon = &daemon;
        async move { send_signed(daemon, "/slack/commands", &body, at, &signature).await }
    };
    let tampered = body.replace("t1", "t2");
    assert_ne!(tampered, body);
    assert_eq!(send(tampered, at, signature.clone()).await.0, 401, "the body was tampered with");
    assert_eq!(send(body.clone(), at + 1, signature.clone()).await.0, 401, "the time was tampered with");
    let guessed = signed("guessed", at, &body).await;
    assert_eq!(send(body.clone(), at, guessed).await.0, 401, "the secret is another");
    let stale = at - 301;
    let old = signed(SECRET, stale, &body).await;
    assert_eq!(send(body.clone(), stale, old).await.0, 401, "it was kept too long");

    let first = send(body.clone(), at, signature.clone()).await;
    assert_eq!(first.0, 200, "{}", first.1);
    let asked = town.slack.told("t1", "waits for approval").await;
    assert_eq!(send(body, at, signature).await, first, "what is replayed gets the same answer");
    let (_, runs) = daemon.get("/api/v1/runs").await;
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");

    let press = town.pressed(OPERATOR, "t3", &asked, "approve");
    let signature = signed(SECRET, at, &press).await;
    let (status, answer) = send_signed(&daemon, "/slack/interactions", &press, at, &signature).await;
    assert_eq!(status, 200, "{answer}");
    town.slack.told("t3", "has *completed*").await;
    town.types(&daemon, "U9", "t4", "list").await;
    town.slack.told("t4", "*completed*").await;
    assert_eq!(town.slack.replies().iter().filter(|reply| reply.to == "t1").count(), 1, "nothing is said twice");

    let said: Vec<Value> = town.slack.replies().into_iter().map(|reply| reply.message).chain([first.1]).collect();
    script(&["check"], &json!(said).to_string()).await;
    assert!(daemon.stop().await.success());
}
