//! Many at once: callers who want the same run, and runs whose daemon dies.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::support::{Daemon, Database, KEY, Setup, eventually, http};

/// A workflow whose one command, in each of so many steps, writes its run and step down and then takes its time.
fn workflow(dir: &Path, steps: usize, seconds: f32) -> String {
    let (path, begun) = (dir.join("note"), dir.join("begun"));
    let note = format!("echo \"$MERGE_TRAIN_RUN_ID $MERGE_TRAIN_STEP_ID\" >> '{}'", begun.display());
    std::fs::write(&path, format!("#!/bin/sh\n{note}\nsleep {seconds}\necho '{{}}'\n")).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let step = |step: usize| {
        format!("[[workflows.steps]]\nid = \"s{step}\"\ncommand = [{path:?}]\nidempotent = true\nresumable = true\n")
    };
    format!("[[workflows]]\nname = \"crowd\"\n{}", (1..=steps).map(step).collect::<String>())
}

fn begun(dir: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(dir.join("begun")).unwrap_or_default();
    log.lines().map(str::to_owned).collect()
}

async fn create(client: &reqwest::Client, daemon: &Daemon, id: &str) -> (u16, Value) {
    let request = client.post(format!("{}/api/v1/runs", daemon.url)).bearer_auth(KEY).header("x-request-id", id);
    let response = request.json(&json!({ "workflow": "crowd", "tenant": "acme" })).send().await.expect("an answer");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

async fn all_runs(daemon: &Daemon) -> Vec<Value> {
    let (status, page) = daemon.get("/api/v1/runs?tenant=acme&type=crowd&limit=200").await;
    assert_eq!(status, 200, "{page}");
    page["runs"].as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_callers_who_want_the_same_run_get_one() {
    for database in [Database::Sqlite, Database::postgres().await] {
        let dir = tempfile::tempdir().expect("a folder");
        let runs = format!("[runs]\nwork_dir = {:?}\n{}", dir.path().join("runs"), workflow(dir.path(), 1, 0.1));
        let setup = Setup::new(dir.path()).database(database).more(&runs);
        let daemon = setup.start().await;
        let client = http();
        let answers: Vec<(u16, Value)> =
            stream::iter(0..1_000).map(|_| create(&client, &daemon, "the-same")).buffer_unordered(200).collect().await;
        let statuses: BTreeMap<u16, usize> = answers.iter().fold(BTreeMap::new(), |mut counted, (status, _)| {
            *counted.entry(*status).or_default() += 1;
            counted
        });
        assert!(statuses.keys().all(|status| [201, 202].contains(status)), "{statuses:?}");
        let ids: BTreeSet<&str> = answers.iter().filter_map(|(_, run)| run["id"].as_str()).collect();
        assert_eq!(ids.len(), 1, "{ids:?}");
        eventually("the run ends", || async {
            let runs = all_runs(&daemon).await;
            (runs.len() == 1 && runs[0]["status"] == "completed").then_some(())
        })
        .await;
        assert_eq!(begun(dir.path()).len(), 1, "its command ran once");
        assert!(daemon.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_one_of_two_daemons_dies_the_other_takes_up_each_of_its_runs_once() {
    const RUNS: usize = 50;
    let database = Database::postgres().await;
    let dir = tempfile::tempdir().expect("a folder");
    let config = |name: &str| {
        let runs = dir.path().join(format!("runs-{name}"));
        let settings = "max_concurrent = 8\nheartbeat_secs = 1\norphaned_after_secs = 3";
        format!("[runs]\nwork_dir = {runs:?}\n{settings}\n{}", workflow(dir.path(), 3, 0.2))
    };
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let [first, second] = ["first", "second"].map(|name| {
        let home = if name == "first" { &homes[0] } else { &homes[1] };
        Setup::new(home.path()).database(database.clone()).more(&config(name))
    });
    // Alone at first: whoever hears of a run takes it.
    let dying = first.start().await;
    let client = http();
    // All at once, so that few have ended when the daemon dies.
    let names: Vec<String> = (0..RUNS).map(|number| format!("number-{number}")).collect();
    let created: Vec<(u16, Value)> =
        stream::iter(&names).map(|name| create(&client, &dying, name)).buffer_unordered(RUNS).collect().await;
    for (status, run) in created {
        assert!([201, 202].contains(&status), "{run}");
    }
    eventually("it is in the middle of them", || async { (begun(dir.path()).len() >= RUNS / 2).then_some(()) }).await;
    let living = second.start().await;
    dying.kill().await;
    let runs = eventually("all have ended", || async {
        let runs = all_runs(&living).await;
        runs.iter().all(|run| run["status"] == "completed").then_some(runs)
    })
    .await;
    assert_eq!(runs.len(), RUNS);
    let orphans: Vec<&str> =
        runs.iter().filter(|run| run["resumeCount"] != 0).filter_map(|run| run["id"].as_str()).collect();
    assert!(!orphans.is_empty(), "nothing was orphaned");
    for run in &runs {
        assert!(run["resumeCount"].as_u64() <= Some(1), "{run}");
    }
    let log = living.log();
    let detected: Vec<&str> = log.lines().filter(|line| line.contains("\"event\":\"orphan_detected\"")).collect();
    for orphan in &orphans {
        let times = detected.iter().filter(|line| line.contains(orphan)).count();
        assert_eq!(times, 1, "{orphan} is claimed once:\n{}", detected.join("\n"));
    }
    // Three steps each; what was under way when the daemon died was begun once more.
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    begun(dir.path()).into_iter().for_each(|line| *times.entry(line).or_default() += 1);
    assert_eq!(times.len(), RUNS * 3);
    assert!(times.values().all(|times| *times <= 2), "{times:?}");
    // Under way is what ran, eight at once, and what had ended while its end was not yet stored.
    let twice = times.values().filter(|times| **times == 2).count();
    assert!(twice <= 2 * 8, "more than were under way were done again: {twice}");
    assert!(living.stop().await.success());
}
