//! What fixers and steps print.

use std::process::Stdio;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::{MENDS, Shop, stranger, viewer};
use crate::serve::runs::{Place, agent, becomes, create};
use crate::support::{KEY, PATIENCE, eventually, http};

const WAITS: &str = "while [ ! -e \"$SHOP/go\" ]; do sleep 0.05; done\n";

/// What is answered to a request for a log: the status and the text.
async fn text(url: &str, path: &str, key: &str) -> (u16, String) {
    let response = http().get(format!("{url}/api/v1{path}")).bearer_auth(key).send().await.expect("an answer");
    (response.status().as_u16(), response.text().await.expect("text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fixer_can_be_watched_while_it_works() {
    let shop = Shop::new("", &format!("echo I look at it\n{WAITS}echo I mend it\n{MENDS}")).await;
    let pr = shop.pull("one", "bad").await;
    shop.turn(pr, true).await;
    let fixing = shop.becomes(pr, "FIXING_CI").await;
    let id = fixing["activeSessionId"].as_str().expect("a run").to_owned();
    let path = format!("/runs/{id}/logs");
    let listed = eventually("it prints", || async {
        let (_, listed) = shop.get(&path).await;
        (listed["logs"][0]["bytes"].as_u64() > Some(0)).then_some(listed)
    })
    .await;
    let expected = json!([{ "name": "fix-1.log", "step": "fix", "attempt": 1, "bytes": 13 }]);
    assert_eq!((&listed["run"], &listed["status"], &listed["logs"]), (&json!(id), &json!("running"), &expected));
    let log = format!("{path}/fix-1.log");
    assert_eq!(text(&shop.daemon.url, &log, KEY).await, (200, "I look at it\n".to_owned()));
    assert_eq!(text(&shop.daemon.url, &format!("{log}?from=7"), &viewer()).await, (200, "at it\n".to_owned()));
    assert_eq!(text(&shop.daemon.url, &format!("{log}?from=999"), KEY).await, (200, String::new()));

    let follow = http().get(format!("{}/api/v1{log}?follow=true&from=2", shop.daemon.url)).bearer_auth(KEY);
    let response = follow.send().await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    let mut pieces = response.bytes_stream();
    let first = pieces.next().await.expect("something").expect("bytes");
    assert_eq!(&first[..], b"look at it\n");
    let mut command = shop.command(&["runs", "logs", &id, "--follow"]);
    let following = command.stdin(Stdio::null()).spawn().expect("it starts");
    shop.go();
    let rest = tokio::time::timeout(PATIENCE, pieces.map(|piece| piece.expect("bytes").to_vec()).concat()).await;
    let rest = String::from_utf8(rest.expect("it ends with the run")).expect("text");
    assert!(rest.starts_with("I mend it\n"), "{rest}");
    let followed =
        tokio::time::timeout(PATIENCE, following.wait_with_output()).await.expect("it ends").expect("output");
    let followed = super::Said::of(followed).done();
    assert!(followed.starts_with("I look at it\nI mend it\n"), "{followed}");
    shop.becomes(pr, "PAUSED_DONE").await;
    assert_eq!(shop.run(&["runs", "logs", &id]).await.done(), followed);
    let document = shop.run(&["runs", "logs", &id, "--json"]).await.json();
    assert_eq!((&document["run"], &document["logs"][0]["text"]), (&json!(id), &json!(followed)), "{document:#}");
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_a_log_of_the_run_is_given_out() {
    let place = Place::new(|dir| {
        let steps = [
            agent(dir, "first", "echo one >&2; echo '{}'"),
            agent(dir, "second", "printf 'two\\nthree' >&2; echo '{}'"),
        ];
        format!("[[workflows]]\nname = \"talk\"\n{}", steps.concat())
    });
    let daemon = place.setup.start().await;
    let id = create(&daemon, "talk").await;
    becomes(&daemon, &id, "completed").await;
    std::fs::write(place.dir.path().join("runs/secret-1.log"), "secret").expect("written");
    std::fs::write(place.dir.path().join(format!("runs/{id}/secret-1.log")), "secret").expect("written");
    let path = format!("/runs/{id}/logs");
    let (_, listed) = daemon.get(&format!("/api/v1{path}")).await;
    let names: Vec<&Value> = listed["logs"].as_array().expect("a list").iter().map(|log| &log["name"]).collect();
    assert_eq!(names, ["first-1.log", "second-1.log"]);
    for name in [
        "..%2Fsecret-1.log",
        "..%2F..%2Fsecret-1.log",
        "%2E%2E%2Fsecret-1.log",
        "%2Fetc%2Fpasswd",
        "first-1.log%00",
        "first-1",
        "third-1.log",
        "..",
        "%2e%2e",
    ] {
        let (status, told) = text(&daemon.url, &format!("{path}/{name}"), KEY).await;
        assert!([400, 404].contains(&status) && !told.contains("secret"), "{name}: {status} {told}");
    }
    assert_eq!(text(&daemon.url, &format!("{path}/first-1.log"), KEY).await, (200, "one\n".to_owned()));
    assert_eq!(
        text(&daemon.url, &format!("{path}/second-1.log?follow=true"), KEY).await,
        (200, "two\nthree".to_owned())
    );
    for query in ["from=-1", "from=x", "follow=1", "to=3"] {
        assert_eq!(text(&daemon.url, &format!("{path}/first-1.log?{query}"), KEY).await.0, 400, "{query}");
    }
    for path in [path.clone(), format!("{path}/first-1.log")] {
        assert_eq!(text(&daemon.url, &path, &stranger()).await.0, 404, "{path}");
        assert_eq!(text(&daemon.url, &path, "no key").await.0, 401, "{path}");
    }
    assert_eq!(text(&daemon.url, "/runs/run-none/logs", KEY).await.0, 404);

    let run = async |words: &[&str]| {
        let mut command = place.setup.command(&[&["runs", "logs"], words].concat());
        command.env("MERGE_TRAIN_SERVER", &daemon.url).env("MERGE_TRAIN_API_KEY", KEY);
        super::Said::of(command.output().await.expect("it runs"))
    };
    let all = run(&[&id]).await.done();
    assert_eq!(all, "==> first, attempt 1 <==\none\n\n==> second, attempt 1 <==\ntwo\nthree");
    assert_eq!(run(&[&id, "--step", "second", "--follow"]).await.done(), "two\nthree");
    let lines = run(&[&id, "--follow", "--json"]).await.done();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let piece = |log: &str, text: &str| json!({ "log": log, "text": text });
    let expected = [piece("first-1.log", "one\n"), piece("second-1.log", "two\n"), piece("second-1.log", "three")];
    assert_eq!(lines, expected);
    let third = run(&[&id, "--step", "third"]).await;
    assert_eq!(third.code, Some(1));
    assert!(third.err.contains("it has logs for: first, second"), "{}", third.err);
    assert_eq!(run(&["run-none"]).await.code, Some(3));
    assert!(daemon.stop().await.success());
}
