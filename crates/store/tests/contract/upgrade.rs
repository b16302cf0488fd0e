//! Databases of other versions of merge-train: an older one is brought up to date, a newer one is refused.

use std::path::Path;

use sqlx::migrate::Migrator;
use sqlx::{Connection, Executor};
use store::rows::Run;
use store::{Error, Postgres, RunQuery, RunStatus, Since, Sqlite, Store, postgres};

use crate::support::*;

const REPO: &str = "repo:acme/widgets";

/// The first version's migrations, with the name that the tables know them by.
async fn first_version(database: &str) -> Migrator {
    let dir = tempfile::tempdir().unwrap();
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
    std::fs::copy(all.join("0001_tables.sql"), dir.path().join("0001_tables.sql")).unwrap();
    Migrator::new(dir.path()).await.unwrap()
}

/// A row in every table, as the first version wrote them.
const ROWS: &str = r#"
    INSERT INTO meta (name, value) VALUES ('check:1', '0');
    INSERT INTO streams (stream, tenant, generation, oldest_generation, next_seq, epoch, owner, lease_expires_at, wake_at)
        VALUES ('repo:acme/widgets', 'acme', 1, 0, 4, 7, 'a former process', 1767225600000000, 1767225600000000);
    INSERT INTO events (stream, seq, ts, type, data) VALUES
        ('repo:acme/widgets', 1, 1767225600000000, 'train_started', '{"type":"train_started","root_pr":1,"current_pr":1}'),
        ('repo:acme/widgets', 2, 1767225601000000, 'train_stopped', '{"type":"train_stopped","root_pr":1}'),
        ('repo:acme/widgets', 3, 1767225602000000, 'train_started', '{"type":"train_started","root_pr":1,"current_pr":1}');
    INSERT INTO snapshots (stream, generation, next_seq, taken_at, data)
        VALUES ('repo:acme/widgets', 1, 3, 1767225601000000, '{"schema_version":1}');
    INSERT INTO inbox (tenant, key, source, stream, priority, label, size, status, request_hash, created_at, updated_at,
                       expires_at, fence, attempts)
        VALUES ('acme', 'github:1', 'github_webhook', 'repo:acme/widgets', 0, 'push', 2, 'processing', 'hash',
                1767225600000000, 1767225600000000, 1767312000000000, 1, 0);
    INSERT INTO bodies (entry, body) SELECT id, '{}' FROM inbox;
    INSERT INTO runs (tenant, id, repo, status, created_at, last_heartbeat_at, data)
        VALUES ('acme', 'r-1', 'acme/widgets', 'completed', 1767225600000000, 1767225600000000,
                '{"id":"r-1","schemaVersion":1,"tenantId":"acme","repoId":"acme/widgets","prId":"","prUrl":"","type":"nightly","status":"completed","trigger":{"source":"api"},"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:00:00Z"}'),
               ('acme', 't-1', 'acme/widgets', 'completed', 1767225600000000, 1767225600000000,
                '{"id":"t-1","schemaVersion":1,"tenantId":"acme","repoId":"acme/widgets","prId":"7","prUrl":"","type":"train","status":"completed","trigger":{"source":"api"},"result":{"landed":[7,8],"waited":{"ci":60000}},"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:02:00Z","completedAt":"2026-01-01T00:02:00.25Z","durationMs":120250}'),
               ('acme', 'f-1', 'acme/widgets', 'completed', 1767225600000000, 1767225600000000,
                '{"id":"f-1","schemaVersion":1,"tenantId":"acme","repoId":"acme/widgets","prId":"7","prUrl":"","type":"fixer","status":"completed","trigger":{"source":"api"},"result":{"outcome":"FIXER_GAVE_UP","pushed":false},"createdAt":"2026-01-01T00:00:00Z","updatedAt":"2026-01-01T00:02:00Z","completedAt":"2026-01-01T00:03:00Z","durationMs":180000}');
    INSERT INTO steps (tenant, run, id, position, data) VALUES ('acme', 'r-1', 's', 0, '{}'),
        ('acme', 't-1', 'pr-7', 0, '{"status":"completed","completedAt":"2026-01-01T00:01:00Z"}');
    INSERT INTO checkpoints (tenant, run, id, at, data) VALUES ('acme', 'r-1', 'c', 0, '{}');
    INSERT INTO workspaces (tenant, id, repo, data) VALUES ('acme', 'w', 'acme/widgets', '{}');
    INSERT INTO sessions (tenant, id, workspace, started_at, data) VALUES ('acme', 'x', 'w', 0, '{}');
    INSERT INTO transitions (tenant, id, workspace, created_at, data) VALUES ('acme', 't', 'w', 0, '{}');
"#;

/// All that the first version had written is there, and it goes on.
async fn expect_all(store: &dyn Store) {
    let oldest = store.load(&stream(REPO), Since::Oldest).await.unwrap();
    let loaded = store.load(&stream(REPO), Since::Newest).await.unwrap();
    assert_eq!((oldest.events.len(), loaded.events.len(), loaded.next_seq, loaded.generation), (3, 1, 4, 1));
    assert_eq!(loaded.snapshot.unwrap().data, r#"{"schema_version":1}"#);
    let waiting = store.unsettled(&stream(REPO), None, ALL).await.unwrap();
    assert_eq!(keys(&waiting), ["github:1"]);
    assert_eq!(waiting[0].body, b"{}");
    let of_kind = async |kind: &str| {
        let query =
            RunQuery { tenant: Some(tenant("acme")), kind: Some(kind.to_owned()), limit: 10, ..Default::default() };
        let runs: Vec<Run> = store.runs(&query).await.unwrap();
        runs.into_iter().map(|run| run.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((of_kind("nightly").await, of_kind("").await), (vec!["r-1".to_owned()], Vec::new()));
    let ended_at = "2026-01-01T00:02:00.25Z".parse().unwrap();
    let trains = store.endings(None, "train", ended_at).await.unwrap();
    assert_eq!((trains.count(RunStatus::Completed), trains.lead.unwrap().p95_ms), (1, 120_250));
    // One is known to the second, the other at least to its train.
    assert_eq!(store.landed(None, "2026-01-01T00:01:00Z".parse().unwrap()).await.unwrap(), [(20_454, 2)].into());
    assert_eq!(store.landed(None, ended_at).await.unwrap(), [(20_454, 1)].into());
    let fixers = store.endings(None, "fixer", ended_at).await.unwrap();
    assert_eq!(fixers.outcomes, [("FIXER_GAVE_UP".to_owned(), 1)].into());
    assert_eq!(trains.waited_ms, [("ci".to_owned(), 60_000)].into());
    assert_eq!(store.schedule(&tenant("acme"), "nightly").await.unwrap(), None);
    let lease = store.acquire(request(REPO, "new", at(1_000_000))).await.unwrap();
    assert_eq!(lease.epoch, 8);
    store.append(&lease, batch(4, ["and_on"], at(1_000_000))).await.unwrap();
    assert_eq!(store.load(&stream(REPO), Since::Newest).await.unwrap().events.len(), 2);
}

async fn old_directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut conn = sqlite_file(dir.path()).await;
    conn.execute("PRAGMA journal_mode = WAL").await.unwrap();
    first_version("sqlite").await.run(&mut conn).await.unwrap();
    conn.execute(sqlx::raw_sql(ROWS)).await.unwrap();
    conn.close().await.unwrap();
    dir
}

/// The columns of a table and the version of the schema.
async fn schema(dir: &Path) -> (Vec<String>, i64) {
    let mut conn = sqlite_file(dir).await;
    let columns =
        sqlx::query_scalar("SELECT name FROM pragma_table_info('bodies')").fetch_all(&mut conn).await.unwrap();
    let version = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    (columns, version)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_the_first_version_is_brought_up_to_date_with_all_its_rows() {
    let dir = old_directory().await;
    assert_eq!(schema(dir.path()).await, (vec!["entry".to_owned(), "body".to_owned()], 1));
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    expect_all(&store).await;
    store.close().await;
    assert_eq!(schema(dir.path()).await.1, 6);
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    assert_eq!(store.load(&stream(REPO), Since::Newest).await.unwrap().events.len(), 2);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_fails_leaves_the_older_database_as_it_was() {
    let dir = old_directory().await;
    let before = std::fs::metadata(dir.path().join(SQLITE)).unwrap().len();
    // The last statement of the migration fails: its column is there.
    let mut conn = sqlite_file(dir.path()).await;
    conn.execute("ALTER TABLE bodies ADD COLUMN checksum TEXT").await.unwrap();
    conn.close().await.unwrap();
    let refused = Sqlite::open(options(dir.path())).await.err().unwrap().to_string();
    assert!(refused.contains("migration 2") && refused.contains("duplicate column"), "{refused}");
    let mut conn = sqlite_file(dir.path()).await;
    let with = "SELECT count(*) FROM pragma_table_info('streams') WHERE name = 'checksum'";
    let count: i64 = sqlx::query_scalar(with).fetch_one(&mut conn).await.unwrap();
    assert_eq!(count, 0, "what came before it in the migration was undone");
    conn.execute("ALTER TABLE bodies DROP COLUMN checksum").await.unwrap();
    conn.close().await.unwrap();
    assert_eq!(std::fs::metadata(dir.path().join(SQLITE)).unwrap().len(), before);
    let store = Sqlite::open(options(dir.path())).await.unwrap();
    expect_all(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_an_older_database_says_what_to_do_and_changes_nothing() {
    let dir = old_directory().await;
    let refused = Sqlite::open_read_only(dir.path()).await.err().unwrap();
    assert!(matches!(refused, Error::OlderSchema { found: 1, known: 6 }), "{refused:?}");
    assert!(refused.to_string().contains("`merge-train serve` upgrades it"), "{refused}");
    assert_eq!(schema(dir.path()).await.1, 1);
}

const NEWER: &str = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                     VALUES (9, 'of the future', TRUE, '0', 0)";

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_database_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    Sqlite::open(options(dir.path())).await.unwrap().close().await;
    let mut conn = sqlite_file(dir.path()).await;
    conn.execute(NEWER).await.unwrap();
    conn.close().await.unwrap();
    let before = std::fs::read(dir.path().join(SQLITE)).unwrap();
    for refused in [Sqlite::open(options(dir.path())).await, Sqlite::open_read_only(dir.path()).await] {
        let refused = refused.err().unwrap();
        assert!(matches!(refused, Error::NewerSchema { found: 9, known: 6 }), "{refused:?}");
        let told = refused.to_string();
        assert!(
            told.contains("version 9, and this program knows 6") && told.contains("Run the newer program"),
            "{told}"
        );
    }
    assert!(before == std::fs::read(dir.path().join(SQLITE)).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_as_well() {
    let url = fresh_database().await;
    let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
    first_version("postgres").await.run(&mut conn).await.unwrap();
    conn.execute(sqlx::raw_sql(ROWS)).await.unwrap();
    // Both instances of an installation are started at once.
    let (one, two) = tokio::join!(instance(&url, "one"), instance(&url, "two"));
    expect_all(&one).await;
    two.close().await;
    one.close().await;
    conn.execute(NEWER).await.unwrap();
    let policy = merge_train_core::inbox::InboxPolicy::default();
    let owner = store::Owner("late".to_owned());
    let refused = Postgres::connect(postgres::Options { url, policy, owner, connections: 2 }).await.err().unwrap();
    assert!(matches!(refused, Error::NewerSchema { found: 9, known: 6 }), "{refused:?}");
}
