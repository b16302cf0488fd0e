//! `merge-train runs`: what people see of runs and do with them on a terminal.

mod following;
mod mistakes;
mod trains;

use std::process::{Output, Stdio};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::serve::runs::{Place, agent, becomes, command, create, show, step};
use crate::support::{Daemon, KEY, Setup, eventually};

/// How many runs are created at a time.
const AT_ONCE: usize = 16;

/// A command that finds the daemon and the key in its environment.
fn asking(setup: &Setup, url: &str, words: &[&str]) -> Command {
    let mut command = setup.command(&[&["runs"], words].concat());
    command.env("MERGE_TRAIN_SERVER", url).env("MERGE_TRAIN_API_KEY", KEY);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
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

async fn runs(place: &Place, daemon: &Daemon, words: &[&str]) -> Said {
    Said::of(asking(&place.setup, &daemon.url, words).output().await.expect("it runs"))
}

/// Workflows of each kind: `one` is done at once, `ask` has a gate for anybody, `both` one for two people, `hear` waits for an
/// event, `sleep` takes its time and can be undone, `fail` fails.
fn workflows() -> Place {
    Place::new(|dir| {
        let workflow = |name: &str, steps: String| format!("[[workflows]]\nname = {name:?}\n{steps}");
        let gate = |by: &str| step("ok", &format!("kind = \"approval\"\n{by}"));
        let both = "by = [\"api:all\", \"alice\"]\nneed = \"all\"";
        let (nap, undo) = (command(dir, "nap", "sleep 600"), command(dir, "wake", "echo '{}'"));
        [
            workflow("one", "inputs = { pr = { type = \"integer\" }, note = { type = \"string\" } }\n".to_owned())
                + &agent(dir, "read", "echo '{\"files\": 3}'"),
            workflow("ask", gate("") + &agent(dir, "tell", "echo '{\"told\": true}'")),
            workflow("both", gate(both)),
            workflow("alice", gate("by = [\"alice\"]")),
            workflow("hear", step("landed", "kind = \"wait\"\nevent = \"landed\"")),
            workflow("sleep", step("nap", &format!("command = {nap:?}\ncompensate = {undo:?}"))),
            workflow("fail", agent(dir, "break", "echo 'no network' >&2; exit 1")),
        ]
        .concat()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_the_newest_first_and_by_what_is_asked_for() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let nothing = runs(&place, &daemon, &["list"]).await.done();
    assert_eq!(nothing, "No runs yet. To start one: merge-train runs start WORKFLOW\n");
    let mut ids = Vec::new();
    for (workflow, status) in [("one", "completed"), ("ask", "awaiting_approval"), ("hear", "waiting_external")] {
        let id = create(&daemon, workflow).await;
        becomes(&daemon, &id, status).await;
        ids.push(id);
    }
    let table = runs(&place, &daemon, &["list"]).await.done();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["RUN", "TYPE", "STATUS", "FOR", "STEP", "STARTED", "TOOK"], "{table}");
    assert_eq!(rows[1], [&ids[2], "hear", "waiting_external", "acme", "landed", "just", "now"], "{table}");
    assert_eq!(rows[2], [&ids[1], "ask", "awaiting_approval", "acme", "ok", "just", "now"], "{table}");
    assert_eq!(rows[3][..6], [&ids[0], "one", "completed", "acme", "just", "now"], "{table}");
    assert!(!table.contains('\u{1b}'), "no colours where nobody sees them: {table}");

    let listed = async |words: &[&str]| -> (Vec<String>, Value) {
        let said = runs(&place, &daemon, &[&["list", "--json"], words].concat()).await.json();
        let ids =
            said["runs"].as_array().expect("a list").iter().map(|run| run["id"].as_str().expect("an id").to_owned());
        (ids.collect(), said["has_more"].clone())
    };
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(listed(&[]).await, (newest_first.clone(), json!(false)));
    assert_eq!(listed(&["--limit", "2"]).await, (newest_first[..2].to_vec(), json!(true)));
    assert_eq!(listed(&["--status", "completed"]).await.0, [ids[0].clone()]);
    let two = ["--status", "completed", "--status", "waiting_external"];
    assert_eq!(listed(&two).await, (vec![ids[2].clone(), ids[0].clone()], json!(false)));
    assert_eq!(listed(&[&two[..], &["--limit", "1"]].concat()).await, (vec![ids[2].clone()], json!(true)));
    assert_eq!(listed(&["--type", "ask"]).await.0, [ids[1].clone()]);
    assert_eq!(listed(&["--tenant", "acme"]).await.0, newest_first);
    assert_eq!(listed(&["--tenant", "other"]).await.0, [] as [String; 0]);
    assert_eq!(listed(&["--repo", "acme/widgets"]).await.0, [] as [String; 0]);
    let some = runs(&place, &daemon, &["list", "--limit", "2"]).await.done();
    assert!(some.ends_with("\nThere are more: use --limit N or --all to show them.\n"), "{some}");
    let none = runs(&place, &daemon, &["list", "--status", "failed"]).await.done();
    assert_eq!(none, "No matching runs. To list all: merge-train runs list\n");
    let (_, api) = daemon.get("/api/v1/runs").await;
    assert_eq!(runs(&place, &daemon, &["list", "--json"]).await.json()["runs"], api["runs"]);
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_over_the_pages_of_the_api() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let created: Vec<String> =
        stream::iter(0..201).map(|_| create(&daemon, "alice")).buffer_unordered(AT_ONCE).collect().await;
    assert_eq!(created.len(), 201);
    let count = async |words: &[&str]| {
        let said = runs(&place, &daemon, &[&["list", "--json"], words].concat()).await.json();
        (said["runs"].as_array().map(Vec::len), said["has_more"] == true)
    };
    assert_eq!(count(&[]).await, (Some(20), true), "a screen, unless more is asked for");
    assert_eq!(count(&["--limit", "200"]).await, (Some(200), true));
    assert_eq!(count(&["--limit", "201"]).await, (Some(201), false));
    assert_eq!(count(&["--all"]).await, (Some(201), false));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_begun_with_its_inputs_and_shown_with_what_came_of_it() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let begun =
        runs(&place, &daemon, &["start", "one", "--repo", "acme/widgets", "--pr", "7", "-i", "pr=7"]).await.done();
    let id = begun.lines().next().expect("an id").to_owned();
    assert_eq!(begun, format!("{id}\none has started.\nTo follow it: merge-train runs watch {id}\n"));
    let run = becomes(&daemon, &id, "completed").await;
    assert_eq!((&run["trigger"]["source"], &run["trigger"]["userId"]), (&json!("cli"), &json!("api:all")), "{run}");
    assert_eq!((&run["repoId"], &run["prId"]), (&json!("acme/widgets"), &json!("7")), "{run}");
    let told = runs(&place, &daemon, &["show", &id]).await.done();
    for expected in [
        &format!("{id}  completed\n"),
        "what       one for acme/widgets#7, ",
        "by api:all, from the command line\n",
        "inputs     {\"pr\":7}\n",
        "  STEP  STATUS     DONE BY  ATTEMPTS  TOOK\n  read  completed  read     1         ",
        "result     {\"files\":3}\n",
    ] {
        assert!(told.contains(expected), "{expected} is not in:\n{told}");
    }
    let shown = runs(&place, &daemon, &["show", &id, "--json"]).await.json();
    assert_eq!((&shown["id"], &shown["steps"][0]["output"]), (&json!(id), &json!({ "files": 3 })), "{shown}");

    // From a file, from standard input, and what is said beside it counts before.
    let file = place.dir.path().join("inputs.json");
    std::fs::write(&file, r#"{ "pr": 8, "note": "from a file" }"#).expect("written");
    let from_file = format!("@{}", file.display());
    let words = ["start", "one", "--tenant", "acme", "--inputs", &from_file, "-i", "pr=9", "--json"];
    let run = runs(&place, &daemon, &words).await.json();
    assert_eq!(inputs(&daemon, &run["id"]).await, json!({ "pr": 9, "note": "from a file" }));
    let mut piped = asking(&place.setup, &daemon.url, &["start", "one", "--tenant", "acme", "--inputs", "-", "--json"]);
    let mut child = piped.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(br#"{ "note": "from outside" }"#).await.expect("it reads");
    drop(stdin);
    let run = Said::of(child.wait_with_output().await.expect("it ends")).json();
    assert_eq!(inputs(&daemon, &run["id"]).await, json!({ "note": "from outside" }));
    assert!(daemon.stop().await.success());
}

async fn inputs(daemon: &Daemon, run: &Value) -> Value {
    let (_, events) = daemon.get(&format!("/api/v1/runs/{}/events", run.as_str().expect("an id"))).await;
    events["events"][0]["inputs"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_begins_one_run() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let start = async |note: &str| {
        let note = format!("note={note}");
        runs(&place, &daemon, &["start", "one", "--tenant", "acme", "-i", &note, "--id", "release-7"]).await
    };
    let first = start("first").await.done();
    let again = start("first").await.done();
    assert_eq!(first.lines().next(), again.lines().next());
    assert!(again.contains("\none was already started with the same id.\n"), "{again}");
    let other = start("second").await;
    assert_eq!(other.code, Some(1), "{}", other.out);
    assert!(other.err.contains("key reused with a different body; this request was not accepted"), "{}", other.err);
    assert_eq!(runs(&place, &daemon, &["list", "--json"]).await.json()["runs"].as_array().map(Vec::len), Some(1));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_says_who_may_decide_and_takes_their_word() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let (ask, no, both) = (create(&daemon, "ask").await, create(&daemon, "ask").await, create(&daemon, "both").await);
    for run in [&ask, &no, &both] {
        becomes(&daemon, run, "awaiting_approval").await;
    }
    let told = runs(&place, &daemon, &["show", &both]).await.done();
    assert!(told.contains("waits for  all of api:all, alice to approve; a single rejection ends the run\n"), "{told}");
    assert!(told.contains(&format!("  merge-train runs approve {both} ")), "{told}");
    let gate = runs(&place, &daemon, &["show", &both, "--json"]).await.json()["gate"].clone();
    assert_eq!((&gate["by"], &gate["need"]), (&json!(["api:all", "alice"]), &json!("all")), "{gate}");

    let half = runs(&place, &daemon, &["approve", &both, "--reason", "looks fine"]).await.done();
    let noted = format!("Your approval of step ok of {both} is recorded; others have to approve as well.\n");
    assert!(half.starts_with(&noted), "{half}");
    assert!(runs(&place, &daemon, &["show", &both]).await.done().contains("api:all approved just now: looks fine\n"));
    let twice = runs(&place, &daemon, &["approve", &both]).await;
    assert_eq!((twice.code, twice.err.as_str()), (Some(1), "error: api:all has already decided\n"));

    let yes = runs(&place, &daemon, &["approve", &ask, "--json"]).await.json();
    assert_eq!((&yes["result"], &yes["run"]["id"]), (&json!("approved"), &json!(ask)), "{yes}");
    becomes(&daemon, &ask, "completed").await;
    let rejected = runs(&place, &daemon, &["reject", &no, "--reason", "not today"]).await.done();
    assert!(rejected.starts_with(&format!("step ok of {no} is rejected, which ends the run.\n")), "{rejected}");
    let run = show(&daemon, &no).await;
    assert_eq!((&run["status"], &run["error"]), (&json!("failed"), &json!("rejected by api:all: not today")));
    let told = runs(&place, &daemon, &["show", &no]).await.done();
    assert!(told.contains("error      rejected by api:all: not today\n"), "{told}");
    assert!(told.contains("  merge-train runs start ask --tenant acme  to start over\n"), "{told}");
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled_or_goes_on_at_once() {
    let place = workflows();
    let daemon = place.setup.start().await;
    let (hear, sleep) = (create(&daemon, "hear").await, create(&daemon, "sleep").await);
    becomes(&daemon, &hear, "waiting_external").await;
    let told = runs(&place, &daemon, &["show", &hear]).await.done();
    assert!(told.contains("waits for  the event landed\n"), "{told}");
    let went_on = runs(&place, &daemon, &["resume", &hear, "--reason", "it did land"]).await.done();
    assert!(went_on.starts_with(&format!("{hear} continues without the event landed.\n")), "{went_on}");
    becomes(&daemon, &hear, "completed").await;

    eventually("it sleeps", || async { (place.times("nap") == 1).then_some(()) }).await;
    let cancelled = runs(&place, &daemon, &["cancel", &sleep, "--reason", "enough"]).await.done();
    assert!(cancelled.starts_with(&format!("{sleep} is ")), "{cancelled}");
    becomes(&daemon, &sleep, "cancelled").await;
    let told = runs(&place, &daemon, &["show", &sleep]).await.done();
    assert!(told.contains("cancelled  by api:all, ") && told.contains(": enough\n"), "{told}");
    assert!(told.contains("undone     nap, just now\n"), "{told}");
    let again = runs(&place, &daemon, &["cancel", &sleep]).await;
    assert_eq!((again.code, again.err.as_str()), (Some(1), "error: the run is already cancelled\n"));
    assert!(daemon.stop().await.success());
}
