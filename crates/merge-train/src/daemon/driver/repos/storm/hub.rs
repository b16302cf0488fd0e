//! A GitHub whose clock stands still until it is moved, the people on it, and what they committed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

pub const MAIN: &str = "main";
/// A file that several pull requests may change lines of.
pub const SHARED: &str = "shared.txt";
const LINES: usize = 64;
/// People shout the name: faults are told to look for it as the daemon writes it, and so spare people.
const SHOUTED: &str = "/repos/OCTOCAT/hello";
const BOT: &str = "train-bot";
const REVIEWER: &str = "mona";
/// When every storm begins.
const BEGINNING: i64 = 1_767_225_600_000;
/// Times are whole multiples of it, so that no clock rounds them.
pub const GRAIN_MS: i64 = 125;

/// The simulator makes an app with a key of its own unless it is given one, and that takes its time.
static APP_KEY: LazyLock<String> = LazyLock::new(|| {
    let pair = KeyPair::generate(KeySize::Rsa2048).expect("a key");
    let der: Pkcs8V1Der<'_> = pair.as_der().expect("its encoding");
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der.as_ref()))
});

/// What a commit changes.
#[derive(Clone, Debug)]
pub enum Edit {
    /// A file that only this commit writes.
    File(String),
    /// A line of the file that all share.
    Line(usize, String),
}

/// A commit that somebody made.
pub struct Change {
    pub branch: String,
    pub sha: String,
    pub edit: Edit,
}

/// What everybody goes by, in milliseconds since 1970.
#[derive(Clone)]
pub struct Time(Arc<AtomicI64>);

impl Time {
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.ms()).expect("a time of this century")
    }

    pub fn ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub struct Hub {
    pub dir: TempDir,
    sim: github_sim::Running,
    described: Value,
    http: reqwest::Client,
    pub time: Time,
    tokens: BTreeMap<&'static str, String>,
    /// What people committed, in order.
    pub changes: Vec<Change>,
    /// The head of the default branch before anything was landed.
    pub origin: String,
}

impl Hub {
    /// With one repository that allows squashes only, has no rules and no CI.
    pub async fn new(seed: u64) -> Self {
        let place =
            if Path::new("/dev/shm").is_dir() { Path::new("/dev/shm").to_owned() } else { std::env::temp_dir() };
        let dir = tempfile::Builder::new().prefix("storm-").tempdir_in(place).expect("a folder");
        let key = dir.path().join("app.pem");
        std::fs::write(&key, APP_KEY.as_str()).expect("the key is written");
        let time = Time(Arc::new(AtomicI64::new(BEGINNING)));
        let sim = github_sim::start(github_sim::Options {
            seed: Some(seed),
            app_key: Some(key),
            stopped_at: Some(time.now()),
            webhook_url: Some("http://daemon.invalid/webhook".to_owned()),
            ..github_sim::Options::new(dir.path().join("sim"))
        });
        let sim = sim.await.expect("the simulator starts");
        let described = sim.description();
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().expect("a client");
        let owner = text(&described["users"][0]["token"]).to_owned();
        let tokens = BTreeMap::from([("octocat", owner)]);
        let mut hub = Self { dir, sim, described, http, time, tokens, changes: Vec::new(), origin: String::new() };
        hub.settle().await;
        hub
    }

    async fn settle(&mut self) {
        self.control(Method::PATCH, "/settings", json!({ "hold_webhooks": true })).await;
        let repository = json!({
            "name": "hello", "auto_init": true,
            "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false,
        });
        self.ask("octocat", Method::POST, "/user/repos", repository).await;
        // An administrator may merge whatever the rules say: it is the daemon that must wait for what is required.
        for (login, permission) in [(BOT, "admin"), (REVIEWER, "push")] {
            let made = self.control(Method::POST, "/users", json!({ "login": login })).await;
            self.tokens.insert(login, text(&made["token"]).to_owned());
            let path = format!("/collaborators/{login}");
            self.call(Method::PUT, &path, json!({ "permission": permission })).await;
        }
        self.put(MAIN, SHARED, &|_| shared_at_first()).await;
        self.origin = self.head(MAIN).await;
    }

    pub async fn stop(self) {
        self.sim.stop().await;
    }

    pub fn text(&self, name: &str) -> &str {
        text(&self.described[name])
    }

    pub fn bot_token(&self) -> &str {
        &self.tokens[BOT]
    }

    /// Where the simulator listens: another port for each run, so it must not be in anything that is kept.
    pub fn address(&self) -> String {
        self.sim.address().to_string()
    }

    /// Lets time pass, for everybody.
    pub async fn pass(&self, ms: i64) {
        assert_eq!(ms % GRAIN_MS, 0, "no clock rounds it");
        if ms > 0 {
            self.time.0.fetch_add(ms, Ordering::SeqCst);
            let seconds = ms as f64 / 1000.0;
            self.control(Method::POST, "/clock", json!({ "advance_seconds": seconds })).await;
        }
    }

    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        let url = format!("{}{path}", self.text("control_url"));
        self.send(self.http.request(method, url), body).await.expect("the simulator does as it is told")
    }

    async fn ask(&self, who: &str, method: Method, path: &str, body: Value) -> Value {
        self.try_ask(who, method, path, body).await.unwrap_or_else(|refusal| panic!("{who} {path}: {refusal}"))
    }

    async fn try_ask(&self, who: &str, method: Method, path: &str, body: Value) -> Result<Value, String> {
        let url = format!("{}{path}", self.text("api_url"));
        self.send(self.http.request(method, url).bearer_auth(&self.tokens[who]), body).await
    }

    async fn send(&self, mut request: reqwest::RequestBuilder, body: Value) -> Result<Value, String> {
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status();
        let answer = response.text().await.expect("a body");
        if status.is_success() {
            Ok(serde_json::from_str(&answer).unwrap_or_default())
        } else {
            Err(format!("{status} {answer}"))
        }
    }

    /// As the owner, in the repository.
    pub async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        self.ask("octocat", method, &format!("{SHOUTED}{path}"), body).await
    }

    /// The same where GitHub may have its reasons to refuse.
    pub async fn try_call(&self, method: Method, path: &str, body: Value) -> Result<Value, String> {
        self.try_ask("octocat", method, &format!("{SHOUTED}{path}"), body).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, Value::Null).await
    }

    /// The webhooks that came about since the last look.
    pub async fn deliveries(&self) -> Vec<Value> {
        let taken = self.control(Method::POST, "/deliveries/take", Value::Null).await;
        taken.as_array().expect("a list").clone()
    }

    /// A branch upon another, with these commits, and a pull request for it.
    pub async fn open(&mut self, branch: &str, base: &str, edits: &[Edit]) -> u64 {
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": self.head(base).await });
        self.call(Method::POST, "/git/refs", made).await;
        for edit in edits {
            self.commit(branch, edit.clone()).await;
        }
        let pull = json!({ "title": format!("Add {branch}"), "head": branch, "base": base });
        self.call(Method::POST, "/pulls", pull).await["number"].as_u64().expect("a number")
    }

    pub async fn head(&self, branch: &str) -> String {
        text(&self.get(&format!("/git/ref/heads/{branch}")).await["object"]["sha"]).to_owned()
    }

    pub async fn commit(&mut self, branch: &str, edit: Edit) {
        let sha = match &edit {
            Edit::File(path) => self.put(branch, path, &|_| content_of(path)).await,
            Edit::Line(at, text) => self.put(branch, SHARED, &|old| with_line(old, *at, text)).await,
        };
        self.changes.push(Change { branch: branch.to_owned(), sha, edit });
    }

    /// Gives a file the content that `change` makes of the one before, which is empty where there was none.
    async fn put(&self, branch: &str, path: &str, change: &(dyn Fn(&str) -> String + Sync)) -> String {
        let address = format!("/contents/{path}");
        let old = self.try_call(Method::GET, &format!("{address}?ref={branch}"), Value::Null).await.unwrap_or_default();
        let encoded: String = old["content"].as_str().unwrap_or_default().split_whitespace().collect();
        let before = String::from_utf8(STANDARD.decode(encoded).expect("base64")).expect("text");
        let content = STANDARD.encode(change(&before));
        let mut body = json!({ "message": format!("Write {path}"), "content": content, "branch": branch });
        if let Some(sha) = old["sha"].as_str() {
            body["sha"] = sha.into();
        }
        text(&self.call(Method::PUT, &address, body).await["commit"]["sha"]).to_owned()
    }

    /// Somebody writes under a pull request; the comment.
    pub async fn says(&self, number: u64, words: &str) -> u64 {
        let said = self.call(Method::POST, &format!("/issues/{number}/comments"), json!({ "body": words })).await;
        said["id"].as_u64().expect("a number")
    }

    /// Somebody who may approves it.
    pub async fn approve(&self, number: u64) {
        let path = format!("{SHOUTED}/pulls/{number}/reviews");
        self.ask(REVIEWER, Method::POST, &path, json!({ "event": "APPROVE" })).await;
    }

    /// CI says something of a commit.
    pub async fn check(&self, sha: &str, said: Value) {
        let mut body = json!({ "sha": sha, "name": "ci" });
        body.as_object_mut().expect("an object").extend(said.as_object().expect("an object").clone());
        self.control(Method::POST, "/repos/octocat/hello/checks", body).await;
    }

    /// Plain git on the simulator's own repository.
    pub async fn git(&self, words: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(self.repository()).args(words).stdin(Stdio::null()).kill_on_drop(true);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = command.output().await.expect("git runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {words:?}: {told}");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    fn repository(&self) -> PathBuf {
        let all = std::fs::read_dir(self.dir.path().join("sim/repositories")).expect("a folder");
        let found = all.map(|entry| entry.expect("an entry").path()).find(|path| path.extension().is_some());
        found.expect("the one repository")
    }
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// What is in a file that somebody added.
pub fn content_of(path: &str) -> String {
    format!("this is {path}\n")
}

pub fn shared_at_first() -> String {
    (0..LINES).map(|line| format!("line {line}\n")).collect()
}

pub fn with_line(old: &str, at: usize, text: &str) -> String {
    let lines = old.lines().enumerate();
    lines.map(|(line, old)| if line == at { format!("{text}\n") } else { format!("{old}\n") }).collect()
}
