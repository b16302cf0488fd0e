//! `merge-train demo` as a process: what it shows, and what it leaves behind.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use test_support::wait::within;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::support::build_simulator;

/// Long enough for a machine under load.
const PATIENCE: Duration = Duration::from_secs(90);

fn program(words: &[&str]) -> Command {
    build_simulator();
    let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
    command.args(words).stdin(Stdio::null()).kill_on_drop(true).env_remove("RUST_LOG");
    command
}

/// The demo that waits for somebody to try it.
struct Demo {
    child: Child,
    _stdout: Lines<BufReader<ChildStdout>>,
    guide: String,
}

impl Demo {
    async fn start() -> Self {
        Self::start_with(&["--listen", "127.0.0.1:0", "--github-listen", "127.0.0.1:0"]).await
    }

    async fn start_with(places: &[&str]) -> Self {
        let mut command = program(&["demo"]);
        command.args(places);
        // A setting in the environment is for another daemon.
        command.env("MERGE_TRAIN_SERVER_BIND_ADDRESS", "nonsense");
        // And no proxy reaches this machine.
        command.env("http_proxy", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut guide = String::new();
        let told = async {
            while !guide.contains("Ctrl-C") {
                let line = lines.next_line().await.expect("text").expect("it goes on");
                guide.push_str(&line);
                guide.push('\n');
            }
        };
        tokio::time::timeout(PATIENCE, told).await.expect("ready in time");
        Self { child, _stdout: lines, guide }
    }

    /// The words of a command that the guide names.
    fn command(&self, name: &str) -> Vec<&str> {
        let line = self.guide.lines().find_map(|line| line.trim().strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {}", self.guide));
        line.split_whitespace().map(|word| word.trim_matches('\'')).collect()
    }

    /// Where everything of it is.
    fn data(&self) -> PathBuf {
        let plan = self.command("Plan:");
        let config = plan.iter().find(|word| word.ends_with(".toml")).expect("a configuration");
        Path::new(config).parent().expect("a folder").to_owned()
    }

    /// Does what the guide says.
    async fn follow(&self, name: &str) -> Output {
        let words = self.command(name);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).kill_on_drop(true).output().await.expect("it runs")
    }

    /// The commands of the processes that it started and that run.
    fn children(&self) -> Vec<String> {
        let parent = format!("PPid:\t{}\n", self.child.id().expect("it runs"));
        let processes = std::fs::read_dir("/proc").expect("Linux").flatten().map(|entry| entry.path());
        let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let own = processes.filter(|folder| read(folder, "status").contains(&parent));
        own.map(|folder| read(&folder, "cmdline").replace('\0', " ")).collect()
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id().expect("it runs")).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
    }

    async fn ended(&mut self) -> (ExitStatus, String) {
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends in time").expect("ended");
        let mut errors = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut errors).await.expect("text");
        (status, errors)
    }
}

/// Waits until it is so.
async fn eventually(what: &str, is_so: impl AsyncFn() -> bool) {
    let look = async || is_so().await.then_some(());
    within(PATIENCE, what, look).await.unwrap_or_else(|never| panic!("{never}"));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn once_lands_the_stack_and_shows_how() {
    let run = program(&["demo", "--once", "--listen", "127.0.0.1:0", "--github-listen", "127.0.0.1:0"]).output();
    let output = tokio::time::timeout(PATIENCE, run).await.expect("in time").expect("it runs");
    let told = text(&output.stdout);
    assert!(output.status.success(), "{}: {told}{}", output.status, text(&output.stderr));
    for event in [
        "octocat comments on #2: @merge-train predecessor #1\n",
        "octocat comments on #3: @merge-train predecessor #2\n",
        "octocat comments on #4: @merge-train predecessor #1\n",
        "the daemon has recorded the stack\n",
        "octocat comments on #1: @merge-train plan\n",
        "octocat pushes commits to #2 and #4 that break the tests\n",
        "CI failed on #2: a fixer starts\n",
        "CI failed on #4: a fixer starts\n",
        "a fixer's push to #4 needs approval: http://",
        "the demo approves it\n",
        "the train of #1 splits into the trains of #2 and #4\n",
    ] {
        assert!(told.contains(event), "{event:?} is missing: {told}");
    }
    assert!(!told.contains("a fixer's push to #2 needs approval"), "it may change what it changes: {told}");
    for landing in [
        ["#1 has landed as ", "#2 has landed as ", "#3 has landed as "],
        ["#1 has landed as ", "#4 has landed as ", "has completed\n"],
    ] {
        let mut rest = told.as_str();
        for step in ["octocat comments on #1: @merge-train start\n", "the train of #1 starts\n"].iter().chain(&landing)
        {
            let found = rest.find(step).unwrap_or_else(|| panic!("{step:?} is missing, or too early: {told}"));
            rest = &rest[found + step.len()..];
        }
    }
    let (_, log) = told.split_once("git log --oneline main\n").expect("a log");
    for title in [
        " Count the ships (#3)\n",
        " Light the lamp at dusk (#4)\n",
        " Sound the horn in fog (#2)\n",
        " Say goodbye, too (#1)\n",
    ] {
        assert!(log.contains(title), "{told}");
    }
    assert!(log.ends_with("No trains in octocat/lighthouse.\n"), "{told}");
}

#[tokio::test]
async fn what_the_guide_says_works() {
    let mut demo = Demo::start().await;
    eventually("it is declared what stands on what", async || {
        let plan = demo.follow("Plan:").await;
        assert!(plan.status.success(), "{}{}", text(&plan.stdout), text(&plan.stderr));
        text(&plan.stdout).contains("squash #3 into `main`\n")
    })
    .await;

    let pulls = *demo.command("REST:").last().expect("an address");
    let status = demo.command("Status:");
    let server = status.iter().skip_while(|word| **word != "--server").nth(1).expect("an address");
    let key = status.iter().skip_while(|word| **word != "--key").nth(1).expect("a key");
    let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
    // Whoever watches may decide before the demo does.
    eventually("a fixer's push is held", async || {
        let held = format!("{server}/api/v1/runs?type=fixer&status=awaiting_approval");
        let held: Value = http.get(held).bearer_auth(key).send().await.expect("an answer").json().await.expect("JSON");
        let Some(id) = held["runs"][0]["id"].as_str() else { return false };
        let approve = format!("{server}/api/v1/runs/{id}/approve");
        let approved = http.post(approve).bearer_auth(key).json(&json!({})).send().await.expect("an answer");
        approved.status().is_success()
    })
    .await;
    eventually("all of it has landed", async || {
        let all = http.get(format!("{pulls}?state=all")).send().await.expect("an answer");
        let all: Value = all.json().await.expect("JSON");
        all.as_array().expect("a list").iter().all(|pull| pull["merged_at"].is_string())
    })
    .await;
    let log = text(&demo.follow("Ratchet:").await.stdout);
    assert!(log.contains("FIX_CI") && log.contains("FIXER_PUSHED"), "{log}");
    assert!(text(&demo.follow("Fixers:").await.stdout).contains("fixer"));
    let children = demo.children();
    assert!(
        !children.iter().any(|command| command.contains(" serve ")),
        "the daemon is not a process of its own: {children:?}"
    );
    let (data, health) = (demo.data(), format!("{server}/healthz"));
    assert!(http.get(&health).send().await.is_ok());
    demo.signal(Signal::INT);
    let (status, errors) = demo.ended().await;
    assert!(status.success(), "{status}: {errors}");
    assert!(!data.exists(), "it removes its data");
    assert!(http.get(&health).send().await.is_err(), "nothing of it runs");
}

#[tokio::test]
async fn stopped_in_the_middle_of_the_story_it_leaves_nothing_behind() {
    let mut demo = Demo::start().await;
    let data = demo.data();
    eventually("a fixer is sent", async || text(&demo.follow("Fixers:").await.stdout).contains("fixer-")).await;
    demo.signal(Signal::TERM);
    let (status, errors) = demo.ended().await;
    assert!(status.success(), "{status}: {errors}");
    assert!(!data.exists(), "it removes its data");
}

#[tokio::test]
async fn the_dashboard_is_where_it_is_asked_for_and_at_another_port_if_the_usual_one_is_taken() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let mut demo = Demo::start_with(&["--listen", &free.to_string(), "--github-listen", "127.0.0.1:0"]).await;
    assert!(demo.guide.contains(&format!("Watch it here: http://{free}/\n")), "{}", demo.guide);
    demo.signal(Signal::TERM);
    assert!(demo.ended().await.0.success());

    // Whoever has it, it is not this demo.
    let _taken = std::net::TcpListener::bind("127.0.0.1:8929");
    let mut demo = Demo::start_with(&["--github-listen", "127.0.0.1:0"]).await;
    assert!(demo.guide.starts_with("127.0.0.1:8929 is taken"), "{}", demo.guide);
    assert!(demo.guide.contains("Watch it here: http://127.0.0.1:"), "{}", demo.guide);
    assert!(!demo.guide.contains("Watch it here: http://127.0.0.1:8929/"), "{}", demo.guide);
    demo.signal(Signal::TERM);
    assert!(demo.ended().await.0.success());

    let wrong = program(&["demo", "--listen", "0.0.0.0:0"]).output().await.expect("it runs");
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("must be 127.0.0.1"), "{}", text(&wrong.stderr));
}
