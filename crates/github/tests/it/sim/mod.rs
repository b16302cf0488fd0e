//! The client against the real simulator: what it asks is understood, and what people do is seen.

mod glance;
mod talk;
mod webhooks;
mod wishes;

use std::time::Duration;

use github::{Auth, Client, Config, Limits, Repo, Secret};
use merge_train_core::ids::{PrNumber, RepoId};
use serde_json::{Value, json};
pub use test_support::api::Client as Person;

/// A simulator with people, and merge-train as its app.
pub struct World {
    running: github_sim::Running,
    _dir: tempfile::TempDir,
    pub octocat: Person,
    pub client: Client,
}

impl World {
    pub async fn new() -> Self {
        Self::with(None).await
    }

    /// One whose webhooks wait to be taken.
    pub async fn with_held_webhooks() -> Self {
        let world = Self::with(Some("http://127.0.0.1:9/webhook".to_owned())).await;
        world.control("PATCH", "/settings", json!({ "hold_webhooks": true })).await;
        world
    }

    async fn with(webhook_url: Option<String>) -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let options = github_sim::Options { seed: Some(7), webhook_url, ..github_sim::Options::new(dir.path()) };
        let running = github_sim::start(options).await.expect("the simulator starts");
        let description = running.description();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let key = std::fs::read_to_string(text(&description["app"]["private_key_path"])).expect("the app's key");
        let app_id = description["app"]["id"].as_u64().expect("an id");
        let mut config = Config::new(Auth::App { app_id, private_key_pem: Secret::new(key), installation_id: None });
        config.api_url = text(&description["api_url"]);
        config.graphql_url = text(&description["graphql_url"]);
        config.limits = Limits { backoff: Duration::from_millis(1), ..Limits::default() };
        let http = reqwest::Client::builder().user_agent("test").no_proxy().build().expect("a client");
        let octocat = Person::first_user(http, &description);
        Self { running, _dir: dir, octocat, client: Client::new(&config).expect("a client") }
    }

    pub async fn control(&self, method: &str, path: &str, body: Value) -> Value {
        Person::control(self.octocat.http.clone(), &self.running.description()).call(method, path, body).await
    }

    /// Another person, who may write to octocat's repository.
    pub async fn person(&self, login: &str, repo: &RepoId) -> Person {
        let token = self.control("POST", "/users", json!({ "login": login })).await["token"].clone();
        let path = format!("/repos/{repo}/collaborators/{login}");
        self.octocat.call("PUT", &path, json!({ "permission": "push" })).await;
        self.octocat.with_token(login, token.as_str().expect("a token"))
    }

    /// GitHub's times are whole seconds: what happens after this has another.
    pub async fn a_second_later(&self) {
        self.control("POST", "/clock", json!({ "advance_seconds": 1 })).await;
    }

    /// A repository of octocat's with so many pull requests.
    pub async fn repo(&self, name: &str, pulls: u64) -> Repo {
        self.octocat.call("POST", "/user/repos", json!({ "name": name, "auto_init": true })).await;
        let path = format!("/repos/octocat/{name}");
        let main = self.octocat.call("GET", &format!("{path}/git/ref/heads/main"), Value::Null).await;
        for number in 1..=pulls {
            let branch = format!("change-{number}");
            let new = json!({ "ref": format!("refs/heads/{branch}"), "sha": main["object"]["sha"] });
            self.octocat.call("POST", &format!("{path}/git/refs"), new).await;
            // "one\ntwo\nthree\n"
            let file = json!({ "message": "Add it", "content": "b25lCnR3bwp0aHJlZQo=", "branch": branch });
            self.octocat.call("PUT", &format!("{path}/contents/{branch}.txt"), file).await;
            let new = json!({ "title": format!("Change {number}"), "head": branch, "base": "main" });
            self.octocat.call("POST", &format!("{path}/pulls"), new).await;
        }
        let id: RepoId = format!("octocat/{name}").parse().expect("a repository");
        self.client.repo(&id)
    }

    pub async fn stop(self) {
        self.running.stop().await;
    }
}

/// A comment at the first line of what the first pull request adds; its number.
pub async fn remark(person: &Person, repo: &Repo, body: &str) -> u64 {
    let pull = format!("/repos/{}/pulls/1", repo.id());
    let head = person.call("GET", &pull, Value::Null).await["head"]["sha"].clone();
    let new = json!({ "body": body, "commit_id": head, "path": "change-1.txt", "line": 1 });
    person.call("POST", &format!("{pull}/comments"), new).await["id"].as_u64().expect("an id")
}

/// A review of the first pull request.
pub async fn review(person: &Person, repo: &Repo, event: &str, body: &str) -> Value {
    let path = format!("/repos/{}/pulls/1/reviews", repo.id());
    person.call("POST", &path, json!({ "event": event, "body": body })).await
}

pub const FIRST: PrNumber = PrNumber::new(1);
