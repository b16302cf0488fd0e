//! `merge-train sim` as a process: killed, started again, started twice.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use test_support::programs;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::build_simulator;

const PATIENCE: Duration = Duration::from_secs(20);

struct Process {
    child: Child,
    description: Value,
    http: reqwest::Client,
}

fn command(data: &Path) -> Command {
    build_simulator();
    let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
    command.args(["sim", "--listen", "127.0.0.1:0", "--seed", "7", "--data"]).arg(data);
    command.env("RUST_LOG", "warn").stdin(Stdio::null()).kill_on_drop(true);
    command
}

impl Process {
    async fn start(data: &Path) -> Self {
        let mut child = command(data).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("ready in time").expect("a line");
        assert!(first.expect("it did not exit").contains("http://"));
        // Whoever stops reading would block the program's next line.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let description = std::fs::read(data.join("sim.json")).expect("sim.json is there when it is ready");
        let description = serde_json::from_slice(&description).expect("JSON");
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
        Self { child, description, http }
    }

    async fn kill(mut self) {
        self.child.kill().await.expect("killed");
    }

    fn url(&self) -> &str {
        self.description["web_url"].as_str().expect("an address")
    }

    fn token(&self) -> &str {
        self.description["users"][0]["token"].as_str().expect("a token")
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let api = self.description["api_url"].as_str().expect("an address");
        let mut request = self.http.request(method.parse().expect("a method"), format!("{api}{path}"));
        request = request.bearer_auth(self.token());
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        // The port is another each time.
        let host = self.url().trim_start_matches("http://");
        let text = response.text().await.expect("a body").replace(host, "HOST");
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, None).await;
        assert_eq!(status, 200, "GET {path}: {body}");
        body
    }

    async fn create(&self, path: &str, body: Value) -> Value {
        let (status, body) = self.send("POST", path, Some(body)).await;
        assert_eq!(status, 201, "POST {path}: {body}");
        body
    }

    /// Runs git in `folder` with the first user's credentials.
    async fn git(&self, folder: &Path, args: &[&str]) -> String {
        let remote = self.url().replace("://", &format!("://octocat:{}@", self.token()));
        let as_octocat = ["-c", "user.name=octocat", "-c", "user.email=octocat@example.com"].map(str::to_owned);
        let args: Vec<String> =
            as_octocat.into_iter().chain(args.iter().map(|arg| arg.replace("REMOTE", &remote))).collect();
        programs::git(folder, &args.iter().map(String::as_str).collect::<Vec<_>>()).await
    }
}

#[tokio::test]
async fn a_killed_simulator_has_the_same_state_when_it_starts_again() {
    let (data, clone) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sim = Process::start(data.path()).await;
    sim.create("/user/repos", json!({ "name": "demo", "auto_init": true })).await;
    let folder = clone.path();
    sim.git(folder, &["clone", "--quiet", "REMOTE/octocat/demo.git", "."]).await;
    sim.git(folder, &["checkout", "--quiet", "-b", "work"]).await;
    sim.git(folder, &["commit", "--quiet", "--allow-empty", "-m", "Work"]).await;
    sim.git(folder, &["push", "--quiet", "REMOTE/octocat/demo.git", "work"]).await;
    let head = sim.git(folder, &["rev-parse", "work"]).await;
    sim.create("/repos/octocat/demo/pulls", json!({ "title": "Work", "head": "work", "base": "main" })).await;
    sim.create("/repos/octocat/demo/issues/1/comments", json!({ "body": "Looks good" })).await;
    let paths = [
        "/user",
        "/repos/octocat/demo",
        "/repos/octocat/demo/branches",
        "/repos/octocat/demo/pulls?state=all",
        "/repos/octocat/demo/pulls/1/commits",
        "/repos/octocat/demo/issues/1/comments",
    ];
    let mut before = Vec::new();
    for path in paths {
        before.push(sim.get(path).await);
    }
    let token = sim.token().to_owned();
    sim.kill().await;

    let sim = Process::start(data.path()).await;
    assert_eq!(sim.token(), token);
    for (path, before) in paths.iter().zip(before) {
        assert_eq!(sim.get(path).await, before, "{path}");
    }
    let refs = sim.git(folder, &["ls-remote", "REMOTE/octocat/demo.git", "refs/pull/1/head"]).await;
    assert!(refs.starts_with(&head), "{refs}");
    sim.kill().await;
}

#[tokio::test]
async fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    let data = tempfile::tempdir().unwrap();
    let sim = Arc::new(Process::start(data.path()).await);
    sim.create("/user/repos", json!({ "name": "demo" })).await;
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (sim, acknowledged) = (Arc::clone(&sim), Arc::clone(&acknowledged));
            tokio::spawn(async move {
                for n in 0.. {
                    let name = format!("label-{writer}-{n}");
                    sim.create("/repos/octocat/demo/labels", json!({ "name": name, "color": "ffffff" })).await;
                    acknowledged.lock().unwrap().push(name);
                }
            })
        })
        .collect();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while acknowledged.lock().unwrap().len() < 100 {
        assert!(tokio::time::Instant::now() < deadline, "too slow");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // In the middle of their requests, which then fail.
    for writer in &writers {
        assert!(!writer.is_finished());
    }
    let id = sim.child.id().expect("it runs").to_string();
    assert!(Command::new("kill").args(["-KILL", &id]).status().await.expect("kill starts").success());
    for writer in writers {
        assert!(writer.await.is_err(), "its last request failed");
    }

    let again = Process::start(data.path()).await;
    let mut found = Vec::new();
    for page in 1.. {
        let labels = again.get(&format!("/repos/octocat/demo/labels?per_page=100&page={page}")).await;
        let labels = labels.as_array().expect("a list").clone();
        if labels.is_empty() {
            break;
        }
        found.extend(labels.iter().map(|label| label["name"].as_str().expect("a name").to_owned()));
    }
    for name in acknowledged.lock().unwrap().iter() {
        assert!(found.contains(name), "{name} was acknowledged and is lost");
    }
    again.kill().await;
}

#[tokio::test]
async fn two_simulators_on_one_data_directory_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let first = Process::start(data.path()).await;
    let second = command(data.path()).output().await.expect("the program starts");
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("another simulator uses"), "{said}");
    first.get("/user").await;
    first.kill().await;
}

#[tokio::test]
async fn sigterm_ends_it_in_peace() {
    let data = tempfile::tempdir().unwrap();
    let mut sim = Process::start(data.path()).await;
    let id = sim.child.id().expect("it runs").to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().await.expect("kill starts").success());
    let status = tokio::time::timeout(PATIENCE, sim.child.wait()).await.expect("in time").expect("a status");
    assert!(status.success(), "{status}");
}
