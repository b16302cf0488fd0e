//! How fast the simulator is: `cargo bench -p github-sim`.
//!
//! 1. Squash-merges in a repository of 50,000 files: how long each takes to answer.
//! 2. Simple REST requests: how many a second, with client and simulator sharing the machine.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const FILES: usize = 50_000;
const MERGES: usize = 20;
const CONNECTIONS: usize = 16;
const LOAD: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let running =
        github_sim::start(github_sim::Options::new(dir.path().join("data"))).await.expect("the simulator starts");
    let description = running.description();
    let api = Api {
        http: reqwest::Client::builder().no_proxy().build().expect("a client"),
        base: description["api_url"].as_str().expect("an address").to_owned(),
        token: description["users"][0]["token"].as_str().expect("a token").to_owned(),
    };
    squash_merges(&api, &running.urls().web(""), dir.path()).await;
    for (what, path) in [
        ("GET /repos/{owner}/{repo}", "/repos/octocat/large"),
        ("GET /repos/{owner}/{repo}/pulls/{pull_number}", "/repos/octocat/large/pulls/1"),
        ("GET /repos/{owner}/{repo}/pulls", "/repos/octocat/large/pulls?state=all"),
        ("GET /rate_limit", "/rate_limit"),
    ] {
        requests(&api, what, path).await;
    }
    running.stop().await;
}

#[derive(Clone)]
struct Api {
    http: reqwest::Client,
    base: String,
    token: String,
}

impl Api {
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Value {
        let method = method.parse().expect("a method");
        let mut request = self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status();
        let text = response.text().await.expect("a body");
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }
}

async fn squash_merges(api: &Api, web: &str, dir: &Path) {
    api.call("POST", "/user/repos", Some(json!({ "name": "large" }))).await;
    let local = dir.join("large");
    git(dir, &["init", "--quiet", "--bare", "large"], None).await;
    git(&local, &["fast-import", "--quiet"], Some(history())).await;
    let url = web.replace("://", &format!("://octocat:{}@", api.token)) + "/octocat/large.git";
    git(&local, &["push", "--quiet", &url, "refs/heads/*:refs/heads/*"], None).await;
    let mut times = Vec::new();
    for number in 1..=MERGES {
        let pull = json!({ "title": format!("Change {number}"), "head": format!("change-{number}"), "base": "main" });
        api.call("POST", "/repos/octocat/large/pulls", Some(pull)).await;
        let begun = Instant::now();
        let path = format!("/repos/octocat/large/pulls/{number}/merge");
        let merged = api.call("PUT", &path, Some(json!({ "merge_method": "squash" }))).await;
        times.push(begun.elapsed());
        assert_eq!(merged["merged"], true);
    }
    times.sort();
    println!(
        "squash-merge, {FILES} files, {MERGES} merges: median {:.1} ms, slowest {:.1} ms (goal: 200 ms)",
        millis(times[times.len() / 2]),
        millis(times[times.len() - 1])
    );
}

/// A `main` with [`FILES`] files and a branch for each merge, each changing one of them.
fn history() -> String {
    let mut script =
        String::from("commit refs/heads/main\ncommitter A <a@example.com> 1700000000 +0000\ndata 5\nstart\n");
    for file in 0..FILES {
        let content = format!("file {file}\n");
        let _ = write!(
            script,
            "M 100644 inline d{}/e{}/f{file}.txt\ndata {}\n{content}\n",
            file % 100,
            file % 1000,
            content.len()
        );
    }
    for branch in 1..=MERGES {
        let content = format!("changed {branch}\n");
        let file = branch * 997;
        let _ = write!(
            script,
            "commit refs/heads/change-{branch}\ncommitter A <a@example.com> 1700000001 +0000\ndata 6\nchange\nfrom refs/heads/main\n\
             M 100644 inline d{}/e{}/f{file}.txt\ndata {}\n{content}\n",
            file % 100,
            file % 1000,
            content.len()
        );
    }
    script
}

async fn requests(api: &Api, what: &str, path: &'static str) {
    let deadline = Instant::now() + LOAD;
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let api = api.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < deadline {
                    let begun = Instant::now();
                    api.call("GET", path, None).await;
                    times.push(begun.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for worker in workers {
        times.extend(worker.await.expect("the worker ends well"));
    }
    times.sort();
    println!(
        "{what}: {:.0} requests a second, median {:.2} ms, p99 {:.2} ms (goal: 300 a second)",
        times.len() as f64 / LOAD.as_secs_f64(),
        millis(times[times.len() / 2]),
        millis(times[times.len() * 99 / 100])
    );
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

async fn git(dir: &Path, args: &[&str], input: Option<String>) {
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child = Command::new("git").current_dir(dir).args(args).stdin(stdin).spawn().expect("git starts");
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        pipe.write_all(input.as_bytes()).await.expect("git reads");
    }
    assert!(child.wait().await.expect("git ends").success(), "git {args:?}");
}
