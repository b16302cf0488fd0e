//! People at work in workspaces.

use std::process::Stdio;

use reqwest::Method;
use serde_json::{Value, json};

use super::{MENDS, Said, Shop, at, name};
use crate::support::{KEY, PATIENCE, REPO, eventually};

const SHORT: &str = "session_timeout_secs = 5\n";

async fn sessions(shop: &Shop, pr: u64) -> Vec<Value> {
    let (status, page) = shop.get(&format!("{}/sessions", at(pr))).await;
    assert_eq!(status, 200, "{page}");
    page["sessions"].as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_the_ratchet_away_until_it_is_idle_or_over() {
    let shop = Shop::new(SHORT, MENDS).await;
    let pr = shop.pull("one", "good").await;
    let path = format!("{}/sessions", at(pr));
    let (status, opened) = shop.post(&path, json!({ "id": "alice-laptop" })).await;
    assert_eq!((status, &opened), (201, &json!({ "id": "alice-laptop", "workspaceId": name(pr), "heartbeatSecs": 1 })));
    shop.turn(pr, true).await;
    let paused = shop.becomes(pr, "PAUSED_USER_WORKING").await;
    assert_eq!(paused["kanbanColumn"], "WORKING", "{paused:#}");
    let beat = format!("{path}/alice-laptop/heartbeat");
    let (status, heard) = shop.post(&beat, json!({})).await;
    assert_eq!((status, &heard), (200, &json!({ "id": "alice-laptop", "state": "working", "heartbeatSecs": 1 })));
    let all = sessions(&shop, pr).await;
    assert_eq!((all.len(), &all[0]["id"], &all[0]["kind"]), (1, &json!("alice-laptop"), &json!("user")), "{all:?}");
    assert_eq!((&all[0]["status"], &all[0]["working"]), (&json!("RUNNING"), &json!(true)), "{all:?}");

    assert_eq!(shop.post(&beat, json!({ "state": "idle" })).await.0, 200);
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(sessions(&shop, pr).await[0]["working"], false);

    // One that gives no sign of life any more is over.
    eventually("it has vanished", || async { (sessions(&shop, pr).await[0]["status"] == "FAILED").then_some(()) })
        .await;
    let (status, gone) = shop.post(&beat, json!({ "state": "working" })).await;
    assert_eq!((status, &gone["code"]), (404, &json!("NO_SUCH_SESSION")), "{gone}");

    let (status, opened) = shop.post(&path, Value::Null).await;
    assert_eq!(status, 201, "{opened}");
    let id = opened["id"].as_str().expect("an id").to_owned();
    assert!(id.starts_with("session-"), "{id}");
    assert_eq!(shop.post(&format!("{path}/{id}/end"), json!({ "exitCode": 3 })).await, (200, json!({ "id": id })));
    let all = sessions(&shop, pr).await;
    let ended = all.iter().find(|session| session["id"] == id.as_str()).expect("it");
    assert_eq!((&ended["status"], &ended["exitCode"]), (&json!("COMPLETED"), &json!(3)), "{ended}");
    assert!(ended["endedAt"].is_string(), "{ended}");
    for (method, path) in [(Method::POST, format!("{path}/{id}/end")), (Method::DELETE, format!("{path}/{id}"))] {
        let (status, told) = shop.ask(method, &path, KEY, Value::Null).await;
        assert_eq!((status, &told["code"]), (404, &json!("NO_SUCH_SESSION")), "{told}");
    }
    assert_eq!(shop.post(&path, json!({ "id": "bob", "idle": true })).await.0, 201);
    assert_eq!(shop.ask(Method::DELETE, &format!("{path}/bob"), KEY, Value::Null).await, (200, json!({ "id": "bob" })));
    let (_, first) = shop.get(&format!("{path}?limit=2")).await;
    let cursor = first["next_cursor"].as_str().expect("there is more");
    let (_, second) = shop.get(&format!("{path}?limit=2&cursor={cursor}")).await;
    let ids = |page: &Value| -> Vec<Value> {
        page["sessions"].as_array().expect("a list").iter().map(|session| session["id"].clone()).collect()
    };
    assert_eq!([ids(&first), ids(&second)].concat(), [json!("bob"), json!(id), json!("alice-laptop")]);
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_session_is_refused() {
    let shop = Shop::new(SHORT, MENDS).await;
    let pr = shop.pull("one", "good").await;
    let path = format!("{}/sessions", at(pr));
    let long = "x".repeat(129);
    for id in ["", ".hidden", "a b", "a/b", "é", &long] {
        assert_eq!(shop.post(&path, json!({ "id": id })).await.0, 400, "{id}");
    }
    for body in [json!({ "idle": "no" }), json!({ "name": "alice" }), json!(["alice"])] {
        assert_eq!(shop.post(&path, body.clone()).await.0, 400, "{body}");
    }
    assert_eq!(shop.post(&path, json!({ "id": "alice" })).await.0, 201);
    for body in [json!({ "state": "asleep" }), json!({ "idle": true })] {
        assert_eq!(shop.post(&format!("{path}/alice/heartbeat"), body.clone()).await.0, 400, "{body}");
    }
    for body in [json!({ "exitCode": "0" }), json!({ "exitCode": 0.5 }), json!({ "exitCode": 1e12 })] {
        assert_eq!(shop.post(&format!("{path}/alice/end"), body.clone()).await.0, 400, "{body}");
    }
    assert_eq!(shop.post(&format!("{path}/{long}/heartbeat"), json!({})).await.0, 400);
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_in_a_session_has_its_terminal_its_exit_code_and_the_workspace_to_itself() {
    let shop = Shop::new(SHORT, MENDS).await;
    let pr = shop.pull("one", "good").await;
    shop.turn(pr, true).await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let target = name(pr);
    // More words of the test's own come after these; the script does not look at them.
    let script = "read line; echo \"$line in $MERGE_TRAIN_WORKSPACE as $MERGE_TRAIN_SESSION_ID\"; exit 7";
    let mut command = shop.command(&["session", &target, "--id", "alice", "--", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    shop.becomes(pr, "PAUSED_USER_WORKING").await;
    eventually("it gives signs of life, for longer than is waited for them", || async {
        let state = shop.daemon.state(REPO).await;
        let events = state["recent_events"].as_array().expect("a list");
        let signs = events.iter().filter(|event| event["type"] == "session_seen" && event["session"] == "alice");
        (signs.count() > 6).then_some(())
    })
    .await;
    assert_eq!(sessions(&shop, pr).await[0]["status"], "RUNNING");
    let mut stdin = child.stdin.take().expect("piped");
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"hello\n").await.expect("written");
    let said = Said::of(child.wait_with_output().await.expect("it ends"));
    assert_eq!(
        (said.code, said.out.as_str(), said.err.as_str()),
        (Some(7), &*format!("hello in {target} as alice\n"), "")
    );
    let all = sessions(&shop, pr).await;
    assert_eq!((&all[0]["status"], &all[0]["exitCode"]), (&json!("COMPLETED"), &json!(7)), "{all:?}");
    shop.becomes(pr, "PAUSED_DONE").await;
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_does_nothing_is_idle_and_whoever_ends_the_session_ends_it() {
    let shop = Shop::new(SHORT, MENDS).await;
    let pr = shop.pull("one", "good").await;
    shop.turn(pr, true).await;
    let words = ["session", &name(pr), "--idle-after", "0.03", "--", "sh", "-c", "sleep 600"];
    let mut child = shop.command(&words).spawn().expect("it starts");
    shop.becomes(pr, "PAUSED_USER_WORKING").await;
    shop.becomes(pr, "PAUSED_DONE").await;
    let all = sessions(&shop, pr).await;
    assert_eq!((&all[0]["status"], &all[0]["working"]), (&json!("RUNNING"), &json!(false)), "{all:?}");
    // Ended behind its back, it is opened again.
    let id = all[0]["id"].as_str().expect("an id").to_owned();
    let path = format!("{}/sessions", at(pr));
    assert_eq!(shop.post(&format!("{path}/{id}/end"), json!({})).await.0, 200);
    eventually("it is open again", || async { (sessions(&shop, pr).await[0]["status"] == "RUNNING").then_some(()) })
        .await;
    let pid =
        rustix::process::Pid::from_raw(i32::try_from(child.id().expect("it runs")).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends").expect("a status");
    assert_eq!(status.code(), Some(128 + 15));
    let all = sessions(&shop, pr).await;
    assert_eq!((&all[0]["status"], &all[0]["exitCode"]), (&json!("COMPLETED"), &json!(143)), "{all:?}");
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_session_can_be_opened_nothing_is_run_unless_it_is_wanted_all_the_same() {
    let shop = Shop::new(SHORT, MENDS).await;
    let pr = shop.pull("one", "good").await;
    let run = async |words: &[&str]| shop.run(words).await;
    let nobody = run(&["session", "octocat/hello#99", "--", "sh", "-c", "echo ran"]).await;
    assert_eq!((nobody.code, nobody.out.as_str()), (Some(1), ""));
    assert!(
        nobody.err.contains("nothing was run") && nobody.err.contains("no known pull request #99"),
        "{}",
        nobody.err
    );
    let anyway = run(&["session", "octocat/hello#99", "--anyway", "--", "sh", "-c", "echo ran"]).await;
    assert_eq!((anyway.code, anyway.out.as_str()), (Some(0), "ran\n"), "{}", anyway.err);
    assert!(anyway.err.starts_with("warning: could not open a session"), "{}", anyway.err);
    let mut away = shop.command(&["session", &name(pr), "--", "sh", "-c", "echo ran"]);
    let away = Said::of(away.env("MERGE_TRAIN_SERVER", "http://127.0.0.1:9").output().await.expect("it runs"));
    assert_eq!((away.code, away.out.as_str()), (Some(1), ""), "{}", away.err);
    let missing = run(&["session", &name(pr), "--", "/no/such/program"]).await;
    assert_eq!(missing.code, Some(127), "{}", missing.err);
    assert_eq!(sessions(&shop, pr).await[0]["exitCode"], 127);
    for words in [
        &["session", "octocat/hello", "--", "true"][..],
        &["session", "octocat/hello#1"],
        &["session", "octocat/hello#1", "--idle-after", "0", "--", "true"],
        &["session", "octocat/hello#1", "--id", "a b", "--", "true"],
    ] {
        assert_eq!(run(words).await.code, Some(2), "{words:?}");
    }
    shop.close().await;
}
