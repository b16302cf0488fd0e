//! A fixer's push that waits for somebody: everywhere that somebody looks.

use serde_json::json;

use super::{MENDS, Shop, at, name};
use crate::support::REPO;

#[tokio::test(flavor = "multi_thread")]
async fn a_fixer_whose_push_is_held_shows_what_it_wants_to_push_and_how_to_decide() {
    let script = format!("printf '\\033[31mevil\\n' > colours.txt\ngit add .\n{MENDS}");
    let shop = Shop::new("approve_pushes = [\"always\"]", &script).await;
    let pr = shop.pull("one", "bad").await;
    shop.turn(pr, true).await;
    let held = shop.becomes(pr, "PAUSED_ATTENTION_PUSH_APPROVAL").await;
    assert_eq!(held["outcomeKind"], "ATTENTION", "{held:#}");
    let id = held["activeSessionId"].as_str().expect("a run").to_owned();
    let (_, attention) = shop.get("/workspaces?attention=true").await;
    assert_eq!(attention["workspaces"], json!([held]), "{attention:#}");
    let (_, sessions) = shop.get(&format!("{}/sessions", at(pr))).await;
    assert_eq!((&sessions["sessions"][0]["id"], &sessions["sessions"][0]["kind"]), (&json!(id), &json!("ratchet")));

    let status = shop.run(&["status"]).await.done();
    assert!(status.contains("working on, or that need a person (!):\n"), "{status}");
    assert!(status.contains(&format!("!  {}  PAUSED_ATTENTION_PUSH_APPROVAL", name(pr))), "{status}");
    let status = shop.run(&["status", REPO, "--json"]).await.json();
    assert_eq!(status["workspaces"][0]["id"], name(pr), "{status:#}");

    let shown = shop.run(&["runs", "show", &id]).await.done();
    for words in [
        format!("fixer for {}", name(pr)),
        "fix CI failures, on one at ".to_owned(),
        "would push ".to_owned(),
        "Proposed push:\n".to_owned(),
        "  -bad\n  +good\n".to_owned(),
        "  +\\u{1b}[31mevil\n".to_owned(),
        format!("merge-train runs approve {id}"),
        "to push it".to_owned(),
    ] {
        assert!(shown.contains(&words), "{words:?}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let listed = shop.run(&["runs", "list", "--type", "fixer"]).await.done();
    assert!(listed.contains(&format!("{id}  fixer  awaiting_approval  {}  approve", name(pr))), "{listed}");
    let detail = shop.run(&["ratchet", "status", &name(pr)]).await.done();
    assert!(detail.contains(&format!("merge-train runs show {id}")), "{detail}");

    let approved = shop.run(&["runs", "approve", &id]).await.done();
    assert!(approved.starts_with(&format!("the push of {id} is approved.\n")), "{approved}");
    let watched = shop.run(&["runs", "watch", &id]).await.done();
    let told: Vec<&str> = watched.lines().map(|line| line.get(22..).unwrap_or(line)).collect();
    let expected = [
        &*format!("a fixer starts for #{pr}, to fix CI failures"),
        "it starts",
        "its push of 2 changed files needs approval: it changes colours.txt",
        "the daemon pushes its commits at the request of api:all",
        "The fixer pushed",
    ];
    assert_eq!(told[..told.len() - 1], expected, "{watched}");
    assert!(
        watched.lines().last().is_some_and(|last| last.starts_with(&format!("{id} completed after "))),
        "{watched}"
    );
    shop.becomes(pr, "PAUSED_DONE").await;
    let shown = shop.run(&["runs", "show", &id]).await.done();
    assert!(shown.contains("result     The fixer pushed: ") && !shown.contains("Proposed push"), "{shown}");
    let nothing = shop.run(&["status", REPO]).await.done();
    assert_eq!(nothing, format!("No trains in {REPO}.\n"));
    shop.close().await;
}
