//! Whoever says of commits whether they pass.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Repo;

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A CI that goes on until it is dropped.
pub struct Ci(JoinHandle<()>);

impl Ci {
    /// The check `ci` passes on every head of the branches whose names begin like this; of others it says nothing.
    pub fn passing(repo: &Arc<Repo>, prefix: &'static str) -> Self {
        Self::by(repo, move |repo, branch, sha| {
            if branch.starts_with(prefix) {
                tokio::spawn(async move { repo.check(&sha, "ci", json!({ "conclusion": "success" })).await });
            }
        })
    }

    /// Does something for each head that a pull request has or gets.
    pub fn by(repo: &Arc<Repo>, mut begin: impl FnMut(Arc<Repo>, String, String) + Send + 'static) -> Self {
        let repo = Arc::clone(repo);
        Self(tokio::spawn(async move {
            let mut seen = BTreeSet::new();
            loop {
                for pull in repo.all_pulls().await.iter().filter(|pull| pull["state"] == "open") {
                    let text = |value: &Value| value.as_str().expect("text").to_owned();
                    let (branch, sha) = (text(&pull["head"]["ref"]), text(&pull["head"]["sha"]));
                    if seen.insert(sha.clone()) {
                        begin(Arc::clone(&repo), branch, sha);
                    }
                }
                tokio::time::sleep(BETWEEN_LOOKS).await;
            }
        }))
    }
}

impl Drop for Ci {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Repo {
    /// Says of a check on a commit what it is: `conclusion`, `status` or `state`, and how it is reported.
    pub async fn check(&self, sha: &str, name: &str, said: Value) {
        let mut body = json!({ "sha": sha, "name": name });
        body.as_object_mut().expect("an object").extend(said.as_object().expect("an object").clone());
        self.control(Method::POST, "/checks", body).await;
    }
}
