//! Somebody who sends webhooks as GitHub does.

use aws_lc_rs::hmac;
use reqwest::Response;
use serde_json::{Value, json};

use super::daemon::SECRET;
use super::http;

#[derive(Clone)]
pub struct Sender {
    url: String,
    http: reqwest::Client,
}

impl Sender {
    pub fn to(url: &str) -> Self {
        Self { url: format!("{url}/webhook"), http: http() }
    }

    /// An error where nobody answered: then nobody knows whether it arrived.
    pub async fn send(&self, event: &str, delivery: &str, payload: &Value) -> reqwest::Result<Response> {
        let body = payload.to_string();
        let signature = sign(SECRET, body.as_bytes());
        self.send_signed(event, delivery, &signature, body).await
    }

    pub async fn send_signed(
        &self,
        event: &str,
        delivery: &str,
        signature: &str,
        body: String,
    ) -> reqwest::Result<Response> {
        let request = self.http.post(&self.url).header("content-type", "application/json");
        let request = request.header("x-github-event", event).header("x-github-delivery", delivery);
        request.header("x-hub-signature-256", signature).body(body).send().await
    }
}

pub fn sign(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("sha256={}", hex::encode(hmac::sign(&key, body)))
}

/// A `pull_request` event with all that merge-train reads of it.
pub fn pull_request(repo: &str, number: u64, action: &str, head: u64, second: u64) -> Value {
    let (owner, name) = repo.split_once('/').expect("owner/name");
    let repository = json!({ "id": 1, "name": name, "full_name": repo, "default_branch": "main", "owner": { "login": owner, "id": 1 } });
    let time = format!("2026-01-01T{:02}:{:02}:{:02}Z", second / 3600 % 24, second / 60 % 60, second % 60);
    json!({
        "action": action,
        "number": number,
        "pull_request": {
            "id": number, "number": number, "state": "open", "draft": false, "merged": false,
            "merged_at": null, "closed_at": null, "merge_commit_sha": null,
            "title": "One", "user": { "login": "dev", "id": 7 },
            "head": { "ref": format!("feature-{number}"), "sha": format!("{head:040x}"), "repo": repository.clone() },
            "base": { "ref": "main", "sha": format!("{:040x}", 1), "repo": repository.clone() },
            "created_at": "2026-01-01T00:00:00Z", "updated_at": time
        },
        "repository": repository,
        "sender": { "login": "dev", "id": 7 }
    })
}

/// An `issue_comment` event.
pub fn comment(repo: &str, number: u64, id: u64, action: &str, body: &str, updated_at: &str) -> Value {
    let pull = pull_request(repo, number, "opened", 1, 0);
    json!({
        "action": action,
        "issue": { "number": number, "user": { "login": "dev", "id": 7 }, "pull_request": { "url": "http://127.0.0.1:9/" } },
        "comment": {
            "id": id, "body": body, "user": { "login": "dev", "id": 7 },
            "created_at": "2026-01-01T00:00:00Z", "updated_at": updated_at
        },
        "repository": pull["repository"],
        "sender": { "login": "dev", "id": 7 }
    })
}
