//! A database of another version of merge-train: an older one is brought up to date, a newer one is refused.

use std::path::Path;

use sqlx::{Connection, Executor};

use crate::support::{Database, Log, Sender, Setup, pull_request};

const REPO: &str = "acme/widgets";

/// Makes of a database what the first version would have written.
const OLDER: &str = "
    ALTER TABLE streams DROP COLUMN checksum;
    ALTER TABLE events DROP COLUMN checksum;
    ALTER TABLE snapshots DROP COLUMN checksum;
    ALTER TABLE bodies DROP COLUMN checksum;
    DROP TABLE schedules;
    DROP INDEX runs_by_end;
    DROP INDEX runs_of_all_by_status;
    DROP INDEX runs_of_all_by_repo;
    DROP INDEX runs_of_all_by_kind;
    ALTER TABLE runs DROP COLUMN completed_at;
    ALTER TABLE runs DROP COLUMN duration_ms;
    DROP TABLE landings;
    ALTER TABLE runs DROP COLUMN outcome;
    ALTER TABLE runs DROP COLUMN waited;
    DROP INDEX runs_by_kind;
    DROP INDEX runs_by_id;
    ALTER TABLE runs DROP COLUMN kind;
    DROP INDEX workspaces_by_end;
    DROP INDEX workspaces_open;
    DROP INDEX sessions_by_age;
    ALTER TABLE workspaces DROP COLUMN archived_at;
    DELETE FROM meta WHERE name = 'schema';
    DELETE FROM _sqlx_migrations WHERE version > 1;
";

const NEWER: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
    VALUES (9, 'of the future', TRUE, x'00', 0)";

async fn change(setup: &Setup, statements: &'static str) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(setup.state_dir().join("merge-train.sqlite"));
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("it opens");
    connection.execute(sqlx::raw_sql(statements)).await.expect("they are understood");
    connection.close().await.expect("it closes");
}

/// A daemon takes in so many, and is killed when they are taken in.
async fn taken_in(setup: &Setup, numbers: std::ops::Range<u64>) {
    let daemon = setup.start().await;
    for number in numbers {
        let payload = pull_request(REPO, number, "opened", number, number);
        let answer = Sender::to(&daemon.url).send("pull_request", &format!("d-{number}"), &payload).await;
        assert_eq!(answer.expect("an answer").status(), 202);
    }
    daemon.kill().await;
}

async fn said(setup: &Setup, words: &[&str]) -> (bool, String) {
    let output = setup.command(words).output().await.expect("it runs");
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), told)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_goes_on_from_a_database_of_the_first_version() {
    let dir = tempfile::tempdir().expect("a folder");
    // Compacted on the way, so that there is a snapshot.
    let setup = Setup::new(dir.path()).more("[housekeeping]\ncompact_after_events = 20\n");
    taken_in(&setup, 1..31).await;
    change(&setup, OLDER).await;
    let (succeeded, told) = said(&setup, &["state", "inspect"]).await;
    assert!(!succeeded && told.contains("version 1") && told.contains("`merge-train serve` upgrades it"), "{told}");
    taken_in(&setup, 31..41).await;
    let daemon = setup.start().await;
    Database::Sqlite.settled(&setup).await;
    let store = Database::Sqlite.open(&setup).await;
    let log = Log::read(store.as_ref(), REPO).await;
    let expected: Vec<_> = (1..41).map(|number| format!("d-{number}")).collect();
    assert_eq!(log.deliveries(), expected, "each once, in order");
    store.close().await;
    assert!(daemon.stop().await.success());
    let (succeeded, told) = said(&setup, &["state", "verify"]).await;
    assert!(succeeded, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().expect("a folder");
    let setup = Setup::new(dir.path());
    taken_in(&setup, 1..3).await;
    change(&setup, NEWER).await;
    let content = |name: &str| std::fs::read(Path::new(&setup.state_dir()).join(name)).expect("a file");
    let before = content("merge-train.sqlite");
    let export = dir.path().join("export");
    for words in
        [&["serve"][..], &["state", "verify"], &["state", "export", export.to_str().expect("a name")], &["doctor"]]
    {
        let (succeeded, told) = said(&setup, words).await;
        assert!(!succeeded && told.contains("a newer merge-train"), "{words:?}: {told}");
        assert!(told.contains("version 9, and this program knows 6 at most"), "{words:?}: {told}");
        assert!(told.contains("Run the newer program"), "{words:?}: {told}");
    }
    assert!(content("merge-train.sqlite") == before);
}
