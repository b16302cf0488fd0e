//! What is in the branches: real commits, each with something of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::{ADMIN, AUTHOR, MAIN, REPO, STRANGER, Trains};

/// A file that every pull request changes a line of.
pub const SHARED: &str = "shared.txt";
/// So far apart that the lines of two pull requests do not conflict.
const LINES_APART: usize = 4;
/// Room for the largest stack that a test opens.
const LINES: usize = 64;

impl Trains {
    /// The default branch has a file for everybody.
    pub(super) async fn found(&mut self) {
        if self.default_branch != MAIN {
            let path = format!("/branches/{MAIN}/rename");
            self.call(ADMIN, Method::POST, &path, json!({ "new_name": self.default_branch })).await;
        }
        let text: String = (0..LINES).map(|line| format!("line {line}\n")).collect();
        let branch = self.default_branch.clone();
        self.origin = self.write(ADMIN, &branch, SHARED, &text).await;
        self.commits.lock().clear();
    }

    /// Opens a pull request for each branch, and declares what each stands on.
    pub async fn stack<const N: usize>(&self, shape: [(&str, &str); N]) -> [u64; N] {
        let mut opened: Vec<(&str, u64)> = Vec::new();
        for (branch, base) in shape {
            let pr = self.open(branch, base).await;
            if let Some((_, predecessor)) = opened.iter().find(|(below, _)| *below == base) {
                let declared = self.declares(pr, *predecessor).await;
                self.acknowledged(declared).await;
            }
            opened.push((branch, pr));
        }
        let numbers: Vec<u64> = opened.into_iter().map(|(_, pr)| pr).collect();
        numbers.try_into().expect("as many as asked for")
    }

    /// A branch with two commits of its own, and a pull request for it.
    pub async fn open(&self, branch: &str, base: &str) -> u64 {
        self.branch(branch, base).await;
        self.push(branch).await;
        self.open_pull(branch, base, json!({})).await
    }

    pub async fn open_draft(&self, branch: &str, base: &str) -> u64 {
        self.branch(branch, base).await;
        self.push(branch).await;
        self.open_pull(branch, base, json!({ "draft": true })).await
    }

    pub async fn open_pull(&self, branch: &str, base: &str, more: Value) -> u64 {
        let mut pull = json!({ "title": format!("Add {branch}"), "head": branch, "base": base });
        pull.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        self.call(AUTHOR, Method::POST, "/pulls", pull).await["number"].as_u64().expect("a number")
    }

    /// So many pull requests upon the default branch, which all make the same change.
    pub async fn many(&self, count: usize) -> Vec<u64> {
        self.branch("many", &self.default_branch).await;
        self.write(AUTHOR, "many", "many.txt", "by many\n").await;
        let mut opened = Vec::new();
        for number in 0..count {
            let branch = format!("many-{number}");
            self.branch(&branch, "many").await;
            opened.push(self.open_pull(&branch, &self.default_branch, json!({})).await);
        }
        opened
    }

    /// A pull request of somebody who may not push here.
    pub async fn open_from_fork(&self, branch: &str) -> u64 {
        let fork = self.call(STRANGER, Method::POST, "/forks", json!({})).await;
        let name = fork["full_name"].as_str().expect("a name");
        let base = self.default_branch.as_str();
        let at = format!("/repos/{name}/git/ref/heads/{base}");
        let head = self.call(STRANGER, Method::GET, &at, Value::Null).await["object"]["sha"].clone();
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": head });
        self.call(STRANGER, Method::POST, &format!("/repos/{name}/git/refs"), made).await;
        let change = json!({ "message": "Write", "content": STANDARD.encode("theirs\n"), "branch": branch });
        self.call(STRANGER, Method::PUT, &format!("/repos/{name}/contents/{branch}.txt"), change).await;
        let pull = json!({ "title": branch, "head": format!("{STRANGER}:{branch}"), "base": base });
        self.call(STRANGER, Method::POST, "/pulls", pull).await["number"].as_u64().expect("a number")
    }

    pub async fn branch(&self, branch: &str, base: &str) {
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": self.head(base).await });
        self.call(AUTHOR, Method::POST, "/git/refs", made).await;
    }

    pub async fn delete_branch(&self, branch: &str) {
        self.call(AUTHOR, Method::DELETE, &format!("/git/refs/heads/{branch}"), Value::Null).await;
    }

    pub async fn head(&self, branch: &str) -> String {
        let found = self.get(&format!("/git/ref/heads/{branch}")).await;
        found["object"]["sha"].as_str().expect("a commit").to_owned()
    }

    /// Somebody merges a branch into another by hand, and settles every conflict in favour of where it goes.
    pub async fn merge_into(&self, branch: &str, other: &str) -> String {
        let (head, theirs) = (self.head(branch).await, self.head(other).await);
        let tree = self.get(&format!("/git/commits/{head}")).await["tree"]["sha"].clone();
        let commit = json!({ "message": "Merge by hand", "tree": tree, "parents": [head, theirs] });
        let made = self.call(AUTHOR, Method::POST, "/git/commits", commit).await["sha"].clone();
        self.call(AUTHOR, Method::PATCH, &format!("/git/refs/heads/{branch}"), json!({ "sha": made })).await;
        self.resolved.lock().insert(branch.to_owned());
        made.as_str().expect("a commit").to_owned()
    }

    /// Two more commits of the author: a new file, and a line of the file that all share.
    pub async fn push(&self, branch: &str) -> String {
        let (count, line) = {
            let commits = self.commits.lock();
            (commits.get(branch).map_or(0, Vec::len), commits.values().map(Vec::len).sum::<usize>() / 2)
        };
        self.write(AUTHOR, branch, &format!("{branch}-{count}.txt"), &format!("by {branch}\n")).await;
        self.change_line(branch, line * LINES_APART % LINES, &format!("changed by {branch}")).await
    }

    /// A commit of the author that changes one line of the file that all share.
    pub async fn change_line(&self, branch: &str, line: usize, text: &str) -> String {
        let found = self.get(&format!("/contents/{SHARED}?ref={branch}")).await;
        let encoded: String = found["content"].as_str().expect("content").split_whitespace().collect();
        let old = String::from_utf8(STANDARD.decode(encoded).expect("base64")).expect("text");
        let new: String = old
            .lines()
            .enumerate()
            .map(|(at, old)| if at == line { format!("{text}\n") } else { format!("{old}\n") })
            .collect();
        self.write(if branch == self.default_branch { ADMIN } else { AUTHOR }, branch, SHARED, &new).await
    }

    /// Somebody commits to the default branch, past all trains.
    pub async fn commit_on_main(&self, path: &str) -> String {
        self.write(ADMIN, &self.default_branch, path, "from elsewhere\n").await
    }

    /// A commit on a branch that gives a file this content.
    pub async fn write(&self, who: &str, branch: &str, path: &str, content: &str) -> String {
        let address = format!("/repos/{REPO}/contents/{path}");
        let (status, old) = self.ask(who, Method::GET, &format!("{address}?ref={branch}"), Value::Null).await;
        let mut change =
            json!({ "message": format!("Write {path}"), "content": STANDARD.encode(content), "branch": branch });
        if status == 200 {
            change["sha"] = old["sha"].clone();
        }
        let made = self.call(who, Method::PUT, &address, change).await;
        let sha = made["commit"]["sha"].as_str().expect("a commit").to_owned();
        self.commits.lock().entry(branch.to_owned()).or_default().push(sha.clone());
        sha
    }
}
