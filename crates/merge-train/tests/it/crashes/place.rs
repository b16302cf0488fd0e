//! Where a case happens: a GitHub of its own, begun from a copy, and the daemon that lives and dies on it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use reqwest::Method;
use serde_json::{Value, json};
use test_support::api::Client;

use crate::crashes::daemon::{Daemon, Started};
use crate::crashes::verify::trees;
use crate::support::{KEY, REPO, Setup, http};

/// Nothing waits for long, and snapshots are taken now and then in so short a life.
const CONFIG: &str =
    "[housekeeping]\npoll_interval_mins = 0.02\ncompact_after_events = 40\n[behavior]\nresync_interval_mins = 0.1\n";

/// A simulator's data before any daemon came, to begin many from.
pub struct Template {
    dir: tempfile::TempDir,
}

impl Template {
    /// `dir` holds the data of a simulator that has stopped.
    pub fn new(dir: tempfile::TempDir) -> Self {
        Self { dir }
    }
}

pub struct Place {
    dir: tempfile::TempDir,
    sim: github_sim::Running,
    described: Value,
    setup: Setup,
    http: reqwest::Client,
    daemon: Option<Daemon>,
    /// The tree of each branch in the beginning.
    pub first_trees: BTreeMap<String, String>,
    /// What daemons logged that are gone.
    logs: String,
    redelivered: BTreeSet<u64>,
}

impl Place {
    pub async fn from(template: &Template) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("sim");
        copy(&template.dir.path().join("sim"), &data);
        let sim = github_sim::start(github_sim::Options::new(&data)).await.expect("the simulator starts");
        let described = sim.description();
        let app = &described["app"];
        let github = format!(
            "[github]\napi_url = {}\ngraphql_url = {}\ngit_url = {}\napp_id = {}\nprivate_key_path = {}\n",
            described["api_url"], described["graphql_url"], described["git_url"], app["id"], app["private_key_path"]
        );
        let secret = app["webhook_secret"].as_str().expect("text").to_owned();
        let setup = Setup::new(dir.path()).github(github).secrets(&[&secret]).more(CONFIG);
        let first_trees = trees(&git_dir(dir.path())).await;
        let (logs, redelivered) = (String::new(), BTreeSet::new());
        Self { dir, sim, described, setup, http: http(), daemon: None, first_trees, logs, redelivered }
    }

    /// A daemon on whatever the last one left, armed like this. None where it is dead already.
    pub async fn start_daemon(&mut self, armed: &str) -> Option<()> {
        self.let_worktrees_age();
        match Daemon::start(&self.setup, armed, &self.reached()).await {
            Started::Running(daemon) => {
                let url = format!("{}/webhook", daemon.url);
                self.daemon = Some(daemon);
                self.control(Method::PATCH, "/app", json!({ "webhook_url": url })).await;
                Some(())
            }
            Started::Ended { log } => {
                self.logs.push_str(&log);
                assert!(!self.deaths().is_empty(), "it ended at once:\n{log}");
                None
            }
        }
    }

    /// As if the last daemon had died long ago: what it left behind is old enough to be swept.
    fn let_worktrees_age(&self) {
        let long_ago = SystemTime::now() - Duration::from_secs(7 * 24 * 60 * 60);
        for entry in std::fs::read_dir(self.worktrees()).into_iter().flatten() {
            let folder = std::fs::File::open(entry.expect("an entry").path()).expect("a folder");
            folder.set_modified(long_ago).expect("a date");
        }
    }

    pub fn is_daemon_alive(&mut self) -> bool {
        self.daemon.as_mut().is_some_and(Daemon::is_alive)
    }

    /// Notices that the daemon is gone.
    pub fn bury(&mut self) {
        self.logs.extend(self.daemon.take().map(|daemon| daemon.log()));
    }

    /// Asks the daemon to end. Whether it did so, or died of it.
    pub async fn stop_daemon(&mut self) -> bool {
        let daemon = self.daemon.as_mut().expect("a daemon runs");
        let ended = daemon.stop().await;
        self.bury();
        ended.success()
    }

    /// What all daemons logged.
    pub fn log(&self) -> String {
        let now = self.daemon.as_ref().map(Daemon::log).unwrap_or_default();
        format!("{}{now}", self.logs)
    }

    fn reached(&self) -> PathBuf {
        self.dir.path().join("reached")
    }

    /// Every point that was passed, in that order.
    pub fn passed(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.reached()).unwrap_or_default();
        text.lines().filter(|line| !line.starts_with(DIED)).map(str::to_owned).collect()
    }

    /// Where daemons died.
    pub fn deaths(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.reached()).unwrap_or_default();
        text.lines().filter_map(|line| line.strip_prefix(DIED)).map(str::to_owned).collect()
    }

    pub fn state_dir(&self) -> PathBuf {
        self.setup.state_dir()
    }

    /// Where the worktrees of the repository are.
    pub fn worktrees(&self) -> PathBuf {
        self.setup.clones().join(REPO.replace('/', "-")).join("worktrees")
    }

    /// The repository as GitHub has it.
    pub fn git_dir(&self) -> PathBuf {
        git_dir(self.dir.path())
    }

    pub async fn stop_sim(self) {
        self.sim.stop().await;
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let owner = Client::first_user(self.http.clone(), &self.described);
        owner.call(method.as_str(), &format!("/repos/{REPO}{path}"), body).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, Value::Null).await
    }

    /// What only GitHub itself can do.
    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        Client::control(self.http.clone(), &self.described).call(method.as_str(), path, body).await
    }

    /// What the daemon knows of the repository; nothing where it is dead, or has heard nothing.
    pub async fn state(&self) -> Value {
        let Some(daemon) = &self.daemon else { return Value::Null };
        let url = format!("{}/api/v1/repos/{REPO}/state?events=0", daemon.url);
        match self.http.get(url).bearer_auth(KEY).send().await {
            Ok(response) if response.status() == 200 => response.json().await.unwrap_or_default(),
            _ => Value::Null,
        }
    }

    /// Asks the daemon for something, under a name by which it knows a repetition. Whether it has answered.
    pub async fn ask_daemon(&self, path: &str, key: &str) -> bool {
        let Some(daemon) = &self.daemon else { return false };
        let url = format!("{}/api/v1/repos/{REPO}{path}", daemon.url);
        let asked = self.http.post(url).bearer_auth(KEY).header("x-idempotency-key", key).send().await;
        asked.is_ok_and(|response| response.status() == 202)
    }

    /// Sends what a dead daemon did not take once more, as an operator can.
    pub async fn redeliver(&mut self) {
        let all = self.control(Method::GET, "/deliveries", Value::Null).await;
        for delivery in all.as_array().expect("a list") {
            let id = delivery["id"].as_u64().expect("a number");
            let failed = delivery["state"] == "done" && delivery["status_code"] != 202;
            if failed && self.redelivered.insert(id) {
                self.control(Method::POST, &format!("/deliveries/{id}/redeliver"), Value::Null).await;
            }
        }
    }

    /// Whether everything that GitHub had to tell was taken.
    pub async fn all_told(&self) -> bool {
        let all = self.control(Method::GET, "/deliveries", Value::Null).await;
        all.as_array().expect("a list").iter().all(|delivery| {
            let id = delivery["id"].as_u64().expect("a number");
            delivery["status_code"] == 202 || self.redelivered.contains(&id)
        })
    }
}

const DIED: &str = "killed at ";

fn git_dir(dir: &Path) -> PathBuf {
    let all = std::fs::read_dir(dir.join("sim/repositories")).expect("repositories");
    all.map(|entry| entry.expect("an entry").path()).find(|path| path.is_dir()).expect("a repository")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("a type").is_dir() {
            copy(&source, &target);
        } else {
            std::fs::copy(&source, &target).expect("copied");
        }
    }
}
