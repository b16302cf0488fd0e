//! One simulator per test, spoken to as its users do.

#![allow(dead_code, reason = "every test uses another part of it")]

mod app;
mod git;
mod receiver;

pub use app::app_token;
pub use git::Clone;
pub use receiver::{Receiver, Webhook};

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
pub use test_support::api::{Answer, Client};
use test_support::wait::within;

/// A running simulator with an empty data directory. What it answered is checked against GitHub's API description by
/// [`World::finish`]; a test that ends without it fails to show that.
pub struct World {
    running: Option<github_sim::Running>,
    pub dir: tempfile::TempDir,
    pub octocat: Client,
}

impl World {
    pub async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let running = github_sim::start(options(dir.path())).await.expect("the simulator starts");
        let octocat = first_user(&running);
        Self { running: Some(running), dir, octocat }
    }

    /// Stops it and starts it again on the same data.
    pub async fn restart(&mut self) {
        self.running.take().expect("running").stop().await;
        let running = github_sim::start(options(self.dir.path())).await.expect("the simulator starts again");
        self.octocat = first_user(&running);
        self.running = Some(running);
    }

    pub fn running(&self) -> &github_sim::Running {
        self.running.as_ref().expect("running")
    }

    pub fn url(&self) -> String {
        self.running().urls().web("")
    }

    pub fn record_path(&self) -> PathBuf {
        record_path(self.dir.path())
    }

    /// Another person.
    pub async fn user(&self, login: &str) -> Client {
        let answer = self.control("POST", "/users", json!({ "login": login })).await;
        self.with_token(login, answer.json["token"].as_str().expect("a token"))
    }

    pub fn with_token(&self, login: &str, token: &str) -> Client {
        self.octocat.with_token(login, token)
    }

    pub fn anonymous(&self) -> Client {
        Client { login: String::new(), token: None, ..self.octocat.clone() }
    }

    /// The simulator's own API.
    pub async fn control(&self, method: &str, path: &str, body: Value) -> Answer {
        let client = Client { base: format!("{}/_sim", self.url()), ..self.anonymous() };
        client.send(method, path, Some(body)).await
    }

    /// A repository of octocat's with a first commit on `main`.
    pub async fn repo(&self, name: &str) -> Clone {
        self.octocat.post("/user/repos", json!({ "name": name, "auto_init": true })).await.expect(201);
        self.clone_of("octocat", name).await
    }

    /// A real clone with octocat's credentials.
    pub async fn clone_of(&self, owner: &str, name: &str) -> Clone {
        Clone::new(&self.url(), &self.octocat, owner, name).await
    }

    /// Opens a pull request of octocat's that adds `file` on a branch of the same name.
    pub async fn pull(&self, clone: &Clone, branch: &str, base: &str) -> u64 {
        clone.commit_on(branch, base, &[(&format!("{branch}.txt"), branch)], &format!("Add {branch}")).await;
        clone.push(branch).await;
        let body = json!({ "title": format!("Add {branch}"), "head": branch, "base": base, "body": format!("About {branch}.") });
        let answer = self.octocat.post(&format!("/repos/{}/pulls", clone.full_name()), body).await.expect(201);
        answer.json["number"].as_u64().expect("a number")
    }

    /// Stops the simulator and checks all it answered and sent.
    pub async fn finish(mut self) {
        self.running.take().expect("running").stop().await;
        crate::conformance::check(&self.record_path());
    }
}

fn options(dir: &Path) -> github_sim::Options {
    github_sim::Options { seed: Some(7), record: Some(record_path(dir)), ..github_sim::Options::new(dir.join("data")) }
}

fn record_path(dir: &Path) -> PathBuf {
    dir.join("record.jsonl")
}

fn first_user(running: &github_sim::Running) -> Client {
    let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).no_proxy().build().expect("a client");
    Client::first_user(http, &running.description())
}

/// Waits until `check` answers something, for ten seconds at most.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, check: impl FnMut() -> F) -> T {
    within(Duration::from_secs(10), what, check).await.unwrap_or_else(|never| panic!("{never}"))
}
