//! The disk is full, the database is gone: nothing acknowledged is lost, and all goes on by itself.

use std::process::Stdio;

use tokio::process::Command;
use tokio::time::Instant;

use crate::support::{Daemon, Database, Log, PATIENCE, Sender, Setup, eventually, pull_request};

const REPO: &str = "acme/widgets";

/// Sends one after the other until `enough` says so; those that were acknowledged.
async fn send_until(daemon: &Daemon, first: u64, mut enough: impl FnMut(u16) -> bool) -> (Vec<String>, u64) {
    let sender = Sender::to(&daemon.url);
    let mut acknowledged = Vec::new();
    for number in first..first + 100_000 {
        let delivery = format!("d-{number:06}");
        let mut payload = pull_request(REPO, 1, "synchronize", number, number);
        payload["padding"] = "x".repeat(20_000).into();
        let status = sender.send("pull_request", &delivery, &payload).await.expect("an answer").status().as_u16();
        if status == 202 {
            acknowledged.push(delivery);
        }
        if enough(status) {
            return (acknowledged, number + 1);
        }
    }
    panic!("never enough");
}

async fn readiness(daemon: &Daemon) -> (u16, String) {
    let (status, body) = daemon.get("/readyz").await;
    (status, body["detail"].as_str().unwrap_or_default().to_owned())
}

async fn check_log(setup: &Setup, database: &Database, acknowledged: &[String]) {
    let store = database.open(setup).await;
    let log = eventually("all that was acknowledged is processed", || async {
        let log = Log::read(store.as_ref(), REPO).await;
        let counts = log.counts();
        let complete = acknowledged.iter().all(|delivery| counts.contains_key(delivery.as_str()));
        complete.then_some(log)
    })
    .await;
    let counts = log.counts();
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    let order: Vec<&str> =
        log.deliveries().into_iter().filter(|delivery| acknowledged.iter().any(|sent| sent == delivery)).collect();
    assert_eq!(order, acknowledged.iter().map(String::as_str).collect::<Vec<_>>());
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_files_cannot_grow_intake_answers_503_and_goes_on_when_they_can() {
    let dir = tempfile::tempdir().expect("a folder");
    // A file-size limit is a full disk that needs no disk: the write fails in the same place. Blocks of 512 bytes.
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -S -f 4000; exec \"$0\" \"$@\""];
    let setup = Setup::new(dir.path()).through(&limited);
    let daemon = setup.start().await;
    eventually("it is ready", || async { (readiness(&daemon).await.0 == 200).then_some(()) }).await;
    let (mut acknowledged, mut next) = send_until(&daemon, 0, |status| status == 503).await;
    assert!(!acknowledged.is_empty());
    // The log's file is full first, and room is made in the other; until that is full as well.
    let deadline = Instant::now() + PATIENCE;
    let reason = loop {
        let (status, reason) = readiness(&daemon).await;
        if status == 503 {
            break reason;
        }
        assert!(Instant::now() < deadline, "readyz never says why");
        let (more, after) = send_until(&daemon, next, |_| true).await;
        acknowledged.extend(more);
        next = after;
    };
    assert!(reason.contains("the store"), "{reason}");

    let pid = daemon.pid().to_string();
    let raised =
        Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited"]).status().await.expect("prlimit runs");
    assert!(raised.success());
    let mut seen = 0;
    let (more, _) = send_until(&daemon, next, |status| {
        seen += usize::from(status == 202);
        seen == 20
    })
    .await;
    acknowledged.extend(more);
    eventually("it is ready again", || async { (readiness(&daemon).await.0 == 200).then_some(()) }).await;
    check_log(&setup, &Database::Sqlite, &acknowledged).await;
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn when_postgresql_is_gone_intake_answers_503_and_goes_on_when_it_is_back() {
    // A server of its own, since it is shot.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres");
    let tell = r#"printf '%s\n%s\n' "$MERGE_TRAIN_TEST_POSTGRES" "$MERGE_TRAIN_TEST_POSTGRES_CTL"; exec sleep 300"#;
    let mut server = Command::new(script)
        .args(["sh", "-c", tell])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("scripts/with-postgres runs");
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(server.stdout.take().expect("piped")));
    let mut line = async || lines.next_line().await.expect("text").expect("a line");
    let (url, control) = (line().await, line().await);
    let ctl = async |word: &str| assert!(Command::new(&control).arg(word).status().await.expect("it runs").success());

    let dir = tempfile::tempdir().expect("a folder");
    let database = Database::Postgres(url);
    let setup = Setup::new(dir.path()).database(database.clone());
    let daemon = setup.start().await;
    let (mut acknowledged, next) = send_until(&daemon, 0, |status| {
        assert_eq!(status, 202);
        true
    })
    .await;
    ctl("stop").await;
    let (more, next) = send_until(&daemon, next, |status| {
        assert_eq!(status, 503);
        true
    })
    .await;
    assert!(more.is_empty());
    eventually("readyz says so", || async { (readiness(&daemon).await.0 == 503).then_some(()) }).await;
    assert_eq!(daemon.get("/healthz").await.0, 200, "it is alive all the same");
    ctl("start").await;
    let (more, _) = send_until(&daemon, next, |status| status == 202).await;
    acknowledged.extend(more);
    eventually("it is ready again", || async { (readiness(&daemon).await.0 == 200).then_some(()) }).await;
    check_log(&setup, &database, &acknowledged).await;
    assert!(daemon.stop().await.success());
    let pid =
        rustix::process::Pid::from_raw(i32::try_from(server.id().expect("it runs")).expect("a pid")).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    tokio::time::timeout(PATIENCE, server.wait()).await.expect("the server ends").expect("a status");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_instances_share_a_database_and_one_carries_on_when_the_other_dies() {
    let (one_dir, two_dir) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let database = Database::postgres().await;
    let one = Setup::new(one_dir.path()).database(database.clone()).start().await;
    let setup = Setup::new(two_dir.path()).database(database.clone());
    let two = setup.start().await;
    let (mut acknowledged, mut next) = (Vec::new(), 0);
    for round in 0..10 {
        let daemon = if round % 2 == 0 { &one } else { &two };
        let (more, after) = send_until(daemon, next, |_| true).await;
        acknowledged.extend(more);
        next = after;
    }
    one.kill().await;
    let (more, _) = send_until(&two, next, |_| true).await;
    acknowledged.extend(more);
    assert_eq!(acknowledged.len(), 11);
    check_log(&setup, &database, &acknowledged).await;
    assert!(two.stop().await.success());
}
