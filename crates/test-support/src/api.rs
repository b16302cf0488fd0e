//! Callers of a simulated GitHub.

use reqwest::header::HeaderMap;
use serde_json::{Value, json};

/// A caller of the API.
#[derive(Clone)]
pub struct Client {
    pub http: reqwest::Client,
    /// What the paths are added to.
    pub base: String,
    pub login: String,
    pub token: Option<String>,
}

impl Client {
    /// The first user of the simulator that describes itself so.
    pub fn first_user(http: reqwest::Client, description: &Value) -> Self {
        let user = &description["users"][0];
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        Self {
            http,
            base: text(&description["api_url"]),
            login: text(&user["login"]),
            token: Some(text(&user["token"])),
        }
    }

    /// A caller of the simulator's own API, for what only GitHub itself can do.
    pub fn control(http: reqwest::Client, description: &Value) -> Self {
        let base = description["control_url"].as_str().expect("an address").to_owned();
        Self { http, base, login: String::new(), token: None }
    }

    /// Somebody else, at the same address.
    pub fn with_token(&self, login: &str, token: &str) -> Self {
        Self { login: login.to_owned(), token: Some(token.to_owned()), ..self.clone() }
    }

    /// A call that must succeed; the JSON of its answer. `null` is no body.
    pub async fn call(&self, method: &str, path: &str, body: Value) -> Value {
        let body = Some(body).filter(|body| !body.is_null());
        let answer = self.send(method, path, body).await;
        let Answer { status, text, .. } = &answer;
        assert!((200..300).contains(status), "{} {method} {path}: {status} {text}", self.login);
        answer.json
    }

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

/// What a call was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
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
