//! CI that runs: commands in a checkout of what was pushed.

use serde_json::{Value, json};

use crate::actions::{RUNS, Scene, define, log_of, with_ci};
use crate::support::{Clone, Receiver, World, eventually};

const TEST: &str = "grep -qx 4 sum.txt || { echo '::error file=sum.txt,line=1::2 + 2 is 4'; exit 1; }";

async fn combined(scene: &Scene, sha: &str) -> Value {
    scene.get(&format!("/repos/octocat/app/commits/{sha}/status")).await
}

async fn statuses_of(scene: &Scene, sha: &str) -> Vec<(String, String)> {
    let combined = combined(scene, sha).await;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    combined["statuses"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (text(&one["context"]), text(&one["state"])))
        .collect()
}

async fn check_runs(scene: &Scene, sha: &str) -> Vec<Value> {
    scene.get(&format!("/repos/octocat/app/commits/{sha}/check-runs")).await["check_runs"]
        .as_array()
        .expect("a list")
        .clone()
}

#[tokio::test]
async fn a_broken_test_fails_and_a_fixed_one_passes() {
    let scene = with_ci(json!([{ "name": "test", "command": TEST }])).await;
    let broken = scene.push("feature", &[("sum.txt", "5\n")]).await;
    let run = scene.completed_run(&broken).await;
    assert_eq!(run["conclusion"], "failure");
    let check = check_runs(&scene, &broken).await.remove(0);
    assert_eq!((check["conclusion"].as_str(), check["status"].as_str()), (Some("failure"), Some("completed")));
    assert_eq!(check["output"]["title"], "Process completed with exit code 1.");
    let annotations = scene.get(&format!("/repos/octocat/app/check-runs/{}/annotations", check["id"])).await;
    assert_eq!((annotations[0]["path"].as_str(), annotations[0]["start_line"].as_u64()), (Some("sum.txt"), Some(1)));
    assert_eq!(annotations[0]["message"], "2 + 2 is 4");
    assert_eq!(annotations[1]["message"], "Process completed with exit code 1.");
    assert!(log_of(&scene.world.octocat, &check).await.contains("##[error]2 + 2 is 4"));

    let fixed = scene.push("feature", &[("sum.txt", "4\n")]).await;
    let run = scene.completed_run(&fixed).await;
    assert_eq!((run["conclusion"].as_str(), run["run_number"].as_u64()), (Some("success"), Some(2)));
    assert_eq!(check_runs(&scene, &fixed).await[0]["conclusion"], "success");
    scene.world.finish().await;
}

#[tokio::test]
async fn webhooks_tell_how_a_run_goes() {
    let scene = with_ci(json!([{ "name": "test", "command": "true", "report": "both" }])).await;
    let receiver = Receiver::new().await;
    let events = ["check_run", "check_suite", "status", "workflow_run"];
    let hook = json!({ "config": { "url": receiver.url, "content_type": "json" }, "events": events });
    scene.world.octocat.post("/repos/octocat/app/hooks", hook).await.expect(201);
    let sha = scene.push("feature", &[("a", "1")]).await;
    for (name, pointer) in [
        ("workflow_run.requested", "/workflow_run/head_sha"),
        ("check_run.created", "/check_run/head_sha"),
        ("workflow_run.in_progress", "/workflow_run/head_sha"),
        ("check_run.completed", "/check_run/head_sha"),
        ("check_suite.completed", "/check_suite/head_sha"),
        ("workflow_run.completed", "/workflow_run/head_sha"),
    ] {
        let webhook = receiver.expect(name).await;
        assert_eq!(webhook.json.pointer(pointer).and_then(Value::as_str), Some(sha.as_str()), "{name}");
    }
    let states =
        [receiver.expect("status").await, receiver.expect("status").await].map(|one| one.json["state"].clone());
    assert_eq!(states, ["pending", "success"]);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_check_is_reported_as_it_is_told_to() {
    let checks = json!([
        { "name": "run", "command": "true" },
        { "name": "status", "command": "exit 1", "report": "status" },
        { "name": "both", "command": "true", "report": "both" },
    ]);
    let scene = with_ci(checks).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    scene.completed_run(&sha).await;
    eventually("the statuses are final", || async {
        let statuses = statuses_of(&scene, &sha).await;
        let expected = [("status", "failure"), ("both", "success")].map(|(name, state)| (name.into(), state.into()));
        let mut sorted: Vec<(String, String)> = statuses;
        sorted.sort_by(|a, b| b.cmp(a));
        (sorted == expected).then_some(())
    })
    .await;
    let mut names: Vec<String> =
        check_runs(&scene, &sha).await.iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, ["both", "run"]);
    let combined = combined(&scene, &sha).await;
    let status =
        combined["statuses"].as_array().unwrap().iter().find(|one| one["context"] == "status").unwrap().clone();
    let log = status["target_url"].as_str().unwrap().split_once("/_sim").expect("the simulator's own").1.to_owned();
    let log = scene.world.control("GET", &log, json!({})).await.expect(200);
    assert!(log.text.contains("exit code 1"), "{}", log.text);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_job_knows_what_it_runs_for_and_nothing_of_the_machine() {
    let command = "env; pwd; git rev-parse HEAD; git status --porcelain";
    let scene = with_ci(json!([{ "name": "env", "command": command }])).await;
    let sha = scene.push("feature/x", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    let log = log_of(&scene.world.octocat, &scene.jobs(&run).await[0]).await;
    for line in [
        "CI=true",
        "GITHUB_ACTIONS=true",
        &format!("GITHUB_SHA={sha}"),
        "GITHUB_REF_NAME=feature/x",
        "GITHUB_REPOSITORY=octocat/app",
        &format!("Z {sha}"),
    ] {
        assert!(log.contains(line), "{line} in {log}");
    }
    assert!(!log.contains("CARGO") && !log.contains("NEXTEST"), "{log}");
    scene.world.finish().await;
}

fn is_running(pid: &str) -> bool {
    // A killed process may wait for its parent's attention; it does not run any more.
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    state.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}

async fn pid_in(path: &std::path::Path) -> String {
    eventually("the child has started", || async {
        std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    })
    .await
}

#[tokio::test]
async fn a_timeout_kills_what_the_command_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let command = format!("sleep 600 & echo $! > {}; echo started; wait", file.display());
    let scene = with_ci(json!([{ "name": "slow", "command": command, "timeout_ms": 500 }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let pid = pid_in(&file).await;
    let run = scene.completed_run(&sha).await;
    assert_eq!(run["conclusion"], "timed_out");
    eventually("the child is dead", || async { (!is_running(&pid)).then_some(()) }).await;
    let log = log_of(&scene.world.octocat, &scene.jobs(&run).await[0]).await;
    assert!(log.contains("started") && log.contains("maximum execution time of 500ms"), "{log}");
    scene.world.finish().await;
}

#[tokio::test]
async fn what_a_command_leaves_running_dies_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let command = format!("sleep 600 & echo $! > {}", file.display());
    let scene = with_ci(json!([{ "name": "daemon", "command": command }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = scene.completed_run(&sha).await;
    assert_eq!(run["conclusion"], "success");
    let pid = pid_in(&file).await;
    eventually("the child is dead", || async { (!is_running(&pid)).then_some(()) }).await;
    scene.world.finish().await;
}

#[tokio::test]
async fn stopping_kills_what_runs_and_a_restart_runs_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, marker) = (folder.path().join("pid"), folder.path().join("marker"));
    let command = format!("test -e {} && exit 0; sleep 600 & echo $! > {}; wait", marker.display(), file.display());
    let mut scene = with_ci(json!([{ "name": "slow", "command": command }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let pid = pid_in(&file).await;
    let before = scene.run_that(&sha, |run| run["status"] == "in_progress").await;
    std::fs::write(&marker, "").unwrap();
    scene.world.restart().await;
    eventually("the child is dead", || async { (!is_running(&pid)).then_some(()) }).await;
    let run = scene.completed_run(&sha).await;
    assert_eq!((run["conclusion"].as_str(), &run["id"]), (Some("success"), &before["id"]));
    assert_eq!(check_runs(&scene, &sha).await.len(), 1);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_command_that_prints_fifty_megabytes_leaves_a_small_log() {
    let command =
        "echo first; yes 0123456789012345678901234567890123456789 | head -c 52428800; echo; echo last; exit 1";
    let scene = with_ci(json!([{ "name": "loud", "command": command }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    let run = eventually("it ends", || async {
        let runs = scene.get(&format!("{RUNS}?head_sha={sha}&status=completed")).await;
        runs["workflow_runs"].as_array().unwrap().first().cloned()
    })
    .await;
    let log = log_of(&scene.world.octocat, &scene.jobs(&run).await[0]).await;
    assert!(log.len() < 8 * 1024 * 1024, "{}", log.len());
    assert!(log.contains(" first\n") && log.contains(" last\n") && log.contains("lines are left out here"));
    scene.world.finish().await;
}

#[tokio::test]
async fn a_check_stays_queued_for_its_delay() {
    let scene = with_ci(json!([{ "name": "late", "command": "true", "delay_ms": 1500 }])).await;
    let pushed = std::time::Instant::now();
    let sha = scene.push("feature", &[("a", "1")]).await;
    assert_eq!(check_runs(&scene, &sha).await[0]["status"], "queued");
    scene.completed_run(&sha).await;
    assert!(pushed.elapsed() >= std::time::Duration::from_millis(1500));
    scene.world.finish().await;
}

#[tokio::test]
async fn a_push_is_run_once_and_each_push_is_run() {
    let scene = with_ci(json!([{ "name": "test", "command": "true" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    scene.completed_run(&sha).await;
    let number = scene
        .world
        .octocat
        .post("/repos/octocat/app/pulls", json!({ "title": "Feature", "head": "feature", "base": "main" }));
    number.await.expect(201);
    assert_eq!(scene.get(RUNS).await["total_count"], 1);
    let next = scene.push("feature", &[("a", "2")]).await;
    scene.completed_run(&next).await;
    assert_eq!(scene.get(RUNS).await["total_count"], 2);
    scene.world.finish().await;
}

#[tokio::test]
async fn an_ignored_branch_is_run_once_it_is_a_pull_request() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let checks = json!([{ "name": "test", "command": "true" }]);
    define(&world, json!({ "name": "Tests", "checks": checks, "ignore_branches": ["wip/**"] })).await;
    let scene = Scene { world, clone };
    let sha = scene.push("wip/x", &[("a", "1")]).await;
    assert_eq!(scene.get(RUNS).await["total_count"], 0);
    let pull = json!({ "title": "Work", "head": "wip/x", "base": "main" });
    scene.world.octocat.post("/repos/octocat/app/pulls", pull).await.expect(201);
    let run = scene.completed_run(&sha).await;
    assert_eq!((run["event"].as_str(), run["name"].as_str()), (Some("pull_request"), Some("Tests")));
    assert_eq!(run["display_title"], "Work");
    let next = scene.push("wip/x", &[("a", "2")]).await;
    scene.completed_run(&next).await;
    scene.world.finish().await;
}

#[tokio::test]
async fn a_fork_s_commits_are_run_where_the_pull_request_is() {
    let scene = with_ci(json!([{ "name": "test", "command": TEST }])).await;
    let dev = scene.world.user("dev").await;
    dev.post("/repos/octocat/app/forks", json!({})).await.expect(202);
    let fork = Clone::new(&scene.world.url(), &dev, "dev", "app").await;
    let broken = fork.commit_on("fix", "main", &[("sum.txt", "5\n")], "Try").await;
    fork.push("fix").await;
    let pull = json!({ "title": "Fix", "head": "dev:fix", "base": "main" });
    dev.post("/repos/octocat/app/pulls", pull).await.expect(201);
    let run = scene.completed_run(&broken).await;
    assert_eq!((run["event"].as_str(), run["conclusion"].as_str()), (Some("pull_request"), Some("failure")));
    assert_eq!(run["pull_requests"].as_array().unwrap().len(), 0);
    let fixed = fork.commit_on("fix", "main", &[("sum.txt", "4\n")], "Fix").await;
    fork.push("fix").await;
    assert_eq!(scene.completed_run(&fixed).await["conclusion"], "success");
    scene.world.finish().await;
}

#[tokio::test]
async fn the_definition_can_be_read_replaced_and_removed() {
    let scene = with_ci(json!([{ "name": "test", "command": "true" }])).await;
    let path = "/repos/octocat/app/ci";
    let read = scene.world.control("GET", path, json!({})).await.expect(200);
    assert_eq!(read.json["checks"][0]["timeout_ms"], 600_000);
    assert_eq!(read.json["checks"][0]["report"], "check_run");
    for bad in [
        json!({ "checks": [{ "name": "x", "comand": "true" }] }),
        json!({ "check": [] }),
        json!({ "checks": [{ "name": " " }] }),
        json!({ "checks": [{ "name": "x" }, { "name": "x" }] }),
        json!({ "checks": [{ "name": "x", "timeout_ms": 0 }] }),
        json!({ "checks": [{ "name": "x", "report": "loudly" }] }),
    ] {
        scene.world.control("PUT", path, bad.clone()).await.expect(422);
    }
    scene.world.control("PUT", "/repos/octocat/nowhere/ci", json!({})).await.expect(404);
    scene.world.control("PUT", "/repos/octocat/app/ci?run=all", json!({})).await.expect(422);
    scene.world.control("DELETE", path, json!({})).await.expect(204);
    scene.world.control("GET", path, json!({})).await.expect(404);
    scene.push("feature", &[("a", "1")]).await;
    assert_eq!(scene.get(RUNS).await["total_count"], 0);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_new_definition_can_be_run_on_what_is_there() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let scene = Scene { world, clone };
    scene.world.pull(&scene.clone, "feature", "main").await;
    scene.push("other", &[("a", "1")]).await;
    let definition = json!({ "checks": [{ "name": "test", "command": "true" }] });
    scene.world.control("PUT", "/repos/octocat/app/ci?run=heads", definition).await.expect(200);
    for branch in ["feature", "main"] {
        let sha = scene.clone.git(&["rev-parse", branch]).await;
        assert_eq!(scene.completed_run(&sha).await["conclusion"], "success");
    }
    assert_eq!(scene.get(RUNS).await["total_count"], 2);
    scene.world.finish().await;
}

#[tokio::test]
async fn a_check_can_be_set_by_hand() {
    let scene = with_ci(json!([{ "name": "manual", "report": "both" }])).await;
    let number = scene.world.pull(&scene.clone, "feature", "main").await;
    let sha = scene.clone.git(&["rev-parse", "feature"]).await;
    assert_eq!(check_runs(&scene, &sha).await[0]["status"], "queued");
    assert_eq!(statuses_of(&scene, &sha).await, [("manual".into(), "pending".into())]);
    let set = |body: Value| async { scene.world.control("POST", "/repos/octocat/app/checks", body).await };

    let first = set(json!({ "pull": number, "name": "manual", "status": "in_progress" })).await.expect(201);
    assert_eq!(check_runs(&scene, &sha).await[0]["status"], "in_progress");
    let annotation = json!({ "path": "a.rs", "line": 3, "message": "no" });
    let body = json!({ "branch": "feature", "name": "manual", "conclusion": "failure", "title": "Broken", "summary": "It broke.",
        "log": "line one\nline two\n", "annotations": [annotation] });
    let second = set(body).await.expect(201);
    assert_eq!(first.json["check_run_id"], second.json["check_run_id"]);
    let run = check_runs(&scene, &sha).await.remove(0);
    assert_eq!((run["conclusion"].as_str(), run["output"]["title"].as_str()), (Some("failure"), Some("Broken")));
    assert_eq!(log_of(&scene.world.octocat, &run).await, "line one\nline two\n");
    assert_eq!(statuses_of(&scene, &sha).await, [("manual".into(), "failure".into())]);
    assert_eq!(scene.completed_run(&sha).await["conclusion"], "failure");

    let third = set(json!({ "sha": sha, "name": "manual", "conclusion": "success" })).await.expect(201);
    assert_ne!(third.json["check_run_id"], second.json["check_run_id"]);
    let run = check_runs(&scene, &sha).await;
    assert_eq!((run.len(), run[0]["conclusion"].as_str()), (1, Some("success")));
    assert_eq!(scene.completed_run(&sha).await["conclusion"], "success");
    scene.world.finish().await;
}

#[tokio::test]
async fn a_check_set_by_hand_ends_the_command_that_runs() {
    let scene = with_ci(json!([{ "name": "slow", "command": "sleep 600" }])).await;
    let sha = scene.push("feature", &[("a", "1")]).await;
    scene.run_that(&sha, |run| run["status"] == "in_progress").await;
    let body = json!({ "sha": sha, "name": "slow", "conclusion": "success" });
    scene.world.control("POST", "/repos/octocat/app/checks", body).await.expect(201);
    let run = scene.completed_run(&sha).await;
    assert_eq!((run["conclusion"].as_str(), scene.jobs(&run).await.len()), (Some("success"), 1));
    scene.world.finish().await;
}

#[tokio::test]
async fn a_check_set_by_hand_needs_no_definition() {
    let world = World::new().await;
    let clone = world.repo("app").await;
    let scene = Scene { world, clone };
    let sha = scene.clone.git(&["rev-parse", "main"]).await;
    let body = json!({ "branch": "main", "name": "ext", "state": "error", "report": "status" });
    scene.world.control("POST", "/repos/octocat/app/checks", body).await.expect(201);
    assert_eq!(statuses_of(&scene, &sha).await, [("ext".into(), "error".into())]);
    assert_eq!(check_runs(&scene, &sha).await.len(), 0);
    let body = json!({ "branch": "main", "name": "run", "state": "success" });
    scene.world.control("POST", "/repos/octocat/app/checks", body).await.expect(201);
    assert_eq!(check_runs(&scene, &sha).await[0]["conclusion"], "success");
    for bad in [
        json!({ "name": "x", "conclusion": "success" }),
        json!({ "branch": "main", "sha": sha, "name": "x", "conclusion": "success" }),
        json!({ "branch": "main", "name": "x" }),
        json!({ "branch": "main", "name": "x", "status": "completed" }),
        json!({ "branch": "main", "name": "x", "conclusion": "success", "state": "success" }),
        json!({ "branch": "main", "name": "", "conclusion": "success" }),
        json!({ "branch": "main", "name": "x", "conclusion": "great" }),
        json!({ "branch": "nowhere", "name": "x", "conclusion": "success" }),
        json!({ "pull": 99, "name": "x", "conclusion": "success" }),
        json!({ "sha": "0".repeat(40), "name": "x", "conclusion": "success" }),
        json!({ "branch": "main", "name": "x", "conclusion": "success", "extra": 1 }),
    ] {
        scene.world.control("POST", "/repos/octocat/app/checks", bad.clone()).await.expect(422);
    }
    scene.world.finish().await;
}

#[tokio::test]
async fn a_commit_is_the_sum_of_what_is_said_about_it() {
    let scene = with_ci(json!([{ "name": "run" }, { "name": "status", "report": "status" }])).await;
    let number = scene.world.pull(&scene.clone, "feature", "main").await;
    let pull = format!("/repos/octocat/app/pulls/{number}");
    let set = |name: &'static str, conclusion: &'static str| {
        let body = json!({ "pull": number, "name": name, "conclusion": conclusion });
        async { scene.world.control("POST", "/repos/octocat/app/checks", body).await.expect(201) }
    };
    let state = || async { scene.get(&pull).await["mergeable_state"].clone() };
    assert_eq!(state().await, "unstable");
    set("run", "success").await;
    assert_eq!(state().await, "unstable");
    set("status", "success").await;
    assert_eq!(state().await, "clean");
    set("run", "failure").await;
    assert_eq!(state().await, "unstable");
    scene.world.finish().await;
}
