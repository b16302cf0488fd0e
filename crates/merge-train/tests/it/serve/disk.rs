//! A disk that does not do what it should: the daemon says what, where and what to do, and loses nothing.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sqlx::{Connection, Executor};

use crate::support::{Daemon, Database, Log, PATIENCE, Sender, Setup, eventually, pull_request};

const REPOS: [&str; 2] = ["acme/widgets", "globex/gadgets"];

fn database(setup: &Setup) -> PathBuf {
    setup.state_dir().join("merge-train.sqlite")
}

/// A delivery for each repository; the answers.
async fn send(daemon: &Daemon, number: u64) -> Vec<u16> {
    let sender = Sender::to(&daemon.url);
    let mut statuses = Vec::new();
    for repo in REPOS {
        let payload = pull_request(repo, number, "opened", 0xabc_0000 + number, number);
        let response = sender.send("pull_request", &format!("d-{number}"), &payload).await.expect("an answer");
        statuses.push(response.status().as_u16());
    }
    statuses
}

/// A state directory that a daemon has worked on, and left in good order.
async fn used(setup: &Setup) {
    let daemon = setup.start().await;
    for number in 1..=20 {
        assert_eq!(send(&daemon, number).await, [202, 202]);
    }
    Database::Sqlite.settled(setup).await;
    assert!(daemon.stop().await.success());
}

/// What a daemon says that does not start.
async fn refused(setup: &Setup) -> String {
    let output = tokio::time::timeout(PATIENCE, setup.command(&["serve"]).output()).await;
    let output = output.expect("it ends by itself").expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && !told.contains("panicked"), "{told}");
    told
}

/// A daemon on this directory has all that was acknowledged, once.
async fn expect_all(setup: &Setup, deliveries: u64) {
    let daemon = setup.start().await;
    Database::Sqlite.settled(setup).await;
    let store = Database::Sqlite.open(setup).await;
    for repo in REPOS {
        let log = Log::read(store.as_ref(), repo).await;
        let counts = log.counts();
        assert_eq!(counts.len() as u64, deliveries, "{counts:?}");
        assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    }
    store.close().await;
    assert!(daemon.stop().await.success());
}

/// A process that no longer may read or write where its user may not: root alone could otherwise.
pub fn without_privileges(setup: Setup) -> Setup {
    match rustix::process::geteuid().is_root() {
        true => setup.through(&["setpriv", "--bounding-set=-all", "--inh-caps=-all"]),
        false => setup,
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_directory_or_file_is_told_and_nothing_is_lost() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = without_privileges(Setup::new(dir.path()));
    used(&setup).await;
    let (state, file) = (setup.state_dir(), database(&setup));
    for (path, mode, usual) in [(&state, 0o500, 0o700), (&file, 0o400, 0o644)] {
        set_mode(path, mode);
        let told = refused(&setup).await;
        set_mode(path, usual);
        assert!(told.contains(&*state.to_string_lossy()), "{told}");
        assert!(told.contains("cannot be written") || told.contains("must be able to write"), "{told}");
        assert!(!told.contains("damaged"), "{told}");
    }
    // One that is not there yet and cannot be made.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let new = without_privileges(Setup::new(elsewhere.path()));
    new.command(&["doctor"]).output().await.expect("it writes the configuration");
    std::fs::write(new.state_dir(), "in the way").expect("written");
    let told = refused(&new).await;
    assert!(told.contains(&*new.state_dir().to_string_lossy()), "{told}");
    expect_all(&setup, 20).await;
}

/// Another program with a transaction of its own.
async fn hold(file: &Path) -> sqlx::SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.expect("it opens");
    other.execute("BEGIN IMMEDIATE").await.expect("it is free");
    other.execute("UPDATE streams SET epoch = epoch").await.expect("an update");
    other
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_another_program_holds_is_told_and_goes_on_when_it_is_free() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    used(&setup).await;
    let other = hold(&database(&setup)).await;
    let told = refused(&setup).await;
    assert!(told.contains("another program holds it") && told.contains("end that program"), "{told}");
    assert!(told.contains(&*setup.state_dir().to_string_lossy()), "{told}");
    other.close().await.expect("it ends");

    let daemon = setup.start().await;
    assert_eq!(send(&daemon, 21).await, [202, 202]);
    Database::Sqlite.settled(&setup).await;
    let other = hold(&database(&setup)).await;
    assert_eq!(send(&daemon, 22).await, [503, 503]);
    let (status, ready) = daemon.get("/readyz").await;
    assert_eq!(status, 503);
    assert!(ready["detail"].as_str().is_some_and(|detail| detail.contains("another program holds it")), "{ready}");
    other.close().await.expect("it ends");
    assert_eq!(send(&daemon, 22).await, [202, 202]);
    eventually("it is ready again", || async { (daemon.get("/readyz").await.0 == 200).then_some(()) }).await;
    // A second daemon is told who the first one is.
    let told = refused(&setup).await;
    assert!(told.contains(&format!("in use by process {}", daemon.pid())), "{told}");
    assert!(daemon.stop().await.success());
    expect_all(&setup, 22).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_database_is_refused_and_the_file_and_the_ways_out_are_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    used(&setup).await;
    let file = database(&setup);
    let good = std::fs::read(&file).expect("a file");
    for length in [0, 10_000, good.len() / 2, good.len() - 4096] {
        std::fs::write(&file, &good[..length]).expect("written");
        for told in [refused(&setup).await, text(&setup, &["state", "verify"]).await, text(&setup, &["doctor"]).await] {
            assert!(told.contains(&*file.to_string_lossy()) && told.contains("damaged"), "{length}: {told}");
        }
        let told = refused(&setup).await;
        assert!(told.contains("`merge-train state import`") && told.contains("recovered from GitHub"), "{told}");
        assert_eq!(std::fs::metadata(&file).expect("a file").len(), length as u64, "it was not touched");
    }
    std::fs::write(&file, &good).expect("written");
    expect_all(&setup, 20).await;
}

/// All that the program says to these words.
async fn text(setup: &Setup, words: &[&str]) -> String {
    let output = setup.command(words).output().await.expect("it runs");
    assert!(!output.status.success(), "{words:?}");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Changes a bit wherever these bytes are; how often.
fn flip(content: &mut [u8], wherever: &[u8]) -> usize {
    let places: Vec<_> =
        (0..content.len() - wherever.len()).filter(|at| content[*at..].starts_with(wherever)).collect();
    for place in &places {
        content[*place] ^= 1;
    }
    places.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_stops_its_repository_with_a_reason_and_no_other() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    used(&setup).await;
    let file = database(&setup);
    let good = std::fs::read(&file).expect("a file");
    // The names of branches are in events and in bodies that are done with; of one repository alone.
    let mut bad = good.clone();
    let store = Database::Sqlite.open(&setup).await;
    let last = Log::read(store.as_ref(), REPOS[0]).await.events.len();
    store.close().await;
    let connection = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).read_only(true);
    let mut connection = sqlx::SqliteConnection::connect_with(&connection).await.expect("it opens");
    let query = "SELECT data FROM events WHERE stream = 'repo:acme/widgets' AND seq = ?";
    let data: String = sqlx::query_scalar(query).bind(last as i64).fetch_one(&mut connection).await.expect("an event");
    connection.close().await.expect("it closes");
    // The middle of it: the first quotation mark there becomes another character.
    let part = &data.as_bytes()[data.len() / 2..];
    assert!(flip(&mut bad, part) >= 1, "the event is in the file");
    std::fs::write(&file, &bad).expect("written");

    let daemon = setup.start().await;
    assert_eq!(send(&daemon, 21).await, [202, 202], "what comes in is kept for when it is mended");
    eventually("the other repository goes on", || async {
        let (_, state) = daemon.get(&format!("/api/v1/repos/{}/state", REPOS[1])).await;
        state["prs"]["21"].is_object().then_some(())
    })
    .await;
    assert_eq!(daemon.get(&format!("/api/v1/repos/{}/state", REPOS[0])).await.0, 500);
    eventually("the log says what and where", || async {
        let log = daemon.log();
        let named = log.contains("repo:acme/widgets does not match its checksum");
        (named && log.contains(&*file.to_string_lossy())).then_some(())
    })
    .await;
    assert!(!daemon.log().contains("panicked"));
    daemon.kill().await;
    let told = text(&setup, &["state", "verify"]).await;
    assert!(told.contains("WRONG repo:acme/widgets") && told.contains("ok    repo:globex/gadgets"), "{told}");
    let told = text(&setup, &["state", "export", dir.path().join("export").to_str().expect("a name")]).await;
    assert!(told.contains("does not match its checksum") && !dir.path().join("export").exists(), "{told}");
}
