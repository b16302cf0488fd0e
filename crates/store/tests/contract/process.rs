//! Processes: one for each state directory, and what is left of one that was killed. Instances: several on one server.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use store::{Admission, Error, Sqlite, Store, sqlite};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::support::*;

const REPO: &str = "repo:acme/widgets";
const DIR: &str = "MERGE_TRAIN_TEST_STATE_DIR";

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_is_told_who_has_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("deep/state");
    let first = Sqlite::open(options(&state)).await.unwrap();
    let refused = Sqlite::open(options(&state)).await.err().unwrap();
    let Error::InUse { holder, .. } = &refused else { panic!("in use, not {refused:?}") };
    assert!(holder.contains(&format!("process {} on ", std::process::id())), "{holder}");
    assert!(holder.contains("started 20"), "{holder}");
    assert!(refused.to_string().contains("only one merge-train"), "{refused}");
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    first.close().await;
    Sqlite::open(options(&state)).await.unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_file_of_a_dead_process_is_no_obstacle() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("lock"),
        "process 1 on elsewhere, started in 1999 (a very long line, longer than ours)\n",
    )
    .unwrap();
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    let lock = std::fs::read_to_string(dir.path().join("lock")).unwrap();
    assert!(lock.starts_with(&format!("process {}", std::process::id())) && lock.lines().count() == 1, "{lock}");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_of_a_former_process_are_over_when_the_next_one_opens() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    store.admit(arrival("github:1", REPO, at(0))).await.unwrap();
    let old = store.acquire(request(REPO, "former", at(0))).await.unwrap();
    store.take(&old, ALL).await.unwrap();
    store.close().await;
    assert!(store.admit(arrival("github:2", REPO, at(0))).await.unwrap_err().is_outage(), "closed");
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    assert_eq!(store.waiting(at(1), 10).await.unwrap().len(), 1);
    let new = store.acquire(request(REPO, "latter", at(1))).await.unwrap();
    assert_eq!(keys(&store.take(&new, ALL).await.unwrap()), ["github:1"]);
    assert!(matches!(store.append(&old, batch(1, ["lost"], at(1))).await, Err(Error::Fenced { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_from_outside_disturbs_nobody_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Sqlite::open_read_only(dir.path()).await, Err(Error::File { .. })), "nothing is there");
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    store.admit(arrival("github:1", REPO, at(0))).await.unwrap();
    let look = Sqlite::open_read_only(dir.path()).await.unwrap();
    assert_eq!(look.streams(None).await.unwrap()[0].unsettled, 1);
    assert!(matches!(look.admit(arrival("github:2", REPO, at(0))).await, Err(Error::ReadOnly { .. })));
    assert!(matches!(look.check(at(0)).await, Err(Error::ReadOnly { .. })));
    store.admit(arrival("github:2", REPO, at(0))).await.unwrap();
    assert_eq!(look.streams(None).await.unwrap()[0].unsettled, 2);
    look.close().await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 0..4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::admits_until_it_is_killed", "--ignored", "--nocapture"])
            .env(DIR, dir.path())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        let read = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if let Some(name) = line.strip_prefix("acknowledged ") {
                    acknowledged.push(name.to_owned());
                    seen += 1;
                    if seen == 100 + round * 37 {
                        child.start_kill().unwrap();
                    }
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), read).await.unwrap();
        let status = child.wait().await.unwrap();
        assert!(!status.success(), "it was killed");
    }
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    let limit = store::TakeLimit { entries: 100_000, bytes: usize::MAX };
    let left = store.unsettled(&stream(REPO), None, limit).await.unwrap();
    let left: std::collections::HashSet<_> = left.iter().map(|entry| entry.key.as_str()).collect();
    assert!(acknowledged.len() >= 400);
    for name in &acknowledged {
        assert!(left.contains(name.as_str()), "{name} was acknowledged and is gone");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "run and killed by what_was_acknowledged_is_there_after_a_kill"]
async fn admits_until_it_is_killed() {
    let dir = std::env::var(DIR).unwrap();
    let options = sqlite::Options { group: 16, ..options(std::path::Path::new(&dir)) };
    let store = std::sync::Arc::new(Sqlite::open(options).await.unwrap());
    let process = std::process::id();
    let callers: Vec<_> = (0..20)
        .map(|caller| {
            let store = std::sync::Arc::clone(&store);
            tokio::spawn(async move {
                for number in 0..1_000_000 {
                    let name = format!("github:{process}-{caller}-{number}");
                    assert_eq!(store.admit(arrival(&name, REPO, at(0))).await.unwrap(), Admission::Accepted);
                    println!("acknowledged {name}");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_wakes_the_others_and_not_itself() {
    let url = fresh_database().await;
    let (one, two) = (instance(&url, "one").await, instance(&url, "two").await);
    let (mut own, mut others) = (one.wakes(), two.wakes());
    // The second may not be listening yet: it is told until it hears.
    let heard = async {
        for number in 0..1000 {
            one.admit(arrival(&format!("github:{number}"), REPO, at(0))).await.unwrap();
            if let Ok(heard) = tokio::time::timeout(Duration::from_millis(200), others.recv()).await {
                return heard.unwrap();
            }
        }
        panic!("nothing was heard");
    };
    assert_eq!(heard.await, stream(REPO));
    two.admit(arrival("github:back", "repo:acme/other", at(0))).await.unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(10), own.recv()).await.unwrap().unwrap();
    assert_eq!(heard, stream("repo:acme/other"), "its own arrivals did not wake it");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_take_in_one_key_once_and_own_a_stream_one_at_a_time() {
    let url = fresh_database().await;
    let stores = [std::sync::Arc::new(instance(&url, "one").await), std::sync::Arc::new(instance(&url, "two").await)];
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let store = std::sync::Arc::clone(&stores[number % 2]);
            // Forty keys, each brought five times, by both instances.
            tokio::spawn(
                async move { store.admit(arrival(&format!("github:{}", number / 5), REPO, at(0))).await.unwrap() },
            )
        })
        .collect();
    let mut accepted = 0;
    for task in tasks {
        accepted += usize::from(task.await.unwrap() == Admission::Accepted);
    }
    assert_eq!(accepted, 40);
    let lease = stores[0].acquire(request(REPO, "one", at(0))).await.unwrap();
    assert!(matches!(stores[1].acquire(request(REPO, "two", at(1))).await, Err(Error::Held { .. })));
    let heir = stores[1].acquire(request(REPO, "two", at(60))).await.unwrap();
    assert!(matches!(stores[0].append(&lease, batch(1, ["lost"], at(61))).await, Err(Error::Fenced { .. })));
    stores[1].append(&heir, batch(1, ["one"], at(61))).await.unwrap();
}
