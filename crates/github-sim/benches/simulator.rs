//! How fast the simulator is: `cargo bench -p github-sim`.
//!
//! 1. Squash-merges in a repository of 50,000 files: how long each takes to answer.
//! 2. Simple REST requests: how many a second, with client and simulator sharing the machine.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::api::Client;
use test_support::programs;

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
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let api = Client::first_user(http, &description);
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

async fn squash_merges(api: &Client, web: &str, dir: &Path) {
    api.call("POST", "/user/repos", json!({ "name": "large" })).await;
    let local = dir.join("large");
    git(dir, &["init", "--quiet", "--bare", "large"], None);
    git(&local, &["fast-import", "--quiet"], Some(history()));
    let url =
        web.replace("://", &format!("://octocat:{}@", api.token.as_deref().expect("a token"))) + "/octocat/large.git";
    git(&local, &["push", "--quiet", &url, "refs/heads/*:refs/heads/*"], None);
    let mut times = Vec::new();
    for number in 1..=MERGES {
        let pull = json!({ "title": format!("Change {number}"), "head": format!("change-{number}"), "base": "main" });
        api.call("POST", "/repos/octocat/large/pulls", pull).await;
        let begun = Instant::now();
        let path = format!("/repos/octocat/large/pulls/{number}/merge");
        let merged = api.call("PUT", &path, json!({ "merge_method": "squash" })).await;
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

async fn requests(api: &Client, what: &str, path: &'static str) {
    let deadline = Instant::now() + LOAD;
    let workers: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let api = api.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < deadline {
                    let begun = Instant::now();
                    api.call("GET", path, Value::Null).await;
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

fn git(dir: &Path, args: &[&str], input: Option<String>) {
    let mut command = programs::isolated("git", dir);
    command.args(args);
    let output = programs::run(command, input.unwrap_or_default().as_bytes());
    assert!(output.status.success(), "git {args:?}: {}", programs::printed(&output));
}
