//! Trains that run: started, watched and stopped from outside GitHub.

use std::process::Output;

use serde_json::json;

use super::yard::Yard;
use crate::support::{KEY, REPO};

async fn run(yard: &Yard, words: &[&str]) -> Output {
    let mut command = yard.world.setup.command(words);
    command.env("MERGE_TRAIN_SERVER", &yard.daemon.url).env("MERGE_TRAIN_API_KEY", KEY);
    command.output().await.expect("it runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_that_is_started_from_the_command_line_lands() {
    let yard = Yard::new(2, |setup| setup).await;
    let target = format!("{REPO}#{}", yard.root());
    let output = run(&yard, &["train", "start", &target]).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    yard.lands().await;
    let status = run(&yard, &["status", REPO]).await;
    assert_eq!(stdout(&status), format!("No trains in {REPO}.\n"));
    assert_eq!(run(&yard, &["status", &target]).await.status.code(), Some(3), "what has landed is gone");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_that_waits_names_the_blocker_who_since_when_and_what_is_next() {
    let yard = Yard::new(2, |setup| setup).await;
    yard.require_check().await;
    yard.start().await;
    let train = yard.becomes("waiting_ci").await;
    assert_eq!(train["run_state"], "waiting_external");
    for part in ["blocker", "who", "since", "next"] {
        assert!(train["why"][part].as_str().is_some_and(|text| !text.is_empty()), "{part}: {train}");
    }
    let output = run(&yard, &["status", REPO]).await;
    let told = stdout(&output);
    assert!(told.contains("waiting_ci") && told.contains("why not yet: ") && told.contains(" · just now · "), "{told}");

    let inspected = run(&yard, &["state", "inspect"]).await;
    let blocker = train["why"]["blocker"].as_str().expect("text");
    assert!(stdout(&inspected).contains(blocker), "{}", stdout(&inspected));
    let verified = run(&yard, &["state", "verify"]).await;
    assert_eq!(verified.status.code(), Some(0), "{}", stdout(&verified));

    let target = format!("{REPO}#{}", yard.stack[1]);
    let stopped = run(&yard, &["train", "stop", "--json", &target]).await;
    assert_eq!(stopped.status.code(), Some(0), "{}", stderr(&stopped));
    let told: serde_json::Value = serde_json::from_slice(&stopped.stdout).expect("JSON");
    assert_eq!((&told["result"], &told["train"]["state"]), (&json!("ended"), &json!("stopped")), "{told}");
    assert_eq!(yard.train().await["run_state"], "cancelled");

    let started = run(&yard, &["train", "start", "--json", &format!("{REPO}#{}", yard.root())]).await;
    let told: serde_json::Value = serde_json::from_slice(&started.stdout).expect("JSON");
    assert_eq!(told["result"], "started", "it can be started again: {told}");
    yard.passes().await;
    yard.lands().await;
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_cannot_be_fails_and_the_pull_request_says_why() {
    let yard = Yard::new(2, |setup| setup).await;
    let above = yard.stack[1];
    let output = run(&yard, &["train", "start", &format!("{REPO}#{above}")]).await;
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("a comment on the pull request says why"), "{}", stderr(&output));
    let said = crate::support::eventually("it is said there", || async { yard.said(above).await.pop() }).await;
    assert!(said.contains(&format!("#{}", yard.root())), "{said}");
    yard.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_turns_out_to_be_impossible_fails_as_soon_as_that_is_known() {
    let yard = Yard::new(2, |setup| setup).await;
    // Only whoever asks GitHub, and git, can know that.
    let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": true });
    yard.world.call(reqwest::Method::PATCH, &format!("/repos/{REPO}"), settings).await;
    let output = run(&yard, &["train", "start", &format!("{REPO}#{}", yard.root())]).await;
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).contains("a comment on the pull request says why"), "{}", stderr(&output));
    let said = crate::support::eventually("it is said there", || async { yard.said(yard.root()).await.pop() }).await;
    assert!(said.contains("squash"), "{said}");
    yard.close().await;
}
