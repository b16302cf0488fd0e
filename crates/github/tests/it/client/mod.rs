mod app_auth;
mod conditional;
mod errors;
mod glance;
mod graphql;
mod logs;
mod merge_states;
mod merging;
mod paging;
mod reading;
mod subject;
mod survey;

use std::sync::Arc;
use std::time::Duration;

use github::{Auth, Client, Config, Limits, Repo, Secret, Timeouts};
use merge_train_core::ids::RepoId;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::server::{Reply, Sent, Server};

pub const TOKEN: &str = "ghp_secret";

pub fn widgets() -> RepoId {
    "acme/widgets".parse().expect("a repository")
}

/// As impatient as a test should be.
pub fn config(server: &Server, auth: Auth) -> Config {
    let mut config = Config::new(auth);
    config.api_url = format!("{}/api/v3/", server.url);
    config.graphql_url = format!("{}/api/graphql", server.url);
    config.timeouts = Timeouts { connect: Duration::from_secs(5), request: Duration::from_secs(10) };
    config.limits = Limits { backoff: Duration::from_millis(1), circuit_failures: 100, ..Limits::default() };
    config
}

/// A repository seen with a personal token, on a server that answers by `script`; paths come without `/api/v3`.
pub async fn repo(script: impl Fn(&Sent) -> Reply + Send + Sync + 'static) -> (Server, Repo) {
    repo_with(|_| (), script).await
}

pub async fn repo_with(
    change: impl FnOnce(&mut Config),
    script: impl Fn(&Sent) -> Reply + Send + Sync + 'static,
) -> (Server, Repo) {
    let server = Server::start(script).await;
    let mut config = config(&server, Auth::Token(Secret::new(TOKEN)));
    change(&mut config);
    let repo = Client::new(&config).expect("the token and the addresses are good").repo(&widgets());
    (server, repo)
}

/// The path of something in the repository.
pub fn at(path: &str) -> String {
    format!("/api/v3/repos/acme/widgets{path}")
}

pub fn settings() -> Value {
    json!({
        "id": 1, "full_name": "acme/widgets", "default_branch": "main", "private": true,
        "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false,
        "delete_branch_on_merge": true, "squash_merge_commit_title": "PR_TITLE",
    })
}

pub fn pull(number: u64, state: &str, updated_at: &str) -> Value {
    let repo = json!({"id": 1, "full_name": "acme/widgets"});
    json!({
        "number": number, "state": state, "draft": false, "user": {"id": 9, "login": "mona"}, "title": "Add it",
        "merged_at": null, "closed_at": null, "merge_commit_sha": null, "updated_at": updated_at,
        "head": {"ref": format!("branch-{number}"), "sha": format!("aaaa{number}"), "repo": repo},
        "base": {"ref": "main", "sha": "bbbb", "repo": repo},
    })
}

/// The address of a server that is only known once it runs.
#[derive(Clone, Default)]
pub struct Late(Arc<Mutex<String>>);

impl Late {
    pub fn set(&self, url: &str) {
        *self.0.lock() = url.to_owned();
    }

    pub fn get(&self) -> String {
        self.0.lock().clone()
    }
}
