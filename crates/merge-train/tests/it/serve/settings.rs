//! Settings, as far as a running daemon shows that it goes by them: from the file and from the environment.

mod trains;

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;

use crate::serve::upkeep;
use crate::support::{Daemon, Database, Sender, Setup, eventually, pull_request};

const REPO: &str = "acme/widgets";

/// The two ways to set something.
struct Ways {
    section: &'static str,
    key: &'static str,
    value: &'static str,
    variable: &'static str,
}

impl Ways {
    /// A setup without the setting, or with it in the file or in the environment; `besides` stands in the same section.
    fn apply(&self, way: &str, setup: Setup, besides: &str) -> Setup {
        let Self { section, key, value, variable } = self;
        match way {
            "file" => setup.more(&format!("[{section}]\n{key} = {value}\n{besides}")),
            "environment" => {
                let set = format!("{variable}={}", value.trim_matches('"'));
                setup.more(&format!("[{section}]\n{besides}")).through(&["env", &set])
            }
            _ => setup.more(&format!("[{section}]\n{besides}")),
        }
    }

    /// A daemon for each: without the setting, with it in the file, with it in the environment.
    fn setups(&self, besides: &str) -> Vec<(&'static str, tempfile::TempDir, Setup)> {
        let made = ["default", "file", "environment"].map(|way| {
            let dir = tempfile::tempdir().expect("a folder");
            let setup = self.apply(way, Setup::new(dir.path()), besides);
            (way, dir, setup)
        });
        made.into()
    }
}

/// Tells a daemon of pull requests that were closed long ago, and of one that is open.
async fn tell_of_closed(daemon: &Daemon, count: u64) {
    let sender = Sender::to(&daemon.url);
    for number in 1..=count {
        let mut payload = pull_request(REPO, number, "closed", number, number);
        let closed = json!({ "state": "closed", "closed_at": two_days_ago() });
        let pull = payload["pull_request"].as_object_mut().expect("an object");
        pull.extend(closed.as_object().expect("an object").clone());
        let answer = sender.send("pull_request", &format!("closed-{number}"), &payload).await.expect("an answer");
        assert_eq!(answer.status(), 202);
    }
    let open = pull_request(REPO, count + 1, "opened", count + 1, count + 1);
    assert_eq!(sender.send("pull_request", "open", &open).await.expect("an answer").status(), 202);
}

fn two_days_ago() -> String {
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(48);
    at.to_string()
}

/// Only where a snapshot is taken is anything forgotten.
const COMPACTING: &str = "compact_after_events = 10\n";

async fn remembered(setup: &Setup, count: u64) -> usize {
    let daemon = setup.start().await;
    tell_of_closed(&daemon, count).await;
    Database::Sqlite.settled(setup).await;
    // A snapshot that was taken meanwhile knew only some of them. The next is taken when enough has happened.
    let before = daemon.state(REPO).await["snapshot_at"].clone();
    let (sender, sent) = (Sender::to(&daemon.url), AtomicU32::new(0));
    let compacted = || async {
        let payload = json!({ "action": "starred", "repository": { "full_name": REPO } });
        let id = format!("star-{}", sent.fetch_add(1, Ordering::Relaxed));
        sender.send("star", &id, &payload).await.expect("an answer");
        let state = daemon.state(REPO).await;
        (state["snapshot_at"] != before).then_some(state)
    };
    let state = eventually("what is old is considered", compacted).await;
    assert!(daemon.stop().await.success());
    state["prs"].as_object().expect("pull requests").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_pull_requests_are_remembered_as_long_as_is_said() {
    let ways = Ways {
        section: "housekeeping",
        key: "pr_retention_days",
        value: "1",
        variable: "MERGE_TRAIN_PR_RETENTION_DAYS",
    };
    for (way, _dir, setup) in ways.setups(COMPACTING) {
        let left = remembered(&setup, 12).await;
        assert_eq!(left < 12, way != "default", "{way}: {left} are left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_pull_requests_are_remembered_than_is_said() {
    let ways = Ways {
        section: "housekeeping",
        key: "max_prs_in_snapshot",
        value: "10",
        variable: "MERGE_TRAIN_MAX_PRS_IN_SNAPSHOT",
    };
    for (way, _dir, setup) in ways.setups(COMPACTING) {
        let left = remembered(&setup, 30).await;
        assert_eq!(left < 30, way != "default", "{way}: {left} are left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_without_work_ends_when_it_is_said_to() {
    let ways = Ways {
        section: "behavior",
        key: "idle_worker_mins",
        value: "0.01",
        variable: "MERGE_TRAIN_BEHAVIOR_IDLE_WORKER_MINS",
    };
    for (way, _dir, setup) in ways.setups("") {
        let daemon = setup.start().await;
        let workers = async || {
            let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.expect("an answer");
            let text = metrics.text().await.expect("text");
            let line = text.lines().find_map(|line| line.strip_prefix("merge_train_workers ").map(str::to_owned));
            line.expect("the workers are counted")
        };
        // A delivery of no consequence: nothing is owed after it.
        let payload = json!({ "action": "starred", "repository": { "full_name": REPO } });
        Sender::to(&daemon.url).send("star", "s", &payload).await.expect("an answer");
        Database::Sqlite.settled(&setup).await;
        if way == "default" {
            assert_eq!(workers().await, "1");
        } else {
            eventually("the worker is gone", || async { (workers().await == "0").then_some(()) }).await;
        }
        assert!(daemon.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_of_no_train_is_removed_when_it_is_older_than_is_said() {
    let ways = Ways {
        section: "housekeeping",
        key: "worktree_max_age_hours",
        value: "1",
        variable: "MERGE_TRAIN_WORKTREE_MAX_AGE_HOURS",
    };
    for (way, dir, setup) in ways.setups("") {
        upkeep::with_train(&setup, dir.path()).await;
        let orphan = upkeep::with_worktrees(&setup, &[6]).await.remove(0);
        upkeep::last_changed(&orphan, std::time::Duration::from_secs(2 * 60 * 60));
        let daemon = setup.start().await;
        let tidied = setup.clones().join("acme-widgets/clone/collected");
        eventually("the clone is tidied", || async { tidied.exists().then_some(()) }).await;
        assert_eq!(orphan.exists(), way == "default", "{way}: {}", daemon.log());
        assert!(daemon.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_out_of_range_keeps_the_daemon_from_starting_and_says_what_is_allowed() {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, value, told) in [
        ("MERGE_TRAIN_POLL_INTERVAL_MINS", "0", "it must be a number of minutes, 0.01–1440"),
        ("MERGE_TRAIN_WAIT_TIMEOUT_MINS", "1e9", "it must be a number of minutes, 0.01–1440"),
        ("MERGE_TRAIN_MAX_STACK_SIZE", "0.5", "it must be a whole number, 1–200"),
        ("MERGE_TRAIN_AUTO_START", "perhaps", "it must be true or false"),
        ("MERGE_TRAIN_MERGE_TITLE", "{titel}", "there is no placeholder {titel}; use {title}, {number}"),
    ] {
        for command in ["serve", "doctor"] {
            let output = Setup::new(dir.path()).command(&[command]).env(name, value).output().await.expect("it runs");
            assert_eq!(output.status.code(), Some(1), "{command} {name}");
            let text =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(text.contains(name) && text.contains(told), "{command}: {text}");
        }
    }
}
