//! Runs of workflows: real commands, people who decide, events that come, and a daemon that is killed meanwhile.

mod bad_steps;
mod deadlines;
mod documents;
mod faults;
mod feed;
mod observability;
mod orphans;
mod refusals;
mod retries;
mod settings;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Daemon, KEY, Setup, eventually, http};

/// A folder with a daemon's setup and the commands of its workflows.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub setup: Setup,
}

impl Place {
    pub fn new(workflows: impl FnOnce(&Path) -> String) -> Self {
        Self::with("", workflows)
    }

    /// With settings of `[runs]` besides.
    pub fn with(settings: &str, workflows: impl FnOnce(&Path) -> String) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let runs = format!("[runs]\nwork_dir = {:?}\n{settings}\n", dir.path().join("runs"));
        let setup = Setup::new(dir.path()).more(&runs).more(&workflows(dir.path()));
        Self { dir, setup }
    }

    /// How often a command was begun.
    pub fn times(&self, name: &str) -> usize {
        times(self.dir.path(), name)
    }
}

fn times(dir: &Path, name: &str) -> usize {
    let log = std::fs::read_to_string(dir.join("begun")).unwrap_or_default();
    log.lines().filter(|line| *line == name).count()
}

/// A command that notes that it was begun, and then does as the script says.
pub fn command(dir: &Path, name: &str, script: &str) -> String {
    let path = dir.join(name);
    let begun = dir.join("begun");
    std::fs::write(&path, format!("#!/bin/sh\necho {name} >> '{}'\n{script}\n", begun.display())).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    path.to_string_lossy().into_owned()
}

pub fn step(id: &str, rest: &str) -> String {
    format!("[[workflows.steps]]\nid = {id:?}\n{rest}\n")
}

pub fn agent(dir: &Path, name: &str, script: &str) -> String {
    step(name, &format!("command = {:?}", command(dir, name, script)))
}

async fn ask(daemon: &Daemon, method: Method, path: &str, key: &str, id: Option<&str>, body: &Value) -> (u16, Value) {
    let mut request = http().request(method, format!("{}/api/v1{path}", daemon.url)).bearer_auth(key);
    if let Some(id) = id {
        request = request.header("x-idempotency-key", id);
    }
    if !body.is_null() {
        request = request.json(body);
    }
    let response = request.send().await.expect("an answer");
    (response.status().as_u16(), response.json().await.expect("JSON"))
}

pub async fn post(daemon: &Daemon, path: &str, body: Value) -> (u16, Value) {
    ask(daemon, Method::POST, path, KEY, None, &body).await
}

pub async fn create(daemon: &Daemon, workflow: &str) -> String {
    let (status, run) = post(daemon, "/runs", json!({ "workflow": workflow, "tenant": "acme" })).await;
    assert_eq!(status, 201, "{run}");
    run["id"].as_str().expect("an id").to_owned()
}

pub async fn show(daemon: &Daemon, run: &str) -> Value {
    let (status, run) = daemon.get(&format!("/api/v1/runs/{run}")).await;
    assert_eq!(status, 200, "{run}");
    run
}

pub async fn becomes(daemon: &Daemon, run: &str, wanted: &str) -> Value {
    eventually(&format!("the run becomes {wanted}: {}", show(daemon, run).await), || async {
        let run = show(daemon, run).await;
        (run["status"] == wanted).then_some(run)
    })
    .await
}

/// What a daemon logged under the name of an event.
fn logged(daemon: &Daemon, event: &str) -> Vec<Value> {
    let lines = daemon.log();
    let read = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    read.filter(|line| line["event"] == event).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_all_kinds_of_steps_goes_from_one_to_the_next() {
    let place = Place::new(|dir| {
        let tell = r#"cat > told.json; echo '{"told": true}'"#;
        ["[[workflows]]\nname = \"all\"\ninputs = { pr = { type = \"integer\", default = 7 } }\n".to_owned()]
            .into_iter()
            .chain([
                agent(dir, "read", r#"echo '{"files": 3, "tokensUsed": {"input": 5, "output": 2}}'"#),
                step("ok", "kind = \"approval\"\nby = [\"api:all\"]"),
                step("landed", "kind = \"wait\"\nevent = \"landed\"\ncorrelation = \"{inputs.pr}\""),
                agent(dir, "tell", tell),
            ])
            .collect()
    });
    let daemon = place.setup.start().await;
    let run = create(&daemon, "all").await;
    let waiting = becomes(&daemon, &run, "awaiting_approval").await;
    assert_eq!((waiting["currentStep"].as_str(), waiting["type"].as_str()), (Some("ok"), Some("all")));
    let (status, approved) = post(&daemon, &format!("/runs/{run}/approve"), json!({ "reason": "looks fine" })).await;
    assert_eq!((status, approved["status"].as_str()), (200, Some("waiting_external")), "{approved}");
    let (status, problem) = post(&daemon, &format!("/runs/{run}/approve"), Value::Null).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_INVALID_TRANSITION")), "{problem}");
    let signal =
        |correlation: &str| json!({ "event": "landed", "correlation": correlation, "payload": { "sha": "abc" } });
    post(&daemon, &format!("/runs/{run}/signal"), signal("8")).await;
    assert_eq!(show(&daemon, &run).await["status"], "waiting_external", "that was another");
    post(&daemon, &format!("/runs/{run}/signal"), signal("7")).await;
    let done = becomes(&daemon, &run, "completed").await;
    assert_eq!(done["result"], json!({ "told": true }));
    assert!(done["completedAt"].is_string() && done["durationMs"].is_u64());
    let (_, steps) = daemon.get(&format!("/api/v1/runs/{run}/steps")).await;
    let statuses: Vec<&str> =
        steps["steps"].as_array().expect("a list").iter().filter_map(|step| step["status"].as_str()).collect();
    assert_eq!(statuses, ["completed"; 4]);
    let (_, checkpoints) = daemon.get(&format!("/api/v1/runs/{run}/checkpoints")).await;
    assert_eq!(checkpoints["checkpoints"].as_array().map(Vec::len), Some(8), "before and after each: {checkpoints}");
    let told = std::fs::read(place.dir.path().join("runs").join(&run).join("work/told.json")).expect("what it read");
    let told: Value = serde_json::from_slice(&told).expect("JSON");
    assert_eq!(told["steps"]["read"]["files"], 3);
    assert_eq!(told["steps"]["landed"]["payload"], json!({ "sha": "abc" }));
    let log = daemon.log();
    for event in ["run_created", "run_transition", "run_checkpoint", "run_completed"] {
        assert!(log.contains(&format!("\"event\":\"{event}\"")), "{event} is not in the log:\n{log}");
    }
    let (status, problem) = post(&daemon, &format!("/runs/{run}/cancel"), Value::Null).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("RUN_TERMINAL_STATE")), "{problem}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_with_what_is_wrong() {
    let place = Place::new(|dir| {
        "[[workflows]]\nname = \"one\"\ninputs = { pr = { type = \"integer\", required = true } }\n".to_owned()
            + &agent(dir, "read", "echo 1")
    });
    let daemon = place.setup.start().await;
    let cases = [
        (json!({ "workflow": "two", "tenant": "acme" }), 404, "UNKNOWN_WORKFLOW", "configured: one"),
        (json!({ "workflow": "one", "tenant": "acme" }), 422, "INVALID_INPUTS", "\"pr\" is a required property"),
        (json!({ "workflow": "one", "inputs": { "pr": 1 } }), 422, "TENANT_UNCLEAR", "the API key is for all tenants"),
        (json!({ "workflw": "one" }), 400, "BAD_REQUEST", "unknown field `workflw`"),
    ];
    for (body, status, code, detail) in cases {
        let (got, problem) = post(&daemon, "/runs", body).await;
        assert_eq!((got, problem["code"].as_str()), (status, Some(code)), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|text| text.contains(detail)), "{problem}");
    }
    let wanted = json!({ "workflow": "one", "tenant": "acme", "inputs": { "pr": 1 } });
    let viewer = format!("{KEY} viewer");
    assert_eq!(ask(&daemon, Method::POST, "/runs", &viewer, None, &wanted).await.0, 403);
    let (status, first) = ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    assert_eq!(status, 201, "{first}");
    let (status, second) = ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &wanted).await;
    assert_eq!((status, &second["id"]), (201, &first["id"]));
    let other = json!({ "workflow": "one", "tenant": "acme", "inputs": { "pr": 2 } });
    let (status, problem) = ask(&daemon, Method::POST, "/runs", KEY, Some("once"), &other).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("IDEMPOTENCY_CONFLICT")));
    let run = first["id"].as_str().expect("an id");
    becomes(&daemon, run, "completed").await;
    assert_eq!(place.times("read"), 1);
    let stranger = format!("{KEY} stranger");
    let (status, problem) = daemon.get_with(&format!("/api/v1/runs/{run}"), &stranger).await;
    assert_eq!((status, problem["code"].as_str()), (404, Some("NO_SUCH_RUN")), "another tenant's is not there");
    let (_, all) = daemon.get("/api/v1/runs?status=completed&limit=1").await;
    assert_eq!((all["runs"].as_array().map(Vec::len), &all["next_cursor"]), (Some(1), &Value::Null), "{all}");
    let (_, none) = daemon.get_with("/api/v1/runs", &stranger).await;
    assert_eq!(none["runs"], json!([]));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_in_a_step_goes_on_as_the_step_allows() {
    let place = Place::new(|dir| {
        let waits = "while [ ! -e ../../../go ]; do sleep 0.05; done; echo '{}'";
        let again = command(dir, "again", waits);
        let once = command(dir, "once", waits);
        format!(
            "[[workflows]]\nname = \"again\"\n{}{}[[workflows]]\nname = \"once\"\n{}",
            agent(dir, "before", "echo '{}'"),
            step("again", &format!("command = {again:?}\nidempotent = true")),
            step("once", &format!("command = {once:?}")),
        )
    });
    let daemon = place.setup.start().await;
    let (again, once) = (create(&daemon, "again").await, create(&daemon, "once").await);
    eventually("both are begun", || async { (place.times("again") + place.times("once") == 2).then_some(()) }).await;
    daemon.kill().await;
    std::fs::write(place.dir.path().join("go"), "").expect("written");
    let daemon = place.setup.start().await;
    let run = becomes(&daemon, &again, "completed").await;
    assert_eq!((run["resumeCount"].as_u64(), run["resumedFrom"].as_str()), (Some(1), Some("again")));
    let run = becomes(&daemon, &once, "failed").await;
    assert!(run["error"].as_str().is_some_and(|error| error.starts_with("RUN_RESUME_FAILED: ")), "{run}");
    assert_eq!((place.times("before"), place.times("again"), place.times("once")), (1, 2, 1));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_stops_its_command_and_undoes_what_was_done() {
    let place = Place::new(|dir| {
        let undo = command(dir, "unread", "cat > ../undone.json; echo '{}'");
        let read = command(dir, "read", "echo '{\"files\": 3}'");
        format!(
            "[[workflows]]\nname = \"long\"\n{}{}",
            step("read", &format!("command = {read:?}\ncompensate = {undo:?}")),
            agent(dir, "sleep", "sleep 600"),
        )
    });
    let daemon = place.setup.start().await;
    let run = create(&daemon, "long").await;
    eventually("it sleeps", || async { (place.times("sleep") == 1).then_some(()) }).await;
    let (status, answer) = post(&daemon, &format!("/runs/{run}/cancel"), json!({ "reason": "enough" })).await;
    assert_eq!(StatusCode::from_u16(status).expect("a status"), StatusCode::OK, "{answer}");
    let run = becomes(&daemon, &run, "cancelled").await;
    assert_eq!(run["compensationLog"][0]["action"], "read", "{run}");
    assert_eq!(run["cancellation"]["reason"], "enough");
    let undone = place.dir.path().join("runs").join(run["id"].as_str().expect("an id")).join("undone.json");
    let undone: Value = serde_json::from_slice(&std::fs::read(undone).expect("what it read")).expect("JSON");
    assert_eq!(undone["output"], json!({ "files": 3 }));
    assert!(daemon.stop().await.success());
}
