//! A GitHub for the program to talk to.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use test_support::api::Client;

use super::{Daemon, Setup, http};

/// The one repository in it.
pub const REPO: &str = "octocat/hello";

/// A simulated GitHub with one repository, and the configuration of a daemon that is its app.
pub struct World {
    pub dir: tempfile::TempDir,
    pub sim: github_sim::Running,
    pub described: Value,
    pub setup: Setup,
}

impl World {
    /// With that daemon running.
    pub async fn new() -> (Self, Daemon) {
        let world = Self::without_daemon().await;
        let daemon = world.setup.start().await;
        world.aim_at(&daemon).await;
        (world, daemon)
    }

    pub async fn without_daemon() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("sim");
        let options = github_sim::Options { seed: Some(7), ..github_sim::Options::new(&data) };
        let sim = github_sim::start(options).await.expect("the simulator starts");
        let described: Value =
            serde_json::from_slice(&std::fs::read(data.join("sim.json")).expect("sim.json")).expect("JSON");
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let app = &described["app"];
        let github = format!(
            "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\napp_id = {}\nprivate_key_path = {}\n",
            described["api_url"], described["graphql_url"], described["git_url"], app["id"], app["private_key_path"]
        );
        let secret = text(&app["webhook_secret"]);
        let setup = Setup::new(dir.path()).github(github).secrets(&[&secret]);
        let world = Self { dir, sim, described, setup };
        world.call(Method::POST, "/user/repos", json!({ "name": "hello", "auto_init": true })).await;
        world
    }

    /// The token of the first user, who owns the repository.
    pub fn token(&self) -> &str {
        self.described["users"][0]["token"].as_str().expect("a token")
    }

    /// The app's webhooks go to this daemon.
    pub async fn aim_at(&self, daemon: &Daemon) {
        self.control(Method::PATCH, "/app", json!({ "webhook_url": format!("{}/webhook", daemon.url) })).await;
    }

    /// The first user.
    pub fn owner(&self) -> Client {
        Client::first_user(http(), &self.described)
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        self.owner().call(method.as_str(), path, body).await
    }

    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        Client::control(http(), &self.described).call(method.as_str(), path, body).await
    }

    /// Pull requests of the repository land in no other way than squashed.
    pub async fn squash_only(&self) {
        let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
        self.call(Method::PATCH, &format!("/repos/{REPO}"), settings).await;
    }

    pub async fn fault(&self, fault: Value) {
        self.control(Method::POST, "/faults", fault).await;
    }

    /// A branch with a change of its own, and a pull request for it.
    pub async fn open_pull(&self, branch: &str, base: &str) -> u64 {
        let head = self.call(Method::GET, &format!("/repos/{REPO}/git/ref/heads/{base}"), Value::Null).await;
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": head["object"]["sha"] });
        self.call(Method::POST, &format!("/repos/{REPO}/git/refs"), made).await;
        self.push(branch, "one").await;
        let pull = json!({ "title": branch, "head": branch, "base": base });
        self.call(Method::POST, &format!("/repos/{REPO}/pulls"), pull).await["number"].as_u64().expect("a number")
    }

    pub async fn push(&self, branch: &str, name: &str) {
        self.write(branch, &format!("{branch}-{name}.txt"), "a").await;
    }

    /// A commit on a branch that gives a file this content.
    pub async fn write(&self, branch: &str, path: &str, content: &str) {
        let address = format!("/repos/{REPO}/contents/{path}");
        let listed = self.call(Method::GET, &format!("/repos/{REPO}/git/trees/{branch}"), Value::Null).await;
        let old = listed["tree"].as_array().expect("a list").iter().find(|entry| entry["path"] == path);
        let mut change =
            json!({ "message": format!("Write {path}"), "content": STANDARD.encode(content), "branch": branch });
        if let Some(old) = old {
            change["sha"] = old["sha"].clone();
        }
        self.call(Method::PUT, &address, change).await;
    }

    pub async fn comment(&self, number: u64, body: &str) {
        self.call(Method::POST, &format!("/repos/{REPO}/issues/{number}/comments"), json!({ "body": body })).await;
    }

    /// What is true on GitHub: state, head and base of each pull request.
    pub async fn truth(&self) -> BTreeMap<String, [String; 3]> {
        let pulls = self.call(Method::GET, &format!("/repos/{REPO}/pulls?state=all&per_page=100"), Value::Null).await;
        let shown = |pull: &Value| {
            let state = if pull["merged_at"].is_null() { pull["state"].as_str() } else { Some("merged") };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            [state.unwrap_or_default().to_owned(), text(&pull["head"]["sha"]), text(&pull["base"]["ref"])]
        };
        pulls.as_array().expect("a list").iter().map(|pull| (pull["number"].to_string(), shown(pull))).collect()
    }

    pub async fn deliveries(&self) -> Vec<Value> {
        let listed = self.control(Method::GET, "/deliveries", Value::Null).await;
        listed.as_array().cloned().or_else(|| listed["deliveries"].as_array().cloned()).expect("a list")
    }
}
