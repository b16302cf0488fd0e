//! The world that the documentation is about, and what has to be so in it before a command is typed.
//!
//! What is written in the documentation is replaced by what it stands for:
//!
//! | written | stands for |
//! |---|---|
//! | `octocat/hello` | a repository of the simulator's |
//! | `octocat/hello#7` | a pull request |
//! | `octocat/hello#12` | the bottom of a stack of two, whose checks never end, so that its train waits |
//! | `run-1` | a run in the state that the command is about |
//! | `deploy`, `release`, `triage` | workflows of the configuration |
//! | `http://127.0.0.1:8080`, `https://merge-train.example.com` | the daemon |
//! | `https://ghes.example.com` | the simulator |
//! | `/etc`, `/usr/local`, `/var`, `/tmp` | folders of these names below one that is the block's own |
//! | `…` in a variable | an API key |

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::Command;

use crate::docs::commands::Typed;
use crate::support::{Daemon, REPO, World, eventually, path_with_current_git};

/// Nothing in the documentation takes as long, unless something is wrong.
pub const PATIENCE: Duration = Duration::from_secs(120);
const KEY: &str = "the key of the documentation";
/// A folder of the machine, and the same below a folder of the test's.
const FOLDERS: [&str; 4] = ["/etc/", "/usr/local/", "/var/", "/tmp/"];

/// The workflows that examples are about, and those that a run of an example may be of.
const SETTINGS: &str = r#"
[runs]
work_dir = "runs"

[[workflows]]
name = "deploy"
inputs = { note = { type = "string" }, dry_run = { type = "boolean" } }

[[workflows.steps]]
id = "build"
command = ["sh", "-c", "echo built >&2; echo '{}'"]

[[workflows]]
name = "release"
inputs = { version = { type = "string", required = true } }

[[workflows.steps]]
id = "build"
command = ["sh", "-c", "echo '{}'"]

[[workflows]]
name = "triage"
inputs = { issue = { type = "integer", required = true } }

[[workflows.steps]]
id = "look"
command = ["sh", "-c", "echo '{}'"]

[[workflows]]
name = "gated"

[[workflows.steps]]
id = "agree"
kind = "approval"

[[workflows]]
name = "expectant"

[[workflows.steps]]
id = "announced"
kind = "wait"
event = "release.published"
"#;

pub struct Scene {
    pub world: World,
    pub daemon: Daemon,
    bin: PathBuf,
}

impl Scene {
    pub async fn new() -> Self {
        let mut world = World::without_daemon().await;
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, KEY.as_bytes());
        let digest = hex::encode(digest);
        let key = format!(
            "[[api_keys]]\nname = \"documentation\"\ntenant = \"octocat\"\nrole = \"operator\"\nsha256 = \"{digest}\"\n"
        );
        world.setup = world.setup.clone().more(SETTINGS).more(&key);
        world.squash_only().await;
        let bin = programs(world.dir.path());
        // Checks that nobody ends: a train waits for them.
        let ci = json!({ "checks": [{ "name": "test" }] });
        world.control(Method::PUT, &format!("/repos/{REPO}/ci"), ci).await;
        let protection = json!({
            "required_status_checks": { "strict": false, "contexts": ["test"] }, "enforce_admins": true,
            "required_pull_request_reviews": null, "restrictions": null,
        });
        world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), protection).await;
        let daemon = world.setup.start().await;
        world.aim_at(&daemon).await;
        let scene = Self { world, daemon, bin };
        scene.open_up_to(7, "seven", "main").await;
        scene.open_up_to(12, "twelve", "main").await;
        let above = scene.world.open_pull("thirteen", "twelve").await;
        scene.world.comment(above, "@merge-train predecessor #12").await;
        eventually("the stack is known", || async {
            (scene.daemon.state(REPO).await["prs"]["13"]["predecessor"] == 12).then_some(())
        })
        .await;
        scene
    }

    /// Issues until the next number is this one, which a pull request gets.
    async fn open_up_to(&self, number: u64, branch: &str, base: &str) {
        loop {
            let made =
                self.world.call(Method::POST, &format!("/repos/{REPO}/issues"), json!({ "title": "An issue" })).await;
            if made["number"].as_u64().expect("a number") + 1 == number {
                break;
            }
        }
        assert_eq!(self.world.open_pull(branch, base).await, number);
    }

    pub async fn end(self) {
        assert!(self.daemon.stop().await.success());
        self.world.sim.stop().await;
    }

    /// What has to be so before it is typed.
    async fn prepare(&self, command: &Typed, place: &Place) -> Vec<(&'static str, String)> {
        let text = command.text.as_str();
        let words = command.words();
        let mut replaced = Vec::new();
        if text.contains("run-1") {
            let about = ["approve", "reject", "cancel", "resume", "show", "signal"];
            let workflow = match about
                .into_iter()
                .find(|verb| words.get(1) == Some(verb) || text.contains(&format!("run-1/{verb}")))
            {
                Some("signal") => "expectant",
                Some(_) => "gated",
                None => "deploy",
            };
            replaced.push(("run-1", self.run(workflow).await));
        }
        if words.starts_with(&["train", "start"]) || text.contains("/trains/12/start") {
            self.train(false).await;
        } else if text.contains("hello#12") && !words.starts_with(&["plan"]) || text.contains("/trains/12") {
            self.train(true).await;
        }
        let own = words.first() == Some(&"serve") || words.starts_with(&["state", "import"]);
        place.write_config(&self.world.setup.config(), &self.world, own);
        if text.contains("backup") {
            std::fs::remove_dir_all(place.dir.join("backup")).ok();
            if !text.contains("state export") {
                let output =
                    self.world.setup.command(&["state", "export"]).arg(place.dir.join("backup")).output().await;
                assert!(output.expect("it runs").status.success(), "an export");
            }
        }
        replaced
    }

    /// A run that is where a command about it finds it.
    async fn run(&self, workflow: &str) -> String {
        let (status, run) = self.post("/api/v1/runs", &json!({ "workflow": workflow, "repo": REPO })).await;
        assert!(status < 300, "{run}");
        let id = run["id"].as_str().or_else(|| run["runId"].as_str()).unwrap_or_else(|| panic!("{run}")).to_owned();
        eventually("the run waits, or has ended", || async {
            let (_, run) = self.daemon.get(&format!("/api/v1/runs/{id}")).await;
            ["awaiting_approval", "waiting_external", "completed"].contains(&run["status"].as_str()?).then_some(())
        })
        .await;
        id
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let request = self.daemon.http.post(format!("{}{path}", self.daemon.url)).bearer_auth(KEY).json(body);
        let response = request.send().await.expect("an answer");
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    /// Has the train of #12 under way, or not.
    async fn train(&self, under_way: bool) {
        let at = format!("/api/v1/repos/{REPO}/trains/12");
        let is_under_way = async || {
            let (status, train) = self.daemon.get(&at).await;
            status == 200 && ["running", "waiting_ci"].contains(&train["state"].as_str().unwrap_or_default())
        };
        if is_under_way().await != under_way {
            let verb = if under_way { "start" } else { "stop" };
            let (status, answer) = self.post(&format!("{at}/{verb}"), &json!({})).await;
            assert_eq!(status, 202, "{answer}");
            eventually(verb, || async { (is_under_way().await == under_way).then_some(()) }).await;
        }
    }

    /// Types it, and waits until it has ended, or until it has said something where it does not end by itself.
    pub async fn type_in(&self, command: &Typed, place: &Place) -> Result<(), String> {
        let mut replaced = self.prepare(command, place).await;
        replaced.push(("http://127.0.0.1:8080", self.daemon.url.clone()));
        replaced.push(("https://merge-train.example.com", self.daemon.url.clone()));
        let text = place.spell(command, &replaced);
        let mut shell = place.shell(&self.bin, &text, &self.world);
        let text_of = |value: &Value| value.as_str().expect("text").to_owned();
        shell.env("MERGE_TRAIN_SERVER", &self.daemon.url).env("MERGE_TRAIN_API_KEY", KEY);
        shell.env("CONTROL", text_of(&self.world.described["control_url"]));
        let words = command.words();
        let goes_on = words.first() == Some(&"serve") || words.contains(&"--watch") && words.first() == Some(&"status");
        finish(command, shell, goes_on).await
    }
}

/// Where the commands of a block are typed.
pub struct Place {
    pub dir: PathBuf,
}

impl Place {
    pub fn new(within: &Path, name: &str) -> Self {
        let dir = within.join("places").join(name);
        let folders = [
            "etc/merge-train",
            "etc/bash_completion.d",
            "usr/local/share/man/man1",
            "usr/local/bin",
            "tmp",
            "home/.zfunc",
        ];
        for folder in folders.iter().chain(&["home/.config/fish/completions", "var/lib/merge-train/repos"]) {
            std::fs::create_dir_all(dir.join(folder)).expect("a folder");
        }
        std::fs::write(dir.join("inputs.json"), "{\"dry_run\": true}").expect("written");
        // An answer that is an error is an error.
        std::fs::write(
            dir.join("home/.curlrc"),
            "fail-with-body\nsilent\nshow-error\nmax-time = 30\nnoproxy = \"*\"\n",
        )
        .expect("written");
        Self { dir }
    }

    /// The configuration where a command looks for it; with `own`, of a daemon that does not share what it keeps.
    fn write_config(&self, config: &Path, world: &World, own: bool) {
        let text = std::fs::read_to_string(config).expect("the configuration");
        let keeps = if own { self.dir.join("own") } else { world.dir.path().to_owned() };
        let text = text
            .replace("\"state\"", &format!("{:?}", keeps.join("state")))
            .replace("\"repos\"", &format!("{:?}", keeps.join("repos")))
            .replace("work_dir = \"runs\"", &format!("work_dir = {:?}", keeps.join("runs")));
        for file in ["merge-train.toml", "etc/merge-train/merge-train.toml"] {
            let file = self.dir.join(file);
            std::fs::write(&file, &text).expect("written");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("a mode");
        }
    }

    /// The command with what its words stand for.
    pub fn spell(&self, command: &Typed, replaced: &[(&str, String)]) -> String {
        let text = command.text.strip_prefix("sudo -u merge-train ").unwrap_or(&command.text);
        let mut text = format!("{}{text}", command.set).replace("=…", &format!("='{KEY}'"));
        // In two steps, as the folder itself may be in one of them.
        for folder in FOLDERS {
            for before in [" ", "=", "'", "\"", "@"] {
                text = text.replace(&format!("{before}{folder}"), &format!("{before}\0{folder}"));
            }
        }
        text = text.replace('\0', &self.dir.display().to_string());
        for (written, meant) in replaced {
            text = text.replace(written, meant);
        }
        text
    }

    pub fn shell(&self, bin: &Path, script: &str, world: &World) -> Command {
        let mut shell = Command::new("bash");
        shell
            .args(["-e", "-o", "pipefail", "-c", script])
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let path = path_with_current_git(world.dir.path());
        let path =
            std::env::join_paths(std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path))).expect("a PATH");
        shell.env("PATH", path).env("HOME", self.dir.join("home")).env_remove("RUST_LOG").process_group(0);
        shell
    }
}

/// A folder for the PATH with the program itself, and with those that people work with.
pub fn programs(within: &Path) -> PathBuf {
    let bin = within.join("bin");
    std::fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_merge-train"), bin.join("merge-train")).expect("a link");
    for name in ["claude", "vim"] {
        std::fs::write(bin.join(name), "#!/bin/sh\n").expect("written");
        std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    bin
}

/// Waits for the end of a command, or ends one that goes on by itself once it has said something.
pub async fn finish(command: &Typed, mut shell: Command, goes_on: bool) -> Result<(), String> {
    let place = command.place();
    let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
    let group = child.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)).expect("it runs");
    let waited = async {
        if !goes_on {
            return child.wait_with_output().await.expect("a status");
        }
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let first = lines.next_line().await.expect("text");
        if first.is_some() {
            eventually("it listens to signals", || async { listens(group.as_raw_nonzero().get()).then_some(()) }).await;
            rustix::process::kill_process_group(group, rustix::process::Signal::INT).ok();
        }
        let mut stderr = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut stderr).await.expect("text");
        let status = child.wait().await.expect("a status");
        Output { status, stdout: first.unwrap_or_default().into_bytes(), stderr: stderr.into_bytes() }
    };
    let waited = tokio::time::timeout(PATIENCE, waited).await;
    let Ok(output) = waited else {
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
        return Err(format!("{place} does not end"));
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // Who watches is interrupted, and says so.
    let wanted = if goes_on && command.words().contains(&"--watch") { 130 } else { command.exit_code };
    let ended = output.status.code();
    if ended != Some(wanted) {
        return Err(format!("{place} ends with {ended:?} and not with {wanted}\n{said}"));
    }
    if goes_on && output.stdout.is_empty() {
        return Err(format!("{place} says nothing"));
    }
    Ok(())
}

/// Whether a process does something of its own about an interruption, as it does once it has begun.
fn listens(process: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    caught & (1 << (rustix::process::Signal::INT.as_raw() - 1)) != 0
}

/// What went wrong, all of it at once.
pub fn all_well(results: Vec<Result<(), String>>) {
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{} went wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}
