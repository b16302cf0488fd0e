//! Webhooks as GitHub sends them.

use merge_train_core::ids::{DeliveryId, RepoId, StreamId};
use merge_train_core::inbox::{Key, RequestHash, Source};
use serde_json::{Value, json};
use store::{Arrival, Priority, Route};

use super::super::Urgency;
use crate::clock;

/// A delivery on its way to us.
#[derive(Clone)]
pub struct Webhook {
    pub repo: RepoId,
    pub delivery: String,
    event: &'static str,
    priority: Priority,
    body: Vec<u8>,
}

impl Webhook {
    /// Somebody says something on a pull request; user 7, who is the author of them all.
    pub fn comment(repo: &RepoId, pr: u64, id: u64, body: &str) -> Self {
        let user = json!({ "login": "dev", "id": 7 });
        let payload = json!({
            "action": "created",
            "issue": { "number": pr, "user": user, "pull_request": { "url": "http://127.0.0.1:9/" } },
            "comment": {
                "id": id, "body": body, "user": user,
                "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"
            },
            "repository": repository(repo),
            "sender": user
        });
        Self::new(repo, "issue_comment", format!("comment-{id}"), &payload)
    }

    /// The author wants the train of this pull request to halt.
    pub fn stop(repo: &RepoId, pr: u64, id: u64) -> Self {
        Self { priority: Priority::Stop, ..Self::comment(repo, pr, id, "@merge-train stop") }
    }

    /// A pull request was opened, with a head of the same number.
    pub fn opened(repo: &RepoId, pr: u64) -> Self {
        let user = json!({ "login": "dev", "id": 7 });
        let payload = json!({
            "action": "opened",
            "number": pr,
            "pull_request": {
                "id": pr, "number": pr, "state": "open", "draft": false, "merged": false,
                "merged_at": null, "closed_at": null, "merge_commit_sha": null,
                "title": "One", "user": user,
                "head": { "ref": format!("feature-{pr}"), "sha": format!("{pr:040x}"), "repo": repository(repo) },
                "base": { "ref": "main", "sha": format!("{:040x}", 1), "repo": repository(repo) },
                "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"
            },
            "repository": repository(repo),
            "sender": user
        });
        Self::new(repo, "pull_request", format!("opened-{pr}"), &payload)
    }

    /// Says that it is a `pull_request` event, and is not.
    pub fn nonsense(repo: &RepoId, delivery: &str) -> Self {
        Self::new(repo, "pull_request", delivery.to_owned(), &json!({ "action": "opened", "pull_request": "none" }))
    }

    /// Says that it is another event than it is: the name is not part of what GitHub signs.
    pub fn called(self, event: &'static str) -> Self {
        Self { event, ..self }
    }

    fn new(repo: &RepoId, event: &'static str, delivery: String, payload: &Value) -> Self {
        let body = payload.to_string().into_bytes();
        Self { repo: repo.clone(), delivery, event, priority: Priority::Normal, body }
    }

    pub fn key(&self) -> Key {
        Key::github(&DeliveryId::parse(self.delivery.as_str()).unwrap())
    }

    pub fn urgency(&self) -> Urgency {
        if self.priority == Priority::Stop { Urgency::Alarm } else { Urgency::Usual }
    }

    pub fn arrival(&self) -> Arrival {
        Arrival {
            tenant: self.repo.tenant(),
            key: self.key(),
            source: Source::GithubWebhook,
            hash: RequestHash::of(&self.body),
            received_at: clock::now(),
            route: Route::Stream {
                stream: StreamId::Repo(self.repo.clone()),
                priority: self.priority,
                label: self.event.to_owned(),
                body: self.body.clone(),
            },
        }
    }
}

fn repository(repo: &RepoId) -> Value {
    let (owner, name) = (repo.owner(), repo.name());
    json!({
        "id": 1, "name": name, "full_name": format!("{owner}/{name}"), "default_branch": "main",
        "owner": { "login": owner, "id": 1 }
    })
}
