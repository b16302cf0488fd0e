//! Pushes of fixers that wait for a person.

use reqwest::Method;
use serde_json::{Value, json};

use crate::shop::{KEY, MENDS, REPO, Shop, eventually};

async fn decide(shop: &Shop, run: &str, verb: &str, body: Value) -> u16 {
    let url = format!("{}/api/v1/runs/{run}/{verb}", shop.daemon().url);
    let answer = shop.daemon().http.post(url).bearer_auth(KEY).json(&body).send().await.expect("an answer");
    answer.status().as_u16()
}

async fn held(shop: &Shop, pr: u64) -> Value {
    shop.becomes(pr, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    let run = shop.fixers().await.pop().expect("a run");
    assert_eq!(run["status"], "awaiting_approval", "{run:#}");
    run
}

#[tokio::test]
async fn a_push_that_touches_a_guarded_path_is_held_shown_and_pushed_when_approved() {
    let script = format!("mkdir -p .github\necho x > .github/workflow.yml\ngit add .github\n{MENDS}");
    let shop = Shop::wish().ratchet("approve_pushes = [\".github/**\"]").fixer(&script).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let head = shop.head(pr).await;
    let run = held(&shop, pr).await;
    let id = run["id"].as_str().expect("an id").to_owned();
    assert!(run["result"]["diff"].as_str().expect("a diff").contains("+++ b/.github/workflow.yml"), "{run:#}");
    assert_eq!(shop.head(pr).await, head, "nothing was pushed yet");
    eventually("people are asked", || async {
        let asks = format!("@merge-train approve {id}");
        shop.said(pr)
            .await
            .iter()
            .any(|text| text.contains(&asks) && text.contains("`.github/workflow.yml`"))
            .then_some(())
    })
    .await;
    shop.world.comment(pr, &format!("@merge-train approve {id}")).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_ne!(shop.head(pr).await, head);
    let run = shop.fixers().await.pop().expect("a run");
    assert_eq!((run["status"].as_str(), run["result"]["pushed"].as_bool()), (Some("completed"), Some(true)), "{run:#}");
    shop.close().await;
}

#[tokio::test]
async fn a_guarded_file_behind_hundreds_of_others_is_found_all_the_same() {
    let script = format!(
        "mkdir -p a\nfor number in $(seq 400); do echo x > a/$number; done\necho x > z.lock\ngit add -A .\n{MENDS}"
    );
    let shop = Shop::wish().ratchet("approve_pushes = [\"*.lock\"]").fixer(&script).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let head = shop.head(pr).await;
    let run = held(&shop, pr).await;
    let push = &run["result"]["push"];
    let listed = push["files"].as_array().expect("a list").len() as u64;
    assert_eq!(listed + push["unlisted"].as_u64().expect("a number"), 402, "{run:#}");
    assert_eq!(shop.head(pr).await, head, "nothing was pushed");
    shop.close().await;
}

#[tokio::test]
async fn a_push_that_touches_nothing_guarded_is_not_held() {
    let shop = Shop::wish().ratchet("approve_pushes = [\".github/**\"]").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.close().await;
}

#[tokio::test]
async fn a_rejected_push_never_arrives() {
    let shop = Shop::wish().ratchet("approve_pushes = [\"always\"]").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let head = shop.head(pr).await;
    let run = held(&shop, pr).await;
    let id = run["id"].as_str().expect("an id");
    assert_eq!(decide(&shop, id, "reject", json!({ "reason": "not like this" })).await, 200);
    let paused = shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!(paused["reason"], "PUSH_REJECTED");
    assert_eq!(shop.head(pr).await, head);
    let run = shop.fixers().await.pop().expect("a run");
    assert_eq!(run["status"], "failed");
    assert!(run["error"].as_str().expect("why").contains("not like this"), "{run:#}");
    shop.close().await;
}

#[tokio::test]
async fn what_is_held_survives_a_crash_and_is_pushed_once() {
    let mut shop = Shop::wish().ratchet("approve_pushes = [\"always\"]").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let run = held(&shop, pr).await;
    shop.crash().await;
    assert_eq!(held(&shop, pr).await["id"], run["id"]);
    assert_eq!(decide(&shop, run["id"].as_str().expect("an id"), "approve", json!({})).await, 200);
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.begun(), 1);
    shop.close().await;
}

#[tokio::test]
async fn what_was_held_on_a_disk_that_is_lost_is_given_up_and_somebody_is_told() {
    let mut shop = Shop::wish().ratchet("approve_pushes = [\"always\"]").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let head = shop.head(pr).await;
    let id = held(&shop, pr).await["id"].as_str().expect("an id").to_owned();
    shop.daemon.take().expect("it runs").kill().await;
    std::fs::remove_dir_all(shop.world.setup.clones()).expect("removed");
    std::fs::remove_dir_all(shop.world.dir.path().join("runs")).expect("removed");
    shop.restart().await;
    assert_eq!(decide(&shop, &id, "approve", json!({})).await, 200);
    let paused = shop.becomes(pr, "PAUSED_ATTENTION_NO_PUSH").await;
    assert_eq!((paused["reason"].as_str(), &paused["fix"]), (Some("PUSH_REFUSED"), &Value::Null), "{paused:#}");
    eventually("somebody is told", || async {
        shop.said(pr).await.iter().any(|text| text.contains("Someone needs to take over")).then_some(())
    })
    .await;
    assert_eq!((shop.head(pr).await, shop.begun()), (head, 1));
    shop.close().await;
}

#[tokio::test]
async fn what_is_held_is_dropped_when_somebody_pushes() {
    let shop = Shop::wish().ratchet("approve_pushes = [\"always\"]").open().await;
    let pr = shop.pull("one", "main", "bad").await;
    held(&shop, pr).await;
    shop.write("one", "value-one.txt", "good\n").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let run = shop.fixers().await.remove(0);
    assert_eq!(
        (run["status"].as_str(), run["result"]["outcome"].as_str()),
        (Some("failed"), Some("OUTPACED")),
        "{run:#}"
    );
    let pushes = shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}/commits"), Value::Null).await;
    assert!(pushes.as_array().expect("a list").iter().all(|it| it["commit"]["message"] != "Make it good"));
    shop.close().await;
}
