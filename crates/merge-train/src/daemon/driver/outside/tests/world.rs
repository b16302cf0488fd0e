//! A simulated GitHub with one repository, and merge-train's hands on it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use git::repository::{Extent, Settings};
use git::{Committer, Git, Signing};
use github::{Auth, Client, Config, Secret};
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use merge_train_core::repo::trains::message::SquashMessageTemplates;
use merge_train_core::repo::trains::work::{
    BranchMergeOutcome, BranchPush, MergeEndpoint, MergeStep, PushKind, PushOutcome, SquashOutcome, TrainTask,
    TrainTaskOutcome,
};
use merge_train_core::repo::{Answer, Effect, EffectFailure, trains};
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::super::{GithubOutside, OutsideWorld};
use crate::clock;
use crate::daemon::clones::Clones;
use crate::daemon::run_orders::RunOrders;

const REPO: &str = "/repos/octocat/hello";

pub struct World {
    dir: tempfile::TempDir,
    sim: github_sim::Running,
    described: Value,
    http: reqwest::Client,
    outside: GithubOutside,
    wording: SquashMessageTemplates,
}

impl World {
    pub async fn new() -> Self {
        Self::with(SquashMessageTemplates::default(), None).await
    }

    /// With squash messages that read so.
    pub async fn wording(wording: SquashMessageTemplates) -> Self {
        Self::with(wording, None).await
    }

    /// With runs that somebody may want something of.
    pub async fn ordering(orders: RunOrders) -> Self {
        Self::with(SquashMessageTemplates::default(), Some(orders)).await
    }

    async fn with(wording: SquashMessageTemplates, orders: Option<RunOrders>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("sim");
        let options = github_sim::Options { seed: Some(7), ..github_sim::Options::new(&data) };
        let sim = github_sim::start(options).await.unwrap();
        let described: Value = serde_json::from_slice(&std::fs::read(data.join("sim.json")).unwrap()).unwrap();
        let outside = outside(&described, dir.path().join("clones"), orders).await;
        let world = Self { dir, sim, described, http: reqwest::Client::new(), outside, wording };
        world.call(Method::POST, "/user/repos", json!({ "name": "hello", "auto_init": true })).await;
        let squash_only =
            json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
        world.call(Method::PATCH, REPO, squash_only).await;
        world
    }

    /// Ends it, so that nothing of it outlives the test.
    pub async fn finish(self) {
        self.sim.stop().await;
    }

    /// Does it as the first user, who owns the repository.
    pub async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let (api, token) = (text(&self.described["api_url"]), text(&self.described["users"][0]["token"]));
        self.send(self.http.request(method, format!("{api}{path}")).bearer_auth(token), body).await
    }

    pub async fn in_repo(&self, method: Method, path: &str, body: Value) -> Value {
        self.call(method, &format!("{REPO}{path}"), body).await
    }

    /// Somebody who may push; the token of theirs.
    pub async fn collaborator(&self, login: &str) -> String {
        let made = self.control(Method::POST, "/users", json!({ "login": login })).await;
        self.in_repo(Method::PUT, &format!("/collaborators/{login}"), json!({ "permission": "push" })).await;
        text(&made["token"]).to_owned()
    }

    /// Somebody approves a pull request.
    pub async fn approve(&self, pull: PrNumber, token: &str) {
        let address = format!("{}{REPO}/pulls/{pull}/reviews", text(&self.described["api_url"]));
        self.send(self.http.post(address).bearer_auth(token), json!({ "event": "APPROVE" })).await;
    }

    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        let control = text(&self.described["control_url"]);
        self.send(self.http.request(method, format!("{control}{path}")), body).await
    }

    async fn send(&self, mut request: reqwest::RequestBuilder, body: Value) -> Value {
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let (status, address) = (response.status(), response.url().clone());
        let answer = response.text().await.unwrap();
        assert!(status.is_success(), "{address}: {status} {answer}");
        serde_json::from_str(&answer).unwrap_or_default()
    }

    pub async fn fault(&self, fault: Value) {
        self.control(Method::POST, "/faults", fault).await;
    }

    /// How often an endpoint was called: `PUT /repos/{owner}/{repo}/…`.
    pub async fn calls(&self, template: &str) -> u64 {
        self.control(Method::GET, "/calls", Value::Null).await["calls"][template].as_u64().unwrap_or(0)
    }

    /// A branch with a change of its own, and a pull request for it.
    pub async fn open_pull(&self, branch: &str, base: &str) -> PrNumber {
        let head = self.head(base).await;
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": head });
        self.in_repo(Method::POST, "/git/refs", made).await;
        self.write(branch, &format!("{branch}.txt"), "a\n").await;
        let pull = json!({ "title": format!("Add {branch}"), "body": "Why not.", "head": branch, "base": base });
        PrNumber::new(self.in_repo(Method::POST, "/pulls", pull).await["number"].as_u64().unwrap())
    }

    /// A commit on a branch that gives a file this content.
    pub async fn write(&self, branch: &str, path: &str, content: &str) -> Sha {
        let listed = self.in_repo(Method::GET, &format!("/git/trees/{branch}"), Value::Null).await;
        let old = listed["tree"].as_array().unwrap().iter().find(|entry| entry["path"] == path);
        let mut change =
            json!({ "message": format!("Write {path}"), "content": STANDARD.encode(content), "branch": branch });
        if let Some(old) = old {
            change["sha"] = old["sha"].clone();
        }
        let written = self.in_repo(Method::PUT, &format!("/contents/{path}"), change).await;
        sha(&written["commit"]["sha"])
    }

    pub async fn delete_branch(&self, branch: &str) {
        self.in_repo(Method::DELETE, &format!("/git/refs/heads/{branch}"), Value::Null).await;
    }

    pub async fn head(&self, branch: &str) -> Sha {
        let found = self.in_repo(Method::GET, &format!("/git/ref/heads/{branch}"), Value::Null).await;
        sha(&found["object"]["sha"])
    }

    /// The names of the files at the root of a branch, but for the README that was there first.
    pub async fn files(&self, branch: &str) -> Vec<String> {
        let listed = self.in_repo(Method::GET, &format!("/git/trees/{branch}"), Value::Null).await;
        let names = listed["tree"].as_array().unwrap().iter().map(|entry| text(&entry["path"]).to_owned());
        names.filter(|name| name != "README.md").collect()
    }

    pub async fn pull(&self, number: PrNumber) -> Value {
        self.in_repo(Method::GET, &format!("/pulls/{number}"), Value::Null).await
    }

    /// The message of the default branch's newest commit.
    pub async fn landed_message(&self) -> String {
        let head = self.head("main").await;
        let commit = self.in_repo(Method::GET, &format!("/git/commits/{head}"), Value::Null).await;
        text(&commit["message"]).to_owned()
    }

    pub async fn perform(&self, effect: Effect) -> Result<Answer, EffectFailure> {
        self.perform_until(effect, CancellationToken::new()).await
    }

    pub async fn perform_until(&self, effect: Effect, cancel: CancellationToken) -> Result<Answer, EffectFailure> {
        self.outside.perform(&hello(), effect, clock::now(), cancel, &tokio::sync::mpsc::unbounded_channel().0).await
    }

    /// One piece of work for the train that began at `root`.
    pub async fn work(&self, root: PrNumber, work: TrainTask) -> Result<TrainTaskOutcome, EffectFailure> {
        match self.perform(Effect::Trains(trains::Effect::Work { root, work })).await? {
            Answer::Outcome(outcome) => Ok(outcome),
            other => panic!("{other:?}"),
        }
    }

    pub async fn merge(&self, root: PrNumber, pull: PrNumber, name: &str, step: MergeStep) -> BranchMergeOutcome {
        let work = TrainTask::Merge { step, pull, branch: branch(name), default: branch("main") };
        match self.work(root, work).await.unwrap() {
            TrainTaskOutcome::Merged(merged) => merged,
            other => panic!("{other:?}"),
        }
    }

    /// Merges, pushes what that came to, and says where the branch is then.
    pub async fn merge_and_push(&self, root: PrNumber, pull: PrNumber, name: &str, step: MergeStep) -> Sha {
        let push = match self.merge(root, pull, name, step).await {
            BranchMergeOutcome::Unchanged { head } => return head,
            merged => push(pull, name, merged),
        };
        assert_eq!(
            self.work(root, TrainTask::Push(push.clone())).await,
            Ok(TrainTaskOutcome::Pushed(PushOutcome::Landed))
        );
        push.to
    }

    /// Squashes what the pull request has; the commit that landed.
    pub async fn squash(&self, root: PrNumber, pull: PrNumber, name: &str) -> Sha {
        let head = self.head(name).await;
        let (base, via, wording) = (branch("main"), MergeEndpoint::Now, self.wording.clone());
        match self.work(root, TrainTask::Squash { pull, head, base, via, wording }).await.unwrap() {
            TrainTaskOutcome::Squashed(SquashOutcome::Merged { commit }) => commit,
            other => panic!("{other:?}"),
        }
    }

    /// The worktrees that there are, by folder name.
    pub fn worktrees(&self) -> Vec<String> {
        let clones = self.dir.path().join("clones");
        let repositories = std::fs::read_dir(clones).into_iter().flatten();
        let worktrees = repositories.flat_map(|entry| std::fs::read_dir(entry.unwrap().path().join("worktrees")));
        let mut names: Vec<String> =
            worktrees.flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// As if the machine had lost its disk.
    pub fn lose_clones(&self) {
        std::fs::remove_dir_all(self.dir.path().join("clones")).unwrap();
    }
}

async fn outside(described: &Value, clones: PathBuf, orders: Option<RunOrders>) -> GithubOutside {
    let app = &described["app"];
    let private_key_pem = Secret::new(std::fs::read_to_string(text(&app["private_key_path"])).unwrap());
    let app_id = app["id"].as_u64().unwrap();
    let mut config = Config::new(Auth::App { app_id, private_key_pem, installation_id: None });
    config.api_url = text(&described["api_url"]).to_owned();
    config.graphql_url = text(&described["graphql_url"]).to_owned();
    config.limits.backoff = Duration::from_millis(1);
    let client = Client::new(&config).unwrap();
    let committer =
        Committer { name: "merge-train".into(), email: "merge-train@example.com".into(), signing: Signing::Off };
    let settings = Settings { base: clones, extent: Extent::Full, committer };
    let git = Git::find("git").await.unwrap();
    let clones = Clones::new(git, settings, text(&described["git_url"]).to_owned(), client.clone());
    GithubOutside::new(client, Arc::new(clones), orders)
}

pub fn hello() -> RepoId {
    RepoId::new("octocat", "hello").unwrap()
}

pub fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

/// The push that a merge asks for.
pub fn push(pull: PrNumber, name: &str, merged: BranchMergeOutcome) -> BranchPush {
    match merged {
        BranchMergeOutcome::Advance { from, to, tree, contains } => {
            BranchPush { kind: PushKind::Prep, pull, branch: branch(name), from, to, tree, contains }
        }
        other => panic!("{other:?}"),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn sha(value: &Value) -> Sha {
    Sha::parse(text(value)).unwrap()
}
