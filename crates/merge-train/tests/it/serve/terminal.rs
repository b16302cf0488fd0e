//! What people see on a terminal, and what programs read where there is none.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use reqwest::Method;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::support::{Daemon, KEY, PATIENCE, REPO, Setup, World, eventually};

const ESCAPE: char = '\u{1b}';
/// Up, to the left, and away with what is below.
const REDRAWN: &str = "A\r\u{1b}[J";

/// A terminal, and all that was shown on it.
struct Terminal {
    shown: Arc<Mutex<String>>,
    master: OwnedFd,
    slave: File,
}

impl Terminal {
    fn new(columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it opens");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("text");
        let slave = File::options().read(true).write(true).open(name).expect("the other end");
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("a size");
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (File::from(master.try_clone().expect("a copy")), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // When nobody has the other end any more, that is an error.
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().expect("not poisoned").push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { shown, master, slave }
    }

    fn start(&self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.slave.try_clone().expect("a copy"));
        command.stdin(Stdio::null()).stdout(end()).stderr(end()).env("TERM", "xterm");
        command.kill_on_drop(true).spawn().expect("it starts")
    }

    fn shown(&self) -> String {
        self.shown.lock().expect("not poisoned").clone()
    }

    async fn until(&self, what: &str) -> String {
        let look = || async { Some(self.shown()).filter(|shown| shown.contains(what)) };
        eventually(&format!("{what:?} is shown"), look).await
    }
}

/// A command that asks the daemon.
fn asking(setup: &Setup, daemon: &Daemon, words: &[&str]) -> Command {
    let mut command = setup.command(words);
    command.env("MERGE_TRAIN_API_KEY", KEY).env("MERGE_TRAIN_SERVER", &daemon.url);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_are_for_terminals_and_for_those_who_want_them() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    let terminal = Terminal::new(200);
    terminal.start(setup.command(&["doctor"]).env_remove("NO_COLOR")).wait().await.expect("it ends");
    let shown = terminal.until("failure").await;
    assert!(shown.contains("\u{1b}[31mfailed"), "{shown:?}");

    let plain = Terminal::new(200);
    plain.start(setup.command(&["doctor"]).env("NO_COLOR", "1")).wait().await.expect("it ends");
    let shown = plain.until("failure").await;
    assert!(shown.contains("failed ") && !shown.contains(ESCAPE), "{shown:?}");

    let piped = setup.command(&["doctor"]).env("TERM", "xterm").output().await.expect("it runs");
    let piped = String::from_utf8(piped.stdout).expect("text");
    assert!(piped.contains("failed ") && !piped.contains(ESCAPE), "{piped:?}");
    for words in [["doctor", "--help"], ["stauts", "--json"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_merge-train"));
        let output = command.args(words).env("TERM", "xterm").output().await.expect("it runs");
        let told = [output.stdout, output.stderr].concat();
        assert!(!told.is_empty() && !told.contains(&b'\x1b'), "{words:?}");
    }
    drop((terminal.master, plain.master));
}

#[tokio::test(flavor = "multi_thread")]
async fn trains_are_watched_in_place_on_a_terminal_and_line_by_line_elsewhere() {
    let (world, daemon) = World::new().await;
    let number = world.open_pull("feature", "main").await;
    eventually("it is known", || async { daemon.state(REPO).await["prs"].get(number.to_string()).cloned() }).await;
    let terminal = Terminal::new(60);
    let mut watching = terminal.start(&mut asking(&world.setup, &daemon, &["status", REPO, "--watch"]));
    let first = terminal.until("No trains in octocat/hello.").await;
    assert!(!first.contains(REDRAWN), "{first:?}");
    terminal.until(REDRAWN).await;
    watching.kill().await.expect("killed");

    let mut lines = asking(&world.setup, &daemon, &["status", REPO, "--watch", "--json"]);
    let mut lines = lines.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut out = tokio::io::BufReader::new(lines.stdout.take().expect("piped"));
    let mut line = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut out, &mut line).await.expect("text");
    let seen: Value = serde_json::from_str(&line).expect("a document on a line");
    assert_eq!((&seen["trains"], seen["repos"][0]["repo"].as_str()), (&json!([]), Some(REPO)));
    world.squash_only().await;
    let protection = json!({
        "required_status_checks": { "strict": false, "contexts": ["build"] }, "enforce_admins": null, "restrictions": null,
        "required_pull_request_reviews": null,
    });
    world.call(Method::PUT, &format!("/repos/{REPO}/branches/main/protection"), protection).await;
    world.comment(number, "@merge-train start").await;
    let news = async {
        loop {
            line.clear();
            tokio::io::AsyncBufReadExt::read_line(&mut out, &mut line).await.expect("text");
            let seen: Value = serde_json::from_str(&line).expect("a document on a line");
            if seen["trains"][0]["current_pr"] == number {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, news).await.expect("what changes is told");
    lines.kill().await.expect("killed");
    world.sim.stop().await;
}

const GATE: &str = "
[[workflows]]
name = \"a-workflow-with-a-name-that-takes-more-room-than-there-is-on-any-narrow-terminal\"
[[workflows.steps]]
id = \"gate\"
kind = \"approval\"
";

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_watched_in_place_and_a_list_of_runs_fits() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path()).more(&format!("[runs]\nwork_dir = \"runs\"\n{GATE}"));
    let daemon = setup.start().await;
    let name = GATE.split('"').nth(1).expect("a name");
    let begun = asking(&setup, &daemon, &["runs", "start", name, "--tenant", "octocat", "--json"]).output().await;
    let begun: Value = serde_json::from_slice(&begun.expect("it runs").stdout).expect("JSON");
    let id = [&begun["run"]["id"], &begun["id"]].into_iter().find_map(Value::as_str).expect("an id").to_owned();

    let narrow = Terminal::new(80);
    narrow.start(&mut asking(&setup, &daemon, &["runs", "list"])).wait().await.expect("it ends");
    let shown = narrow.until(&id).await;
    let longest = shown.lines().map(|line| without_colours(line).trim_end().chars().count()).max().expect("lines");
    assert!(longest <= 80 && shown.contains('…'), "{longest}: {shown}");
    let piped = asking(&setup, &daemon, &["runs", "list"]).output().await.expect("it runs");
    assert!(String::from_utf8_lossy(&piped.stdout).contains(name), "nothing is cut where nobody looks");

    let terminal = Terminal::new(80);
    let mut watching = terminal.start(&mut asking(&setup, &daemon, &["runs", "watch", &id]));
    terminal.until(REDRAWN).await;
    assert!(terminal.shown().contains("awaiting_approval · gate"), "{:?}", terminal.shown());
    let approved = asking(&setup, &daemon, &["runs", "approve", &id]).output().await.expect("it runs");
    assert!(approved.status.success());
    assert!(watching.wait().await.expect("it ends").success());
    let end = terminal.until("completed after").await;
    assert!(end.trim_end().lines().last().expect("a line").contains("completed after"), "{end:?}");
    let piped = asking(&setup, &daemon, &["runs", "watch", &id]).output().await.expect("it runs");
    assert!(!String::from_utf8_lossy(&piped.stdout).contains(ESCAPE));
    assert!(daemon.stop().await.success());
}

fn without_colours(line: &str) -> String {
    let mut parts = line.split(ESCAPE);
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)).collect::<String>()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_a_moment_says_so_on_a_terminal_alone() {
    let world = World::without_daemon().await;
    let number = world.open_pull("feature", "main").await;
    world.squash_only().await;
    let slow = json!({ "kind": "delay", "ms": 2500, "match": { "path": format!("/repos/{REPO}/pulls/{number}") }, "count": null });
    world.control(Method::POST, "/faults", slow).await;
    let target = format!("{REPO}#{number}");
    let terminal = Terminal::new(100);
    let mut planning = terminal.start(&mut world.setup.command(&["plan", &target]));
    let shown = terminal.until("reading the pull requests of octocat/hello … ").await;
    assert!(!shown.contains("squash"), "{shown:?}");
    assert!(planning.wait().await.expect("it ends").success(), "{:?}", terminal.shown());
    let shown = terminal.until("squash #").await;
    let (_, after) = shown.split_once("\r\u{1b}[K").expect("it was there");
    assert!(after.contains("\r\u{1b}[K"), "and is gone: {shown:?}");
    let piped = world.setup.command(&["plan", &target]).env("TERM", "xterm").output().await.expect("it runs");
    assert!(piped.status.success() && piped.stderr.is_empty(), "{}", String::from_utf8_lossy(&piped.stderr));
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_tells_what_it_finds_while_it_waits_for_the_rest() {
    let world = World::without_daemon().await;
    let silent = json!({ "kind": "delay", "ms": 3_600_000, "match": { "path": "/app" }, "count": null });
    world.control(Method::POST, "/faults", silent).await;
    let terminal = Terminal::new(100);
    let mut examining = terminal.start(world.setup.command(&["doctor"]).env("NO_COLOR", "1"));
    let shown = terminal.until("api_keys").await;
    assert!(shown.starts_with("ok       configuration  "), "{shown:?}");
    assert!(!shown.contains("github  ") && examining.try_wait().expect("a state").is_none(), "{shown:?}");
    examining.kill().await.expect("killed");
    world.sim.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_completes_commands_and_options() {
    let dir = tempfile::tempdir().expect("a folder");
    let script = dir.path().join("completion");
    let program = env!("CARGO_BIN_EXE_merge-train");
    let printed = Command::new(program).args(["completion", "bash"]).output().await.expect("it runs");
    std::fs::write(&script, printed.stdout).expect("written");
    let complete = async |words: &[&str]| {
        let line = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _merge__train merge-train '{}' ''; echo \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1,
            words.last().expect("a word"),
        );
        let output = Command::new("bash").args(["--norc", "-euc", &line]).output().await.expect("bash");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    assert_eq!(complete(&["merge-train", "sta"]).await, "state status");
    assert_eq!(complete(&["merge-train", "runs", "wa"]).await, "watch");
    assert!(complete(&["merge-train", "doctor", "--"]).await.contains("--json"));
    let wrong = Command::new(program).args(["completion", "bsh"]).output().await.expect("it runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("'bash'"));
    let page = Command::new(program).arg("man").output().await.expect("it runs");
    assert!(String::from_utf8_lossy(&page.stdout).contains(".TH merge-train 1"));
}
