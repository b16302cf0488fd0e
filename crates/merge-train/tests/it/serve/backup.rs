//! Exports that are taken while the daemon works, and imports that change their mind about nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use crate::serve::runs;
use crate::support::{Daemon, Database, Sender, Setup, eventually, pull_request};

const REPO: &str = "acme/widgets";

async fn run(setup: &Setup, words: &[&str]) -> Output {
    setup.command(words).output().await.expect("it runs")
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a name")
}

/// The deliveries in an export: those that wait, and those that are done.
fn deliveries(export: &Path) -> (BTreeSet<String>, Vec<String>) {
    let folder = export.join(REPO);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
    let spool = std::fs::read_dir(folder.join("spool")).into_iter().flatten().map(|entry| {
        let entry: Value = serde_json::from_str(&read(&entry.expect("an entry").path())).expect("JSON");
        text(&entry["key"]).trim_start_matches("github:").to_owned()
    });
    let log = read(&folder.join("events.0.log"));
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let done = events.filter(|event| event["type"] == "delivery_processed").map(|event| text(&event["delivery"]));
    (spool.collect(), done.collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_under_load_is_one_moment_with_all_that_was_acknowledged_before_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path()).more("[housekeeping]\ncompact_after_events = 1000000\n");
    let daemon = setup.start().await;
    let (done, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(BTreeSet::new())));
    let senders: Vec<_> = (0..6)
        .map(|sender| {
            let (done, acknowledged, url) = (done.clone(), acknowledged.clone(), daemon.url.clone());
            tokio::spawn(async move {
                for number in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let delivery = format!("{sender}-{number:05}");
                    let payload = pull_request(REPO, sender + 1, "synchronize", number, number);
                    let answer = Sender::to(&url).send("pull_request", &delivery, &payload).await.expect("an answer");
                    assert_eq!(answer.status(), 202);
                    acknowledged.lock().insert(delivery);
                }
            })
        })
        .collect();
    let mut seen_waiting = 0;
    for round in 0..8 {
        let before = acknowledged.lock().clone();
        let export = dir.path().join(format!("export-{round}"));
        let output = run(&setup, &["state", "export", name(&export)]).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if !export.join(REPO).exists() {
            assert!(before.is_empty());
            continue;
        }
        let (waiting, processed) = deliveries(&export);
        let once: BTreeSet<_> = processed.iter().cloned().collect();
        assert_eq!(once.len(), processed.len(), "nothing was processed twice");
        assert!(waiting.is_disjoint(&once), "what waits is not done: {:?}", waiting.intersection(&once));
        let missing: Vec<_> = before.iter().filter(|it| !waiting.contains(*it) && !once.contains(*it)).collect();
        assert!(missing.is_empty(), "acknowledged before, and not in it: {missing:?}");
        seen_waiting += waiting.len();
    }
    done.store(true, Ordering::Relaxed);
    for sender in senders {
        sender.await.expect("the sender ends");
    }
    assert!(seen_waiting > 0, "some exports were taken in the middle of the work");
    daemon.kill().await;

    // The last of them, on another machine: what waited is worked off there.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let other = Setup::new(elsewhere.path());
    let (waiting, processed) = deliveries(&dir.path().join("export-7"));
    let output = run(&other, &["state", "import", name(&dir.path().join("export-7"))]).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let heir = other.start().await;
    Database::Sqlite.settled(&other).await;
    let again = elsewhere.path().join("export");
    assert!(run(&other, &["state", "export", name(&again)]).await.status.success());
    let (left, all) = deliveries(&again);
    assert!(left.is_empty());
    let expected: BTreeSet<_> = waiting.into_iter().chain(processed).collect();
    assert_eq!(all.iter().cloned().collect::<BTreeSet<_>>(), expected);
    assert_eq!(all.len(), expected.len(), "and nothing twice");
    assert!(heir.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_come_back_from_a_backup_with_all_that_is_to_be_seen_of_them() {
    let workflows = |dir: &Path| {
        let read = runs::command(dir, "read", r#"echo '{"seen": 3}'"#);
        let workflow = |name: &str, steps: &[String]| format!("[[workflows]]\nname = {name:?}\n{}", steps.concat());
        let read = runs::step("read", &format!("command = {read:?}"));
        let gate = runs::step("ok", "kind = \"approval\"");
        let wait = runs::step("landed", "kind = \"wait\"\nevent = \"landed\"");
        let done = workflow("done", std::slice::from_ref(&read));
        done + &workflow("asking", &[read.clone(), gate]) + &workflow("waiting", &[wait])
    };
    let place = runs::Place::new(workflows);
    let daemon = place.setup.start().await;
    let mut known = Vec::new();
    for (name, status) in [("done", "completed"), ("asking", "awaiting_approval"), ("waiting", "waiting_external")] {
        let id = runs::create(&daemon, name).await;
        let run = runs::becomes(&daemon, &id, status).await;
        known.push((id, run));
    }
    let seen = async |daemon: &Daemon, id: &str, what: &str| daemon.get(&format!("/api/v1/runs/{id}/{what}")).await.1;
    let checkpoints = seen(&daemon, &known[1].0, "checkpoints").await;
    let steps = seen(&daemon, &known[1].0, "steps").await;
    let export = place.dir.path().join("export");
    assert!(run(&place.setup, &["state", "export", name(&export)]).await.status.success());
    daemon.kill().await;

    let elsewhere = runs::Place::new(workflows);
    let output = run(&elsewhere.setup, &["state", "import", name(&export)]).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let heir = elsewhere.setup.start().await;
    for (id, before) in &known {
        let now = eventually("the run is there", || async {
            let (status, run) = heir.get(&format!("/api/v1/runs/{id}")).await;
            (status == 200).then_some(run)
        })
        .await;
        assert_eq!(&now, before);
    }
    assert_eq!(seen(&heir, &known[1].0, "checkpoints").await, checkpoints);
    assert_eq!(seen(&heir, &known[1].0, "steps").await, steps);
    let (status, told) = runs::post(&heir, &format!("/runs/{}/approve", known[1].0), serde_json::json!({})).await;
    assert_eq!(status, 200, "{told}");
    runs::becomes(&heir, &known[1].0, "completed").await;
    let signal = serde_json::json!({ "event": "landed" });
    assert_eq!(runs::post(&heir, &format!("/runs/{}/signal", known[2].0), signal).await.0, 200);
    runs::becomes(&heir, &known[2].0, "completed").await;
    assert_eq!(elsewhere.times("read"), 0, "what was done is not done again");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_cannot_be_says_why_and_changes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    let daemon = setup.start().await;
    let payload = pull_request(REPO, 1, "opened", 1, 1);
    Sender::to(&daemon.url).send("pull_request", "d-1", &payload).await.expect("an answer");
    Database::Sqlite.settled(&setup).await;
    let (export, again) = (dir.path().join("export"), dir.path().join("again"));
    assert!(run(&setup, &["state", "export", name(&export)]).await.status.success());
    let told = |output: Output| {
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = told(run(&setup, &["state", "import", name(&export)]).await);
    assert!(text.contains(&format!("in use by process {}", daemon.pid())), "{text}");
    let text = told(run(&setup, &["state", "export", name(&export)]).await);
    assert!(text.contains("is not empty"), "{text}");
    assert!(daemon.stop().await.success());

    let text = told(run(&setup, &["state", "import", name(&export)]).await);
    assert!(text.contains("nothing was imported") && text.contains("repo:acme/widgets exists already"), "{text}");
    let text = told(run(&setup, &["state", "import", name(&dir.path().join("nowhere"))]).await);
    assert!(text.contains("nowhere"), "{text}");
    assert!(run(&setup, &["state", "export", name(&again)]).await.status.success());
    let events = |export: &Path| std::fs::read_to_string(export.join(REPO).join("events.0.log")).expect("a log");
    assert!(events(&again).starts_with(&events(&export)), "what was there is there");

    // Into an empty one it goes once.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let other = Setup::new(elsewhere.path());
    assert!(run(&other, &["state", "import", name(&export)]).await.status.success());
    let text = told(run(&other, &["state", "import", name(&export)]).await);
    assert!(text.contains("exists already"), "{text}");
    assert!(run(&other, &["state", "verify"]).await.status.success());
}
