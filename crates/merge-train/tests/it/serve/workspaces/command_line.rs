//! `merge-train ratchet`.

use serde_json::json;

use super::{MENDS, Shop, name};
use crate::support::{REPO, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn the_ratchet_is_turned_and_looked_at_from_the_command_line() {
    let shop = Shop::new("", MENDS).await;
    let pr = shop.pull("one", "bad").await;
    let target = name(pr);
    let nothing = shop.run(&["ratchet", "status"]).await.done();
    assert!(nothing.starts_with("The ratchet is not on for any pull request. To turn it on: "), "{nothing}");
    let off = shop.run(&["ratchet", "status", &target]).await.done();
    assert!(off.starts_with(&format!("{target}  PAUSED_DISABLED\n  ratchet   off\n")), "{off}");
    let quiet = shop.run(&["ratchet", "log", &target]).await.done();
    assert_eq!(quiet, format!("The ratchet has decided nothing about {target}.\n"));

    let on = shop.run(&["ratchet", "on", &target, "--note", "why not"]).await.done();
    assert_eq!(on, format!("The ratchet is on for {target}.\nTo follow it: merge-train ratchet status '{target}'\n"));
    shop.becomes(pr, "PAUSED_DONE").await;
    let table = shop.run(&["ratchet", "status"]).await.done();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["PR", "STATE", "ACTIVITY", "ATTEMPTS", "SINCE"], "{table}");
    assert_eq!(rows[1][..2], [target.as_str(), "PAUSED_DONE"], "{table}");
    assert!(table.contains("CI is green, nothing conflicts"), "{table}");
    assert!(!table.contains('\u{1b}'), "no colours where nobody sees them: {table}");
    // A heartbeat between the two looks renews when GitHub was last asked.
    eventually("the command line says what the API says", || async {
        let listed = shop.run(&["ratchet", "status", "--json"]).await.json();
        (listed["workspaces"] == json!([shop.workspace(pr).await])).then_some(())
    })
    .await;
    let one = shop.run(&["ratchet", "status", &target, "--json"]).await.json();
    assert_eq!((&one["id"], &one["state"]), (&json!(target), &json!("PAUSED_DONE")), "{one:#}");
    let none = shop.run(&["ratchet", "status", "--attention"]).await.done();
    assert_eq!(none, "No pull request needs a person.\n");

    let log = shop.run(&["ratchet", "log", &target]).await.done();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.iter().any(|line| line.contains("FIX_CI") && line.contains("CI_FAILED (FIXING_CI)")), "{log}");
    assert!(lines.last().is_some_and(|last| last.contains("ALL_GREEN (PAUSED_DONE)")), "the newest is last: {log}");
    let short = shop.run(&["ratchet", "log", &target, "--limit", "1"]).await.done();
    assert_eq!(short.lines().count(), 2, "{short}");
    assert!(short.starts_with("There are older decisions"), "{short}");
    let log = shop.run(&["ratchet", "log", &target, "--json", "--limit", "2"]).await.json();
    assert_eq!((log["transitions"].as_array().map(Vec::len), &log["has_more"]), (Some(2), &json!(true)), "{log:#}");

    let off = shop.run(&["ratchet", "off", &target, "--json"]).await.json();
    assert_eq!((&off["result"], &off["workspace"]["ratchetEnabled"]), (&json!("off"), &json!(false)), "{off:#}");
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_has_a_switch_of_its_own() {
    let shop = Shop::new("", MENDS).await;
    let pr = shop.pull("one", "good").await;
    let told = shop.run(&["ratchet", "status", REPO]).await.done();
    let off = format!(
        "The ratchet is off for all pull requests of {REPO} without a setting of their own: set in the configuration.\n"
    );
    assert_eq!(told, format!("{off}The ratchet is not on for any pull request of {REPO}.\n"));
    let on = shop.run(&["ratchet", "on", REPO]).await.done();
    assert!(
        on.starts_with(&format!("The ratchet is on for all pull requests of {REPO} without a setting of their own.\n")),
        "{on}"
    );
    shop.becomes(pr, "PAUSED_DONE").await;
    let told = shop.run(&["ratchet", "status", REPO, "--json"]).await.json();
    assert_eq!(told["ratchet"], json!({ "repo": REPO, "enabled": true, "setBy": "repository" }), "{told:#}");
    assert_eq!(told["workspaces"][0]["id"], name(pr), "{told:#}");
    let off = shop.run(&["ratchet", "off", REPO, "--json"]).await.json();
    assert_eq!((&off["result"], &off["ratchet"]["enabled"]), (&json!("off"), &json!(false)), "{off:#}");
    shop.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_not_understood_has_an_exit_code_of_its_own() {
    let shop = Shop::new("", MENDS).await;
    shop.pull("one", "good").await;
    for words in [
        &["ratchet", "on", "octocat/hello#99"][..],
        &["ratchet", "off", "octocat/nowhere"],
        &["ratchet", "status", "octocat/hello#99"],
        &["ratchet", "status", "octocat/nowhere"],
        &["ratchet", "log", "octocat/hello#99"],
    ] {
        let said = shop.run(words).await;
        assert_eq!((said.code, said.out.as_str()), (Some(3), ""), "{words:?}: {}", said.err);
        assert!(said.err.starts_with("error: "), "{words:?}: {}", said.err);
    }
    for words in [
        &["ratchet"][..],
        &["ratchet", "on"],
        &["ratchet", "on", "hello"],
        &["ratchet", "log", "octocat/hello"],
        &["ratchet", "log", "octocat/hello#1", "--limit", "0"],
        &["ratchet", "on", "octocat/hello#1", "--note", ""],
    ] {
        assert_eq!(shop.run(words).await.code, Some(2), "{words:?}");
    }
    let mut command = shop.command(&["ratchet", "status"]);
    let away = command.env("MERGE_TRAIN_SERVER", "http://127.0.0.1:9").output().await.expect("it runs");
    assert_eq!(away.status.code(), Some(1));
    shop.close().await;
}
