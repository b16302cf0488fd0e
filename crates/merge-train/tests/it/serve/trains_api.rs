//! Trains from outside GitHub: the API, and the commands that talk to it.

mod command_line;
mod landing;
mod orders;
pub mod yard;

use serde_json::{Value, json};

use crate::support::{Daemon, KEY, Setup, http};

const REPO: &str = "acme/widgets";
const TIME: &str = "2026-01-01T00:00:00Z";

/// The log of a repository that nobody works on at GitHub, as an export has it.
#[derive(Default)]
struct History(Vec<Value>);

impl History {
    fn say(&mut self, event: Value) {
        let mut line = json!({ "seq": self.0.len() + 1, "ts": TIME });
        line.as_object_mut().expect("an object").extend(event.as_object().expect("an object").clone());
        self.0.push(line);
    }

    /// An open pull request, on the default branch or on another.
    fn pull(&mut self, number: u64, on: Option<u64>) {
        let base = on.map_or("main".to_owned(), |on| format!("branch-{on}"));
        self.say(json!({
            "type": "pr_observed", "pr": number, "head_ref": format!("branch-{number}"), "base_ref": base,
            "head_sha": format!("{number:040x}"), "draft": number == 3, "head_repo": "same", "author": 7,
            "updated_at": TIME, "title": format!("Change {number}"),
        }));
        self.say(json!({ "type": "pr_state_changed", "pr": number, "state": "open" }));
        if let Some(on) = on {
            self.say(json!({ "type": "predecessor_declared", "pr": number, "predecessor": on }));
        }
    }

    /// Three stacks: one whose train was stopped on its way, one whose train was aborted, one without a train. And two pull
    /// requests that are over.
    fn of_three_stacks() -> Self {
        let mut history = Self::default();
        history.say(json!({ "type": "default_branch_changed", "default_branch": "main" }));
        history.pull(1, None);
        history.pull(2, Some(1));
        history.pull(3, Some(2));
        history.pull(10, None);
        history.pull(20, None);
        history.pull(30, None);
        history.pull(31, None);
        history.say(json!({ "type": "pr_merged", "pr": 30, "sha": format!("{:040x}", 0xf00) }));
        history.say(json!({ "type": "pr_state_changed", "pr": 31, "state": "closed" }));
        history.say(json!({ "type": "train_started", "root_pr": 1, "current_pr": 1 }));
        history.say(json!({ "type": "squash_committed", "train_root": 1, "pr": 1, "sha": format!("{:040x}", 0xabc) }));
        history.say(json!({ "type": "pr_merged", "pr": 1, "sha": format!("{:040x}", 0xabc) }));
        history.say(json!({
            "type": "phase_transition", "train_root": 1, "current_pr": 2, "predecessor_pr": null,
            "last_squash_sha": format!("{:040x}", 0xabc), "phase": "Idle",
        }));
        history.say(json!({ "type": "train_stopped", "root_pr": 1 }));
        history.say(json!({ "type": "train_started", "root_pr": 10, "current_pr": 10 }));
        let error = json!({ "error_type": "merge_conflict", "message": "CONFLICT (content): `a.txt`" });
        history.say(json!({ "type": "train_aborted", "root_pr": 10, "error": error }));
        history.say(json!({ "type": "sync_completed" }));
        history
    }

    /// Makes it the state that a daemon begins with.
    async fn import(&self, setup: &Setup) {
        let export = setup.dir().join("export");
        let folder = export.join(REPO);
        std::fs::create_dir_all(&folder).expect("a folder");
        let lines: String = self.0.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join("generation"), "0").expect("written");
        std::fs::write(folder.join("events.0.log"), lines).expect("written");
        let output = setup.command(&["state", "import", export.to_str().expect("a name")]).output().await;
        let output = output.expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A daemon whose GitHub is not there, with three stacks in its state.
async fn railway() -> (tempfile::TempDir, Setup, Daemon) {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    History::of_three_stacks().import(&setup).await;
    let daemon = setup.start().await;
    (dir, setup, daemon)
}

fn path(rest: &str) -> String {
    format!("/api/v1/repos/{REPO}/trains{rest}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_shown_with_its_stack_and_how_far_it_came() {
    let (_dir, _setup, daemon) = railway().await;
    let (status, train) = daemon.get(&path("/1")).await;
    assert_eq!(status, 200, "{train}");
    for (field, expected) in [
        ("repo", json!(REPO)),
        ("root", json!(1)),
        ("state", json!("stopped")),
        ("run_state", json!("cancelled")),
        ("current_pr", json!(2)),
        ("phase", json!("idle")),
        ("stopped_at", json!(TIME)),
        ("error", Value::Null),
        ("status_comment_url", Value::Null),
    ] {
        assert_eq!(train[field], expected, "{field}: {train}");
    }
    let commit = format!("{:040x}", 0xabc);
    let row = |pr: u64, on: Option<u64>, standing: &str, commit: Option<&str>| json!({ "pr": pr, "title": format!("Change {pr}"), "branch": format!("branch-{pr}"), "predecessor": on, "standing": standing, "merge_commit": commit });
    let expected =
        json!([row(1, None, "landed", Some(&commit)), row(2, Some(1), "open", None), row(3, Some(2), "draft", None)]);
    assert_eq!(train["stack"], expected);
    assert_eq!((&train["record"]["version"], &train["record"]["last_squash_sha"]), (&json!(1), &json!(commit)));
    // By any pull request on board: whoever asks need not know where it began.
    assert_eq!(daemon.get(&path("/3")).await.1["root"], 1);
    let (_, aborted) = daemon.get(&path("/10")).await;
    assert_eq!((&aborted["run_state"], &aborted["error"]["error_type"]), (&json!("failed"), &json!("merge_conflict")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_trains_and_that_of_repositories_come_in_pages() {
    let (_dir, _setup, daemon) = railway().await;
    let (status, first) = daemon.get(&path("?limit=1")).await;
    assert_eq!(status, 200, "{first}");
    assert_eq!((first["trains"].as_array().map(Vec::len), &first["trains"][0]["root"]), (Some(1), &json!(1)));
    let cursor = first["next_cursor"].as_str().expect("there is more");
    let (_, second) = daemon.get(&path(&format!("?limit=1&cursor={cursor}"))).await;
    assert_eq!((&second["trains"][0]["root"], &second["next_cursor"]), (&json!(10), &Value::Null));
    let (_, all) = daemon.get(&path("")).await;
    assert_eq!(all["trains"].as_array().map(Vec::len), Some(2));

    let (_, repos) = daemon.get("/api/v1/repos").await;
    assert_eq!((&repos["repos"][0]["repo"], &repos["next_cursor"]), (&json!(REPO), &Value::Null));
    assert_eq!(daemon.get_with("/api/v1/repos", &format!("{KEY} stranger")).await.1["repos"], json!([]));
    for wrong in ["?limit=0", "?limit=201", "?limit=x", "?cursor=soon", "?page=2"] {
        let (status, problem) = daemon.get(&path(wrong)).await;
        assert_eq!((status, &problem["code"]), (400, &json!("BAD_REQUEST")), "{wrong}: {problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_a_train_that_is_not_there_is_told_what_is_missing() {
    let (_dir, _setup, daemon) = railway().await;
    for (address, status, code, word) in [
        (path("/20"), 404, "NO_SUCH_TRAIN", "no current train includes #20 of acme/widgets"),
        (path("/999"), 404, "NO_SUCH_TRAIN", "#999"),
        (path("/0"), 400, "BAD_REQUEST", "\"0\" is not a pull request number"),
        (path("/%231"), 400, "BAD_REQUEST", "without the #"),
        (path("/99999999999999999999"), 400, "BAD_REQUEST", "is not a pull request number"),
        ("/api/v1/repos/acme/unheard/trains".to_owned(), 404, "NOT_FOUND", "acme/unheard is not known yet"),
        ("/api/v1/repos/acme/..%2f/trains".to_owned(), 400, "BAD_REQUEST", "OWNER/NAME"),
    ] {
        let (found, problem) = daemon.get(&address).await;
        assert_eq!((found, &problem["code"]), (status, &json!(code)), "{address}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(word)), "{address}: {problem}");
    }
    for address in [path(""), path("/1"), "/api/v1/repos".to_owned()] {
        let without_key = http().get(format!("{}{address}", daemon.url)).send().await.expect("an answer");
        assert_eq!(without_key.status(), 401, "{address}");
        assert_eq!(without_key.headers()["content-type"], "application/problem+json");
    }
    assert_eq!(
        daemon.get_with(&path("/1"), &format!("{KEY} stranger")).await.0,
        404,
        "nor does it exist for strangers"
    );
    assert_eq!(daemon.get_with(&path("/1"), &format!("{KEY} viewer")).await.0, 200);
}
