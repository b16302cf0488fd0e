//! The simulator and the daemon, as somebody outside calls them.

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// What has not answered by then does not.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A user of the simulator, at work in one repository.
#[derive(Clone)]
pub struct SimulatorApi {
    http: reqwest::Client,
    api_url: String,
    control_url: String,
    pub login: String,
    pub token: String,
    /// `owner/name`.
    pub repo: String,
}

impl SimulatorApi {
    /// The first user that the simulator knows, in a repository of that name among theirs.
    pub fn new(described: &Value, name: &str) -> anyhow::Result<Self> {
        let text = |pointer: &str| {
            let found = described.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            found.with_context(|| format!("the simulator's description lacks {pointer}"))
        };
        let login = text("/users/0/login")?;
        Ok(Self {
            http: client()?,
            api_url: text("/api_url")?,
            control_url: text("/control_url")?,
            repo: format!("{login}/{name}"),
            login,
            token: text("/users/0/token")?,
        })
    }

    /// A new user, in the same repository.
    pub async fn with_new_user(&self, login: &str) -> anyhow::Result<Self> {
        let user = self.control("POST", "/users", json!({ "login": login })).await?;
        let token = user["token"].as_str().context("a new user has a token")?.to_owned();
        Ok(Self { login: login.to_owned(), token, ..self.clone() })
    }

    pub async fn call(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        send(&self.http, method, &format!("{}{path}", self.api_url), &self.token, body).await
    }

    /// The same for a path below the repository.
    pub async fn in_repo(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        send(&self.http, method, &self.url(path), &self.token, body).await
    }

    /// The address of a path below the repository.
    pub fn url(&self, path: &str) -> String {
        format!("{}/repos/{}{path}", self.api_url, self.repo)
    }

    pub async fn control(&self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        send(&self.http, method, &format!("{}{path}", self.control_url), &self.token, body).await
    }

    /// Says something on a pull request; the id of the comment.
    pub async fn comment(&self, pull: u64, body: &str) -> anyhow::Result<u64> {
        let comment = self.in_repo("POST", &format!("/issues/{pull}/comments"), json!({ "body": body })).await?;
        comment["id"].as_u64().context("a comment has an id")
    }
}

/// A client for what runs on this machine, where no proxy can reach.
pub fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()
}

/// The JSON that comes back; null where there is none.
pub async fn send(http: &reqwest::Client, method: &str, url: &str, token: &str, body: Value) -> anyhow::Result<Value> {
    let mut request = http.request(method.parse()?, url).bearer_auth(token);
    if !body.is_null() {
        request = request.json(&body);
    }
    let response = request.send().await?;
    let (status, text) = (response.status(), response.text().await?);
    if !status.is_success() {
        bail!("{method} {url} answered {status}: {text}");
    }
    Ok(serde_json::from_str(&text).unwrap_or_default())
}
