//! `merge-train runs watch`, and a start that is watched.

use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout};

use super::*;
use crate::serve::runs::post;
use crate::support::{PATIENCE, eventually};

/// An address that stays while daemons come and go.
struct Relay {
    url: String,
    /// Where it leads, and how many have gone there.
    target: Arc<Mutex<(String, usize)>>,
}

impl Relay {
    async fn to(daemon: &Daemon) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let target = Arc::new(Mutex::new((String::new(), 0)));
        let shared = target.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let shared = shared.clone();
                tokio::spawn(async move {
                    let aim = shared.lock().expect("not poisoned").0.clone();
                    if let Ok(mut far) = TcpStream::connect(aim).await {
                        shared.lock().expect("not poisoned").1 += 1;
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        let relay = Self { url, target };
        relay.aim_at(daemon);
        relay
    }

    fn aim_at(&self, daemon: &Daemon) {
        let address = daemon.url.strip_prefix("http://").expect("an address").to_owned();
        *self.target.lock().expect("not poisoned") = (address, 0);
    }

    /// Leads nowhere: another daemon may get the port of one that is gone.
    fn rest(&self) {
        *self.target.lock().expect("not poisoned") = ("127.0.0.1:9".to_owned(), 0);
    }

    /// Waits until somebody has gone where it leads.
    async fn is_used(&self) {
        let is_used = || async { (self.target.lock().expect("not poisoned").1 > 0).then_some(()) };
        eventually("somebody comes back", is_used).await;
    }
}

/// Somebody who watches a run.
struct Watcher {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    told: Vec<String>,
}

impl Watcher {
    fn of(mut command: Command) -> Self {
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines, told: Vec::new() }
    }

    /// Waits until it tells this.
    async fn tells(&mut self, what: &str) {
        let waiting = async {
            while !self.told.iter().any(|line| line.contains(what)) {
                let line = self.lines.next_line().await.expect("text");
                self.told.push(line.unwrap_or_else(|| panic!("it ended without {what:?}: {:?}", self.told)));
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("it does not tell {what:?}"));
    }

    fn interrupt(&self) {
        let pid = i32::try_from(self.child.id().expect("it runs")).expect("a pid");
        kill_process(Pid::from_raw(pid).expect("a pid"), Signal::INT).expect("it runs");
    }

    /// Waits until it ends: the exit code, all that it told, and what it complained of.
    async fn ends(mut self) -> (Option<i32>, Vec<String>, String) {
        let waiting = async {
            while let Some(line) = self.lines.next_line().await.expect("text") {
                self.told.push(line);
            }
            self.child.wait_with_output().await.expect("it ends")
        };
        let output = tokio::time::timeout(PATIENCE, waiting).await.expect("it ends in time");
        (output.status.code(), self.told, String::from_utf8(output.stderr).expect("text"))
    }
}

fn watch(place: &Place, url: &str, run: &str) -> Watcher {
    Watcher::of(asking(&place.setup, url, &["watch", run]))
}

/// Without the times.
fn events(told: &[String]) -> Vec<&str> {
    told.iter().map(|line| line.split_once("Z  ").map_or(line.as_str(), |(_, event)| event)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_where_it_was_when_the_daemon_comes_back() {
    let place = workflows();
    let mut daemon = place.setup.start().await;
    let relay = Relay::to(&daemon).await;
    let run = create(&daemon, "ask").await;
    let mut watcher = watch(&place, &relay.url, &run);
    watcher.tells("step ok waits for anyone who may operate runs to approve").await;
    relay.rest();
    assert!(daemon.stop().await.success(), "somebody who watches keeps no daemon from stopping");
    daemon = place.setup.start().await;
    relay.aim_at(&daemon);
    relay.is_used().await;
    relay.rest();
    daemon.kill().await;
    let daemon = place.setup.start().await;
    relay.aim_at(&daemon);
    post(&daemon, &format!("/runs/{run}/approve"), json!({ "reason": "looks fine" })).await;
    let (code, told, complaint) = watcher.ends().await;
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{told:?}");
    let told: Vec<String> =
        told.iter().map(|line| line.split(", after").next().unwrap_or_default().to_owned()).collect();
    let expected = [
        "ask for acme started by api:all, through the API",
        "pending → running",
        "step ok waits for anyone who may operate runs to approve",
        "running → awaiting_approval",
        "api:all approves step ok: looks fine",
        "awaiting_approval → running",
        "step ok is done",
        "step tell starts",
        "step tell is done",
        "running → completed",
    ];
    assert_eq!(events(&told[..told.len() - 1]), expected, "each once");
    assert!(told[told.len() - 1].starts_with(&format!("{run} completed after ")), "{told:?}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn how_a_run_ends_is_the_exit_code_of_its_watch() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let fail = create(&daemon, "fail").await;
    let (code, told, _) = watch(&place, &daemon.url, &fail).ends().await;
    assert_eq!(code, Some(1), "{told:?}");
    assert!(told.iter().any(|line| line.contains("step break failed: ") && line.contains("no network")), "{told:?}");

    let sleep = create(&daemon, "sleep").await;
    let mut watcher = watch(&place, &daemon.url, &sleep);
    watcher.tells("step nap starts").await;
    let cancelled = runs(&place, &daemon, &["cancel", &sleep, "--reason", "enough"]).await.done();
    assert!(cancelled.contains(&sleep), "{cancelled}");
    let (code, told, _) = watcher.ends().await;
    assert_eq!(code, Some(2), "{told:?}");
    let told = events(&told);
    assert!(told.contains(&"api:all cancels it: enough") && told.contains(&"step nap is undone"), "{told:?}");
    assert!(told[told.len() - 1].starts_with(&format!("{sleep} cancelled after ")), "{told:?}");
    assert!(told[told.len() - 1].ends_with(": enough"), "{told:?}");

    let hear = create(&daemon, "hear").await;
    let mut watcher = watch(&place, &daemon.url, &hear);
    watcher.tells("step landed waits for the event landed, until ").await;
    watcher.interrupt();
    let (code, _, complaint) = watcher.ends().await;
    assert_eq!((code, complaint.as_str()), (Some(130), ""), "Ctrl-C is no error");
    assert_eq!(show(&daemon, &hear).await["status"], "waiting_external", "nor does the run mind");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_begun_and_followed_in_one_go() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let said = runs(&place, &daemon, &["start", "one", "--tenant", "acme", "--watch"]).await;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    let id = said.out.lines().next().expect("an id");
    assert!(said.out.contains("one for acme started by api:all, from the command line\n"), "{}", said.out);
    assert!(said.out.lines().last().is_some_and(|last| last.starts_with(&format!("{id} completed"))), "{}", said.out);
    assert_eq!(runs(&place, &daemon, &["start", "fail", "--tenant", "acme", "--watch"]).await.code, Some(1));

    let said = runs(&place, &daemon, &["start", "one", "--tenant", "acme", "--watch", "--json"]).await;
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{}", said.out);
    let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["event"], &lines[0]["data"]["type"]), (&json!("run"), &json!("one")), "{}", said.out);
    let step = lines.iter().find(|line| line["event"] == "step_completed").expect("a step");
    assert_eq!((&step["data"]["output"], step["id"].is_string()), (&json!({ "files": 3 }), true), "{step}");
    let last = lines.last().expect("a line");
    assert_eq!((&last["event"], &last["data"]["status"]), (&json!("run"), &json!("completed")), "{last}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_goes_away_is_no_reason_to_panic() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let run = create(&daemon, "ask").await;
    becomes(&daemon, &run, "awaiting_approval").await;
    for words in [&["list"][..], &["show", &run], &["list", "--json"], &["watch", &run]] {
        let mut child = asking(&place.setup, &daemon.url, words).spawn().expect("it starts");
        drop(child.stdout.take());
        let said = Said::of(child.wait_with_output().await.expect("it ends"));
        assert_eq!(said.code, Some(1), "{words:?}: {}", said.err);
        assert!(said.err.starts_with("error: nobody reads what is told\n"), "{words:?}: {}", said.err);
    }
    assert!(daemon.stop().await.success());
}
