//! A repository whose CI asks one thing of it, and somebody who mends it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

pub use crate::support::{Daemon, Database, KEY, REPO, World, eventually};

/// What CI runs: every value must be good.
const CHECK: &str =
    "for f in value-*.txt; do grep -q good $f || { echo \"error: $f says $(cat $f)\"; exit 1; }; done\n";

/// Mends what is bad, commits and pushes, as any coding agent would.
pub const MENDS: &str = "sed -i s/bad/good/ value-*.txt\ngit commit -qam 'Make it good'\ngit push -q\n";
/// Pushes something that does not help.
pub const PUSHES_IN_VAIN: &str =
    "date +%N > try-$(ls try-* 2>/dev/null | wc -l)\ngit add .\ngit commit -qm Try\ngit push -q\n";

/// Waits until the test lets it go on.
pub const WAITS: &str = "while [ ! -e \"$SHOP/go\" ]; do sleep 0.05; done\n";
const FOLDER: &str = "shop";

/// How a test wants it.
pub struct Wish {
    ratchet: String,
    fixer: String,
    script: String,
    database: Database,
}

impl Wish {
    pub fn database(mut self, database: Database) -> Self {
        self.database = database;
        self
    }

    /// What the fixer does: a script for `sh`, in the checkout. `$SHOP` is a folder that outlives it.
    pub fn fixer(mut self, script: &str) -> Self {
        script.clone_into(&mut self.script);
        self
    }

    /// More of `[ratchet]`; what is said later counts.
    pub fn ratchet(mut self, settings: &str) -> Self {
        for line in settings.lines() {
            let key = line.split('=').next().unwrap_or_default().trim().to_owned();
            self.ratchet =
                self.ratchet.lines().filter(|old| !old.starts_with(&key)).fold(String::new(), |mut all, old| {
                    let _ = writeln!(all, "{old}");
                    all
                });
            let _ = writeln!(self.ratchet, "{line}");
        }
        self
    }

    /// More of `[ratchet.fixer]`.
    pub fn limits(mut self, settings: &str) -> Self {
        let _ = writeln!(self.fixer, "{settings}");
        self
    }

    pub async fn open(self) -> Shop {
        let mut shop = self.prepare().await;
        shop.restart().await;
        shop
    }

    /// Without a daemon.
    pub async fn prepare(self) -> Shop {
        let mut world = World::without_daemon().await;
        let dir = world.dir.path().to_owned();
        let shop = dir.join(FOLDER);
        std::fs::create_dir(&shop).expect("a folder");
        let script = format!("SHOP='{}'\necho $$ >> \"$SHOP/begun\"\n{}", shop.display(), self.script);
        std::fs::write(dir.join("fixer.sh"), script).expect("written");
        let fixer = dir.join("fixer.sh");
        let config = format!(
            "[ratchet]\n{}[ratchet.fixer]\ncommand = [\"sh\", \"-e\", \"{}\"]\n{}[runs]\nwork_dir = \"runs\"\n",
            self.ratchet,
            fixer.display(),
            self.fixer,
        );
        world.setup = world.setup.clone().database(self.database).more(&config);
        let settings = json!({ "allow_squash_merge": true, "allow_merge_commit": false, "allow_rebase_merge": false });
        world.call(Method::PATCH, &format!("/repos/{REPO}"), settings).await;
        world.write("main", "check.sh", CHECK).await;
        world.write("main", "value-main.txt", "good\n").await;
        let ci = json!({ "name": "CI", "checks": [{ "name": "test", "command": "sh check.sh" }] });
        world.control(Method::PUT, &format!("/repos/{REPO}/ci"), ci).await;
        let reviewer = world.control(Method::POST, "/users", json!({ "login": "reviewer" })).await;
        let reviewer = reviewer["token"].as_str().expect("a token").to_owned();
        let path = format!("/repos/{REPO}/collaborators/reviewer");
        world.call(Method::PUT, &path, json!({ "permission": "push" })).await;
        Shop { world, daemon: None, reviewer }
    }
}

pub struct Shop {
    pub world: World,
    pub daemon: Option<Daemon>,
    reviewer: String,
}

impl Shop {
    pub fn wish() -> Wish {
        let ratchet = "enabled = true\nheartbeat_secs = 1\ngrace_mins = 0.02\nstale_ci_timeout_mins = 1\nsession_timeout_secs = 5\n";
        let (ratchet, fixer) = (ratchet.to_owned(), String::new());
        Wish { ratchet, fixer, script: MENDS.to_owned(), database: Database::Sqlite }
    }

    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("it runs")
    }

    /// Where scripts leave what tests look for.
    pub fn folder(&self) -> PathBuf {
        self.world.dir.path().join(FOLDER)
    }

    /// Lets fixers go on that wait.
    pub fn go(&self) {
        std::fs::write(self.folder().join("go"), "").expect("written");
    }

    /// How many fixers were begun so far.
    pub fn begun(&self) -> usize {
        std::fs::read_to_string(self.folder().join("begun")).unwrap_or_default().lines().count()
    }

    /// A pull request whose value is good or bad.
    pub async fn pull(&self, branch: &str, base: &str, value: &str) -> u64 {
        let at = format!("/repos/{REPO}/git/ref/heads/{base}");
        let head = self.world.call(Method::GET, &at, Value::Null).await;
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": head["object"]["sha"] });
        self.world.call(Method::POST, &format!("/repos/{REPO}/git/refs"), made).await;
        self.write(branch, &format!("value-{branch}.txt"), &format!("{value}\n")).await;
        let pull = json!({ "title": branch, "head": branch, "base": base });
        let made = self.world.call(Method::POST, &format!("/repos/{REPO}/pulls"), pull).await;
        made["number"].as_u64().expect("a number")
    }

    pub async fn write(&self, branch: &str, path: &str, content: &str) {
        self.world.write(branch, path, content).await;
    }

    /// Somebody else comments on a line of the diff; the number of the comment.
    pub async fn reviews(&self, pr: u64, path: &str, text: &str) -> u64 {
        let head = self.head(pr).await;
        let body = json!({ "body": text, "commit_id": head, "path": path, "line": 1, "side": "RIGHT" });
        let made = self.as_reviewer(Method::POST, &format!("/pulls/{pr}/comments"), body).await;
        made["id"].as_u64().expect("an id")
    }

    pub async fn as_reviewer(&self, method: Method, path: &str, body: Value) -> Value {
        let reviewer = self.world.owner().with_token("reviewer", &self.reviewer);
        reviewer.call(method.as_str(), &format!("/repos/{REPO}{path}"), body).await
    }

    pub async fn head(&self, pr: u64) -> String {
        let pull = self.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}"), Value::Null).await;
        pull["head"]["sha"].as_str().expect("a head").to_owned()
    }

    /// What is in a file of a branch.
    pub async fn read(&self, branch: &str, path: &str) -> String {
        use base64::Engine as _;
        let found =
            self.world.call(Method::GET, &format!("/repos/{REPO}/contents/{path}?ref={branch}"), Value::Null).await;
        let encoded: String = found["content"].as_str().expect("content").split_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).expect("base64");
        String::from_utf8(bytes).expect("text")
    }

    /// The workspace as the daemon remembers it.
    pub async fn workspace(&self, pr: u64) -> Value {
        self.daemon().state(REPO).await["workspaces"][pr.to_string()].clone()
    }

    /// Waits until the workspace is in this state, for any reason.
    pub async fn becomes(&self, pr: u64, state: &str) -> Value {
        let mut last = Value::Null;
        let look = async {
            loop {
                last = self.workspace(pr).await;
                if last["status"] == state {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        let waited = tokio::time::timeout(crate::support::PATIENCE, look).await;
        assert!(waited.is_ok(), "#{pr} is not {state}: {last:#}\n{}\n{}", self.daemon().log(), self.printed());
        last
    }

    /// What fixers printed.
    pub fn printed(&self) -> String {
        let runs = std::fs::read_dir(self.world.dir.path().join("runs")).into_iter().flatten().flatten();
        let logs = runs.map(|run| run.path().join("logs/fix-1.log"));
        logs.filter_map(|log| std::fs::read_to_string(log).ok()).collect()
    }

    /// Every decision about a pull request, oldest first: what was done, where that left it, and why.
    pub async fn decisions(&self, pr: u64) -> Vec<(String, String, String)> {
        let state = self.daemon().state(REPO).await;
        let events = state["recent_events"].as_array().cloned().unwrap_or_default();
        let moved = events.into_iter().filter(|event| event["type"] == "ratchet_moved" && event["pr"] == pr);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        moved.map(|event| (text(&event["action"]), text(&event["status"]), text(&event["reason"]))).collect()
    }

    /// The runs of fixers, oldest first.
    pub async fn fixers(&self) -> Vec<Value> {
        let (status, found) = self.daemon().get("/api/v1/runs?type=fixer&limit=100").await;
        assert_eq!(status, 200, "{found}");
        let mut runs = found["runs"].as_array().or_else(|| found["items"].as_array()).cloned().unwrap_or_default();
        runs.reverse();
        runs
    }

    /// What the API answers to a request about a workspace; a refusal fails the test.
    pub async fn ask(&self, method: Method, pr: u64, path: &str, body: Value) -> Value {
        let url = format!("{}/api/v1/workspaces/{REPO}/{pr}{path}", self.daemon().url);
        let mut request = self.daemon().http.request(method.clone(), url).bearer_auth(KEY);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status();
        let text = response.text().await.expect("text");
        assert!(status.is_success(), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Somebody is at work; the name of the session.
    pub async fn session(&self, pr: u64) -> String {
        let made = self.ask(Method::POST, pr, "/sessions", json!({})).await;
        made["id"].as_str().expect("an id").to_owned()
    }

    pub async fn toggle(&self, pr: u64, enabled: bool) {
        self.ask(Method::PUT, pr, "/ratchet", json!({ "enabled": enabled })).await;
    }

    /// What the bot said on a pull request.
    pub async fn said(&self, pr: u64) -> Vec<String> {
        let path = format!("/repos/{REPO}/issues/{pr}/comments?per_page=100");
        let comments = self.world.call(Method::GET, &path, Value::Null).await;
        let bots = comments.as_array().expect("a list").iter().filter(|comment| comment["user"]["type"] == "Bot");
        bots.map(|comment| comment["body"].as_str().expect("text").to_owned()).collect()
    }

    /// Kills the daemon without a warning, and starts another.
    pub async fn crash(&mut self) {
        self.daemon.take().expect("it runs").kill().await;
        self.restart().await;
    }

    pub async fn restart(&mut self) {
        let daemon = self.world.setup.start().await;
        self.world.aim_at(&daemon).await;
        self.daemon = Some(daemon);
    }

    /// The value of a metric, written with its labels; 0 where it was never counted.
    pub async fn metric(&self, name: &str) -> f64 {
        let answer = self.daemon().http.get(format!("{}/metrics", self.daemon().url)).send().await.expect("an answer");
        let text = answer.text().await.expect("text");
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
    }

    /// The lines of the daemon's log that are about this.
    pub fn logged(&self, event: &str) -> Vec<Value> {
        let log = self.daemon().log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    }

    /// The processes whose command line has this in it.
    pub fn processes(&self, words: &str) -> usize {
        let all = std::fs::read_dir("/proc").expect("Linux").flatten();
        let lines = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
        lines.filter(|line| line.replace('\0', " ").contains(words)).count()
    }

    /// The processes that belong to a fixer, whatever they call themselves: they were given its folder, or are in it.
    pub fn strays(&self) -> Vec<String> {
        let runs = self.world.dir.path().join("runs");
        let given = format!("{}/", runs.display());
        let is_one = |process: &Path| {
            let environment = std::fs::read(process.join("environ")).unwrap_or_default();
            let is_there = |link| std::fs::read_link(process.join(link)).is_ok_and(|at| at.starts_with(&runs));
            String::from_utf8_lossy(&environment).contains(&given) || ["cwd", "root", "exe"].into_iter().any(is_there)
        };
        let all = std::fs::read_dir("/proc").expect("Linux").flatten().map(|entry| entry.path());
        let found = all.filter(|process| is_one(process));
        found.map(|process| std::fs::read_to_string(process.join("cmdline")).unwrap_or_default()).collect()
    }

    pub async fn close(mut self) {
        let daemon = self.daemon.take().expect("it runs");
        assert!(daemon.stop().await.success());
        self.world.sim.stop().await;
    }
}
