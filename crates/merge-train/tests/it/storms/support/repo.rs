//! One repository, the people in it, and what they committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};

use super::Yard;

pub const MAIN: &str = "main";
/// A file that several pull requests may change lines of.
pub const SHARED: &str = "shared.txt";
const LINES: usize = 64;
/// How often somebody else may be faster.
const MOST_RACES: usize = 20;

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

/// A repository in which people stack pull requests.
pub struct Repo {
    pub yard: Arc<Yard>,
    pub owner: String,
    /// The head of the default branch before anything was landed.
    pub origin: String,
    /// What people committed, in order.
    pub changes: Mutex<Vec<Change>>,
    /// The branch of each pull request.
    pub pulls: Mutex<BTreeMap<u64, String>>,
}

impl Repo {
    /// A repository that allows squashes only, has no rules and no CI.
    pub async fn new(yard: &Arc<Yard>, owner: &str) -> Self {
        let org = json!({ "login": owner, "admins": [yard.login()] });
        yard.control(Method::POST, "/orgs", org).await;
        let settings = json!({
            "name": "stack", "auto_init": true,
            "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false,
        });
        let (status, made) = yard.ask(Method::POST, &format!("/orgs/{owner}/repos"), settings).await;
        assert_eq!(status, 201, "{made}");
        let mut repo = Self {
            yard: Arc::clone(yard),
            owner: owner.to_owned(),
            origin: String::new(),
            changes: Mutex::default(),
            pulls: Mutex::default(),
        };
        repo.put(MAIN, SHARED, &|_| shared_at_first()).await;
        repo.origin = repo.head(MAIN).await;
        repo
    }

    pub fn name(&self) -> String {
        format!("{}/stack", self.owner)
    }

    /// Faults are told to look for the name as the daemon writes it. GitHub takes names in any case, so that people, who
    /// shout, are spared.
    pub(super) fn shouted(&self) -> String {
        format!("{}/stack", self.owner.to_uppercase())
    }

    pub async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.yard.ask(method, &format!("/repos/{}{path}", self.shouted()), body).await
    }

    pub async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(method.clone(), path, body).await;
        assert!((200..300).contains(&status), "{method} {path} of {}: {status} {answer}", self.owner);
        answer
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, Value::Null).await
    }

    pub async fn control(&self, method: Method, path: &str, body: Value) -> Value {
        self.yard.control(method, &format!("/repos/{}{path}", self.name()), body).await
    }

    /// A branch upon another, with these commits, and a pull request for it.
    pub async fn open(&self, branch: &str, base: &str, edits: &[Edit]) -> u64 {
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": self.head(base).await });
        self.call(Method::POST, "/git/refs", made).await;
        for edit in edits {
            self.commit(branch, edit).await;
        }
        let pull = json!({ "title": format!("Add {branch}"), "head": branch, "base": base });
        let number = self.call(Method::POST, "/pulls", pull).await["number"].as_u64().expect("a number");
        self.pulls.lock().insert(number, branch.to_owned());
        number
    }

    pub async fn head(&self, branch: &str) -> String {
        let found = self.get(&format!("/git/ref/heads/{branch}")).await;
        found["object"]["sha"].as_str().expect("a commit").to_owned()
    }

    pub async fn commit(&self, branch: &str, edit: &Edit) -> String {
        let sha = match edit {
            Edit::File(path) => self.put(branch, path, &|_| content_of(path)).await,
            Edit::Line(at, text) => self.put(branch, SHARED, &|old| with_line(old, *at, text)).await,
        };
        let change = Change { branch: branch.to_owned(), sha: sha.clone(), edit: edit.clone() };
        self.changes.lock().push(change);
        sha
    }

    /// Gives a file the content that `change` makes of the one before, which is empty where there was none.
    async fn put(&self, branch: &str, path: &str, change: &(dyn Fn(&str) -> String + Sync)) -> String {
        let address = format!("/contents/{path}");
        for _ in 0..MOST_RACES {
            let (status, old) = self.ask(Method::GET, &format!("{address}?ref={branch}"), Value::Null).await;
            let encoded: String = old["content"].as_str().unwrap_or_default().split_whitespace().collect();
            let before = String::from_utf8(STANDARD.decode(encoded).expect("base64")).expect("text");
            let content = STANDARD.encode(change(&before));
            let mut body = json!({ "message": format!("Write {path}"), "content": content, "branch": branch });
            if status == 200 {
                body["sha"] = old["sha"].clone();
            }
            let (status, made) = self.ask(Method::PUT, &address, body).await;
            match made["commit"]["sha"].as_str() {
                Some(sha) => return sha.to_owned(),
                // Somebody wrote it since it was read.
                None => assert_eq!(status, 409, "{path} on {branch} of {}: {made}", self.owner),
            }
        }
        panic!("{path} on {branch} of {} is written by others all the time", self.owner)
    }

    pub async fn says(&self, number: u64, text: &str) -> u64 {
        let path = format!("/issues/{number}/comments");
        self.call(Method::POST, &path, json!({ "body": text })).await["id"].as_u64().expect("an id")
    }

    pub async fn declares(&self, number: u64, predecessor: u64) {
        self.says(number, &format!("@merge-train predecessor #{predecessor}")).await;
    }

    pub async fn start(&self, number: u64) {
        self.says(number, "@merge-train start").await;
    }

    pub async fn pull(&self, number: u64) -> Value {
        self.get(&format!("/pulls/{number}")).await
    }

    pub async fn is_merged(&self, number: u64) -> bool {
        self.pull(number).await["merged"] == true
    }

    /// All pull requests, whatever became of them.
    pub async fn all_pulls(&self) -> Vec<Value> {
        self.get("/pulls?state=all&per_page=100").await.as_array().expect("a list").clone()
    }

    /// What the bot wrote on all pull requests.
    pub async fn bot_comments(&self) -> Vec<Value> {
        let all = self.get("/issues/comments?per_page=100").await;
        let all = all.as_array().expect("a list").clone();
        all.into_iter().filter(|comment| comment["user"]["type"] == "Bot").collect()
    }

    /// What the daemon knows of the repository.
    pub async fn state(&self) -> Value {
        let (status, state) = self.yard.daemon.get(&format!("/api/v1/repos/{}/state?events=0", self.name())).await;
        if status == 200 { state } else { Value::Null }
    }

    /// The trains as the API shows them.
    pub async fn trains(&self) -> Vec<Value> {
        let (status, shown) = self.yard.daemon.get(&format!("/api/v1/repos/{}/trains", self.name())).await;
        let trains = if status == 200 { shown["trains"].as_array().cloned() } else { None };
        trains.unwrap_or_default()
    }

    /// The default branch demands these checks of what lands on it.
    pub async fn protect(&self, checks: &[&str], strict: bool) {
        let body = json!({
            "required_status_checks": { "strict": strict, "contexts": checks },
            "required_pull_request_reviews": null, "enforce_admins": false, "restrictions": null,
        });
        self.call(Method::PUT, &format!("/branches/{MAIN}/protection"), body).await;
    }

    /// What the daemon logged of this repository.
    pub fn log(&self) -> String {
        let (log, name) = (self.yard.daemon.log(), self.name());
        log.lines().filter(|line| line.contains(&name)).collect::<Vec<_>>().join("\n")
    }
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
