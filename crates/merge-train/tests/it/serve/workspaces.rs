//! Workspaces: what is seen of the ratchet and can be done about it, over HTTP and on the command line.

mod api;
mod command_line;
mod held;
mod logs;
mod sessions;

use std::process::{Output, Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::support::{Daemon, KEY, REPO, World, eventually, http};

/// What CI runs: every value must be good.
const CHECK: &str = "grep -L good value-*.txt | grep . && exit 1\nexit 0\n";
/// Mends what is bad, commits and pushes.
const MENDS: &str = "sed -i s/bad/good/ value-*.txt\ngit commit -qam 'Make it good'\ngit push -q\n";

/// A repository whose CI asks for good values, and a daemon with a fixer.
struct Shop {
    world: World,
    daemon: Daemon,
}

impl Shop {
    /// With these settings of `[ratchet]`, and this script for a fixer. `$SHOP` is a folder that outlives it.
    async fn new(ratchet: &str, fixer: &str) -> Self {
        let mut world = World::without_daemon().await;
        let dir = world.dir.path().to_owned();
        let script = dir.join("fixer.sh");
        std::fs::create_dir(dir.join("shop")).expect("a folder");
        std::fs::write(&script, format!("SHOP='{}'\n{fixer}", dir.join("shop").display())).expect("written");
        let config = format!(
            "[ratchet]\nheartbeat_secs = 1\ngrace_mins = 0.02\n{ratchet}\n\
             [ratchet.fixer]\ncommand = [\"sh\", \"-e\", \"{}\"]\n[runs]\nwork_dir = \"runs\"\n",
            script.display()
        );
        world.setup = world.setup.clone().more(&config);
        world.write("main", "check.sh", CHECK).await;
        world.write("main", "value-main.txt", "good\n").await;
        let ci = json!({ "name": "CI", "checks": [{ "name": "test", "command": "sh check.sh" }] });
        world.control(Method::PUT, &format!("/repos/{REPO}/ci"), ci).await;
        let daemon = world.setup.start().await;
        world.aim_at(&daemon).await;
        Self { world, daemon }
    }

    /// A pull request whose value is this, once the daemon knows it.
    async fn pull(&self, branch: &str, value: &str) -> u64 {
        let head = self.world.call(Method::GET, &format!("/repos/{REPO}/git/ref/heads/main"), Value::Null).await;
        let made = json!({ "ref": format!("refs/heads/{branch}"), "sha": head["object"]["sha"] });
        self.world.call(Method::POST, &format!("/repos/{REPO}/git/refs"), made).await;
        self.world.write(branch, &format!("value-{branch}.txt"), &format!("{value}\n")).await;
        let pull = json!({ "title": branch, "head": branch, "base": "main" });
        let made = self.world.call(Method::POST, &format!("/repos/{REPO}/pulls"), pull).await;
        let number = made["number"].as_u64().expect("a number");
        eventually("it is known", || async {
            let (_, state) = self.daemon.get(&format!("/api/v1/repos/{REPO}/state")).await;
            (state["prs"][number.to_string()]["state"] == "open").then_some(())
        })
        .await;
        number
    }

    /// Lets fixers go on that wait for it.
    fn go(&self) {
        std::fs::write(self.world.dir.path().join("shop/go"), "").expect("written");
    }

    async fn ask(&self, method: Method, path: &str, key: &str, body: Value) -> (u16, Value) {
        let mut request = http().request(method, format!("{}/api/v1{path}", self.daemon.url)).bearer_auth(key);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.expect("an answer");
        let status = response.status().as_u16();
        if status >= 400 {
            assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
        }
        (status, response.json().await.expect("JSON"))
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask(Method::GET, path, KEY, Value::Null).await
    }

    async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::PUT, path, KEY, body).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::POST, path, KEY, body).await
    }

    async fn workspace(&self, pr: u64) -> Value {
        let (status, shown) = self.get(&at(pr)).await;
        assert_eq!(status, 200, "{shown}");
        shown
    }

    async fn turn(&self, pr: u64, enabled: bool) -> Value {
        let (status, shown) = self.put(&format!("{}/ratchet", at(pr)), json!({ "enabled": enabled })).await;
        assert_eq!(status, 200, "{shown}");
        shown
    }

    /// Waits until the workspace is in this state.
    async fn becomes(&self, pr: u64, state: &str) -> Value {
        eventually(&format!("#{pr} is {state}"), || async {
            let shown = self.workspace(pr).await;
            (shown["state"] == state).then_some(shown)
        })
        .await
    }

    /// A command that finds the daemon and the key in its environment.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.setup.command(words);
        command.env("MERGE_TRAIN_SERVER", &self.daemon.url).env("MERGE_TRAIN_API_KEY", KEY);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn run(&self, words: &[&str]) -> Said {
        Said::of(self.command(words).output().await.expect("it runs"))
    }

    async fn close(self) {
        assert!(self.daemon.stop().await.success());
        self.world.sim.stop().await;
    }
}

/// What a command said, and its exit code.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    /// What it said, where it succeeded.
    fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }
}

/// The address of a workspace, below `/api/v1`.
fn at(pr: u64) -> String {
    format!("/workspaces/{REPO}/{pr}")
}

fn name(pr: u64) -> String {
    format!("{REPO}#{pr}")
}

fn viewer() -> String {
    format!("{KEY} viewer")
}

fn stranger() -> String {
    format!("{KEY} stranger")
}
