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
        Client {
            http: self.octocat.http.clone(),
            base: self.octocat.base.clone(),
            login: login.into(),
            token: Some(token.into()),
        }
    }

    pub fn anonymous(&self) -> Client {
        Client { http: self.octocat.http.clone(), base: self.octocat.base.clone(), login: String::new(), token: None }
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
    let description = running.description();
    let user = &description["users"][0];
    Client {
        http: reqwest::Client::builder().timeout(Duration::from_secs(60)).no_proxy().build().expect("a client"),
        base: description["api_url"].as_str().expect("an address").to_owned(),
        login: user["login"].as_str().expect("a login").to_owned(),
        token: Some(user["token"].as_str().expect("a token").to_owned()),
    }
}

/// A caller of the API.
#[derive(Clone)]
pub struct Client {
    pub http: reqwest::Client,
    pub base: String,
    pub login: String,
    pub token: Option<String>,
}

impl Client {
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send("PATCH", path, Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, None).await
    }

    /// A GraphQL query that must succeed; its `data`.
    pub async fn graphql(&self, query: &str, variables: Value) -> Value {
        let answer = self.graphql_raw(query, variables).await.expect(200);
        assert!(answer.json.get("errors").is_none(), "{}", answer.json);
        answer.json["data"].clone()
    }

    pub async fn graphql_raw(&self, query: &str, variables: Value) -> Answer {
        let client = Self { base: self.base.replace("/api/v3", "/api"), ..self.clone() };
        client.post("/graphql", json!({ "query": query, "variables": variables })).await
    }

    pub async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.try_send(method, path, body, &[]).await.expect("an answer")
    }

    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
        headers: &[(&str, &str)],
    ) -> reqwest::Result<Answer> {
        let method = method.parse().expect("a method");
        let mut request =
            self.http.request(method, format!("{}{path}", self.base)).header("accept", "application/vnd.github+json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Ok(Answer { status, headers, json, text })
    }
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub json: Value,
    pub text: String,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Waits until `check` answers something, for ten seconds at most.
pub async fn eventually<T, F: Future<Output = Option<T>>>(what: &str, mut check: impl FnMut() -> F) -> T {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
