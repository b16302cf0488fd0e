//! What people say about the ratchet, and what it leaves alone.

use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{REPO, Shop, WAITS, eventually};

#[tokio::test]
async fn it_is_off_until_somebody_turns_it_on_and_each_way_of_doing_so_works() {
    let shop = Shop::wish().ratchet("enabled = false").fixer("echo no\n").open().await;
    let mut pulls = Vec::new();
    for number in 1..=4 {
        pulls.push(shop.pull(&format!("branch-{number}"), "main", "bad").await);
    }
    // A label.
    let labels = json!({ "labels": ["ratchet"] });
    shop.world.call(Method::POST, &format!("/repos/{REPO}/issues/{}/labels", pulls[0]), labels).await;
    shop.becomes(pulls[0], "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!(shop.begun(), 1);
    // A comment.
    shop.world.comment(pulls[1], "@merge-train ratchet on").await;
    shop.becomes(pulls[1], "PAUSED_ATTENTION_NO_PUSH").await;
    shop.world.comment(pulls[1], "@merge-train ratchet off").await;
    shop.becomes(pulls[1], "PAUSED_DISABLED").await;
    // The API.
    shop.toggle(pulls[2], true).await;
    shop.becomes(pulls[2], "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!(shop.begun(), 3);
    // The whole repository, but for who wants to be left alone.
    let labels = json!({ "labels": ["no-ratchet"] });
    shop.world.call(Method::POST, &format!("/repos/{REPO}/issues/{}/labels", pulls[2]), labels).await;
    shop.becomes(pulls[2], "PAUSED_DISABLED").await;
    let url = format!("{}/api/v1/repos/{REPO}/ratchet", shop.daemon().url);
    let on = shop.daemon().http.put(url).bearer_auth(crate::shop::KEY).json(&json!({ "enabled": true }));
    assert!(on.send().await.expect("an answer").status().is_success());
    shop.becomes(pulls[3], "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!(shop.workspace(pulls[1]).await["status"], "PAUSED_DISABLED");
    assert_eq!(shop.workspace(pulls[2]).await["status"], "PAUSED_DISABLED");
    shop.close().await;
}

#[tokio::test]
async fn a_pull_request_from_a_fork_is_never_touched() {
    let shop = Shop::wish().open().await;
    let fork = shop.as_reviewer(Method::POST, "/forks", json!({})).await;
    let name = fork["full_name"].as_str().expect("a name").to_owned();
    let head = shop.world.call(Method::GET, &format!("/repos/{REPO}/git/ref/heads/main"), Value::Null).await;
    let theirs = |path: &str| format!("/../../{name}{path}");
    let made = json!({ "ref": "refs/heads/theirs", "sha": head["object"]["sha"] });
    shop.as_reviewer(Method::POST, &theirs("/git/refs"), made).await;
    let change = json!({ "message": "Bad", "content": "YmFkCg==", "branch": "theirs" });
    shop.as_reviewer(Method::PUT, &theirs("/contents/value-theirs.txt"), change).await;
    let pull = json!({ "title": "Theirs", "head": "reviewer:theirs", "base": "main" });
    let pr = shop.as_reviewer(Method::POST, "/pulls", pull).await["number"].as_u64().expect("a number");
    let ours = shop.pull("ours", "main", "bad").await;
    shop.becomes(ours, "PAUSED_DONE").await;
    assert!(shop.workspace(pr).await.is_null());
    let url = format!("{}/api/v1/workspaces/{REPO}/{pr}/ratchet", shop.daemon().url);
    let on = shop.daemon().http.put(url).bearer_auth(crate::shop::KEY).json(&json!({ "enabled": true }));
    let answer = on.send().await.expect("an answer");
    assert_eq!(answer.status(), 409);
    let refusal: Value = answer.json().await.expect("JSON");
    assert!(refusal["detail"].as_str().expect("why").contains("is in a fork"), "{refusal}");
    let on = json!({ "labels": ["ratchet"] });
    shop.world.call(Method::POST, &format!("/repos/{REPO}/issues/{pr}/labels"), on).await;
    shop.world.comment(pr, "@merge-train ratchet on").await;
    shop.write("ours", "value-ours.txt", "bad again\n").await;
    eventually("ours is mended", || async { (shop.begun() == 2).then_some(()) }).await;
    shop.becomes(ours, "PAUSED_DONE").await;
    assert!(shop.workspace(pr).await.is_null());
    assert_eq!(shop.begun(), 2, "ours alone");
    shop.close().await;
}

#[tokio::test]
async fn a_client_that_vanishes_and_a_session_that_is_idle_do_not_block_for_ever() {
    let shop = Shop::wish().open().await;
    let pr = shop.pull("one", "main", "good").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let session = shop.session(pr).await;
    shop.becomes(pr, "PAUSED_USER_WORKING").await;
    shop.write("one", "value-one.txt", "bad\n").await;
    shop.ask(Method::POST, pr, &format!("/sessions/{session}/heartbeat"), json!({ "state": "idle" })).await;
    eventually("an idle session does not block", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.session(pr).await;
    shop.write("one", "value-one.txt", "bad again\n").await;
    // No sign of life comes any more.
    eventually("a client that vanished does not block", || async { (shop.begun() == 2).then_some(()) }).await;
    shop.close().await;
}

#[tokio::test]
async fn a_pull_request_that_is_closed_takes_its_fixer_with_it() {
    let shop = Shop::wish().fixer(WAITS).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    eventually("a fixer begins", || async { (shop.begun() == 1).then_some(()) }).await;
    shop.world.call(Method::PATCH, &format!("/repos/{REPO}/pulls/{pr}"), json!({ "state": "closed" })).await;
    shop.becomes(pr, "PAUSED_PR_NOT_OPEN").await;
    let script = shop.world.dir.path().join("fixer.sh");
    let script = script.to_string_lossy().into_owned();
    eventually("its process is gone", || async { (shop.processes(&script) == 0).then_some(()) }).await;
    let run = shop.fixers().await.remove(0);
    assert_eq!(run["status"], "cancelled", "{run:#}");
    shop.close().await;
}
