//! Runs of a workflow with steps of every kind: the daemon is killed at each boundary of each step, and goes on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::crashes::daemon::{Daemon, Started};
use crate::support::{KEY, PATIENCE, Setup, http};

/// What every point of a run's life begins with.
const POINTS: &str = "run.";
const DIED: &str = "killed at ";

struct Place {
    dir: tempfile::TempDir,
    setup: Setup,
    daemon: Option<Daemon>,
    http: reqwest::Client,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let config = format!("[runs]\nwork_dir = {:?}\n{}", dir.path().join("runs"), workflow(dir.path()));
        let setup = Setup::new(dir.path()).more(&config);
        Self { dir, setup, daemon: None, http: http() }
    }

    /// How often a command was begun.
    fn times(&self, name: &str) -> usize {
        let log = std::fs::read_to_string(self.dir.path().join("begun")).unwrap_or_default();
        log.lines().filter(|line| *line == name).count()
    }

    fn reached(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("reached")).unwrap_or_default()
    }

    fn has_died(&self) -> bool {
        self.reached().lines().any(|line| line.starts_with(DIED))
    }

    /// A daemon that runs: armed until it has died once, and never again.
    async fn daemon(&mut self, armed: &str) -> Option<String> {
        if self.daemon.as_mut().is_some_and(|daemon| !daemon.is_alive()) {
            self.daemon = None;
        }
        if self.daemon.is_none() {
            let armed = if self.has_died() { "" } else { armed };
            match Daemon::start(&self.setup, armed, &self.dir.path().join("reached")).await {
                Started::Running(daemon) => self.daemon = Some(daemon),
                Started::Ended { log } => assert!(self.has_died(), "it ended at once:\n{log}"),
            }
        }
        self.daemon.as_ref().map(|daemon| daemon.url.clone())
    }

    /// Nothing where nobody answers: whoever asked asks again.
    async fn ask(&self, url: &str, path: &str, id: &str, body: Value) -> Option<Value> {
        let request = self.http.post(format!("{url}/api/v1/runs{path}")).bearer_auth(KEY);
        let response = request.header("x-idempotency-key", id).json(&body).send().await.ok()?;
        response.json().await.ok()
    }

    async fn get(&self, url: &str, path: &str) -> Option<Value> {
        let response = self.http.get(format!("{url}/api/v1/runs{path}")).bearer_auth(KEY).send().await.ok()?;
        (response.status() == 200).then_some(response)?.json().await.ok()
    }

    /// Lives a run from its creation to its end, with somebody who starts the daemon again, approves, and says what happened.
    async fn live(&mut self, armed: &str) -> Life {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "{armed}: it never ends\n{}", self.reached());
            tokio::time::sleep(Duration::from_millis(20)).await;
            let Some(url) = self.daemon(armed).await else { continue };
            let body = json!({ "workflow": "five", "tenant": "acme" });
            let Some(run) = self.ask(&url, "", "the-one", body).await else { continue };
            let Some(id) = run["id"].as_str() else { continue };
            let Some(run) = self.get(&url, &format!("/{id}")).await else { continue };
            match run["status"].as_str() {
                Some("awaiting_approval") => {
                    self.ask(&url, &format!("/{id}/approve"), "yes", json!({})).await;
                }
                Some("waiting_external") => {
                    self.ask(&url, &format!("/{id}/signal"), "now", json!({ "event": "landed" })).await;
                }
                Some("completed" | "failed" | "cancelled") => {
                    let Some(events) = self.get(&url, &format!("/{id}/events?limit=200")).await else { continue };
                    let events = events["events"].as_array().expect("a list").clone();
                    self.daemon.as_mut().expect("it runs").stop().await;
                    return Life { run, events };
                }
                _ => {}
            }
        }
    }
}

/// How a run ended, and what happened to it.
struct Life {
    run: Value,
    events: Vec<Value>,
}

impl Life {
    fn count(&self, kind: &str, step: u64) -> usize {
        self.events.iter().filter(|event| event["type"] == kind && event["step"] == step).count()
    }

    /// A step that is done stays done: nothing of it begins after its end is recorded.
    fn begins_after_its_end(&self, step: u64) -> bool {
        let is = |event: &Value, kind: &str| event["type"] == kind && event["step"] == step;
        let Some(end) = self.events.iter().position(|event| is(event, "step_completed")) else { return false };
        self.events[end..].iter().any(|event| is(event, "step_started"))
    }
}

const STEPS: [&str; 5] = ["gather", "again", "ok", "landed", "publish"];

/// One step of each kind, and of each way to be taken up.
fn workflow(dir: &Path) -> String {
    let command = |name: &str| {
        let (path, begun) = (dir.join(name), dir.join("begun"));
        let script = format!(
            "#!/bin/sh\necho {name} >> '{}'\ncat > /dev/null\necho '{{\"by\": \"{name}\"}}'\n",
            begun.display()
        );
        std::fs::write(&path, script).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        format!("command = [{path:?}]")
    };
    let steps = [
        format!("{}\nresumable = true\nidempotent = true", command("gather")),
        format!("{}\nresumable = false\nidempotent = true", command("again")),
        "kind = \"approval\"".to_owned(),
        "kind = \"wait\"\nevent = \"landed\"".to_owned(),
        format!("{}\nresumable = false\nidempotent = false", command("publish")),
    ];
    let steps = STEPS.iter().zip(steps).map(|(id, step)| format!("[[workflows.steps]]\nid = \"{id}\"\n{step}\n"));
    format!("[[workflows]]\nname = \"five\"\n{}", steps.collect::<String>())
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_each_boundary_of_each_step_a_run_goes_on_from_the_right_place() {
    let mut whole = Place::new();
    let life = whole.live("").await;
    assert_eq!(life.run["status"], "completed", "{}", life.run);
    assert_eq!(life.run["resumeCount"], 0);
    let passed: Vec<String> =
        whole.reached().lines().filter(|line| line.starts_with(POINTS)).map(str::to_owned).collect();
    let mut died = 0;
    let mut failed = 0;
    for (index, point) in passed.iter().enumerate() {
        let before = passed[..index].iter().filter(|earlier| *earlier == point).count();
        let armed = if before == 0 { format!("{point}=return") } else { format!("{point}={before}*off->return") };
        let mut place = Place::new();
        let life = place.live(&armed).await;
        let told = format!("{armed}: {}\n{:#?}", life.run, life.events);
        assert!(place.has_died(), "it lived on: {told}");
        died += 1;
        for (step, name) in (0..).zip(STEPS) {
            let began = life.count("step_started", step);
            assert!(place.times(name) <= began, "{name} was begun without a checkpoint: {told}");
        }
        assert!(!life.begins_after_its_end(0), "what is resumable was done again: {told}");
        assert!(place.times("gather") <= 2 && place.times("again") <= 2, "{told}");
        assert!(life.count("approval_requested", 2) <= 1, "people were asked twice: {told}");
        assert!(life.count("step_started", 4) <= 1, "what must not run twice did: {told}");
        let is_unfinished = life.count("step_started", 4) == 1 && life.count("step_completed", 4) == 0;
        if is_unfinished {
            failed += 1;
            assert_eq!(life.run["status"], "failed", "{told}");
            assert!(life.run["error"].as_str().is_some_and(|error| error.starts_with("RUN_RESUME_FAILED")), "{told}");
        } else {
            assert_eq!(life.run["status"], "completed", "{told}");
            assert_eq!(place.times("publish"), 1, "{told}");
        }
    }
    assert!(died >= 16, "only {died} points: {passed:?}");
    assert!(failed >= 3, "only {failed} of {died} died while nothing could be resumed");
}
