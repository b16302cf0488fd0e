//! How the databases go about the main questions: by an index made for them, never through the whole table.

use sqlx::{Connection, PgConnection, SqliteConnection};

use super::super::Conn;
use super::{Query, sql};
use crate::rows::{RunCursor, RunQuery, RunStatus};
use crate::{inbox, rows, sweep};

/// A question, the index that answers it, and what else must not be in the plan.
fn questions() -> Vec<(&'static str, Query, &'static str)> {
    let runs = |query: RunQuery| rows::query::runs_statement(&RunQuery { limit: 10, ..query });
    let sums = |text: String| sql(text).text("train").int(19_000_000_000).opt_text(None::<&str>);
    let acme = || RunQuery { tenant: Some("acme".parse().unwrap()), ..Default::default() };
    let all = RunQuery::default;
    let after = RunCursor { created_at: "1970-01-01T03:00:00Z".parse().unwrap(), id: "r".parse().unwrap() };
    vec![
        ("take", sql(inbox::take::NEXT).text("repo:a/b").int(10), "inbox_pending"),
        ("waiting", sql(inbox::waiting::WAITING).int(1).int(10), "inbox_pending"),
        ("due", sql(inbox::waiting::DUE).int(1).int(10), "streams_by_wake"),
        ("expired", sql(sweep::EXPIRED).text("completed").int(1).int(10), "inbox_expiry"),
        ("old bodies", sql(sweep::OLD_BODIES).int(1).int(10), "inbox_old_bodies"),
        ("runs", runs(RunQuery::default()), "runs_by_creation"),
        ("runs of a tenant", runs(acme()), "runs_by_tenant"),
        ("runs by status", runs(RunQuery { status: Some(RunStatus::Running), ..acme() }), "runs_by_status"),
        ("runs by repo", runs(RunQuery { repo: Some("a/b".parse().unwrap()), ..acme() }), "runs_by_repo"),
        ("runs by kind", runs(RunQuery { kind: Some("nightly".to_owned()), ..acme() }), "runs_by_kind"),
        (
            "a later page of a kind",
            runs(RunQuery { kind: Some("nightly".to_owned()), after: Some(after.clone()), ..acme() }),
            "runs_by_kind",
        ),
        (
            "runs of all by status",
            runs(RunQuery { status: Some(RunStatus::Running), ..all() }),
            "runs_of_all_by_status",
        ),
        ("runs of all by repo", runs(RunQuery { repo: Some("a/b".parse().unwrap()), ..all() }), "runs_of_all_by_repo"),
        ("runs of all by kind", runs(RunQuery { kind: Some("nightly".to_owned()), ..all() }), "runs_of_all_by_kind"),
        ("sums", sums(rows::endings::sums()), "runs_by_end"),
        ("lead times", sums(rows::endings::leads(&rows::endings::each_day())), "runs_by_end"),
        ("landings", sql(rows::landings::by_day()).int(19_000_000_000).opt_text(None::<&str>), "landings_by_time"),
        ("a run of whomever", sql(rows::query::RUN_OF_WHOMEVER).text("r"), "runs_by_id"),
        ("a later page", runs(RunQuery { after: Some(after), ..acme() }), "runs_by_tenant"),
        (
            "runs that changed",
            sql(rows::query::SINCE).text("running").int(19_000_000_000).opt_text(None::<&str>).int(10),
            "runs_by_heartbeat",
        ),
        ("stale runs", sql(rows::query::STALE).int(1).int(10), "runs_by_heartbeat"),
        ("transitions", sql(rows::query::TRANSITIONS).text("t").text("w").int(10), "transitions_by_workspace"),
    ]
}

/// Runs of many tenants, one in each second since 1970, written in no order. Of two indices that would do, PostgreSQL takes the
/// one by which it has less to read, and must be able to tell.
const MANY_RUNS: &str = "
    INSERT INTO runs (tenant, id, repo, kind, status, created_at, last_heartbeat_at, completed_at, data)
    SELECT CASE n % 100 WHEN 0 THEN 'acme' ELSE 'tenant-' || n % 100 END, 'r-' || n,
        CASE n / 100 % 10 WHEN 0 THEN 'a/b' ELSE 'a/b-' || n / 100 % 10 END,
        CASE n / 1000 % 3 WHEN 0 THEN 'nightly' WHEN 1 THEN 'train' ELSE 'fixer' END,
        CASE n / 300 % 5 WHEN 0 THEN 'running' WHEN 1 THEN 'failed' ELSE 'completed' END,
        n * 1000000, n * 1000000, CASE n / 300 % 5 WHEN 0 THEN NULL ELSE n * 1000000 END, '{}'
    FROM generate_series(1::bigint, 20000) AS n ORDER BY md5(n::text);
    ANALYZE runs;";

/// The same of what is asked before each append, of what may be many rows by now.
fn before_an_append(conn: &Conn<'_>) -> Vec<(&'static str, Query)> {
    vec![
        ("the runs that are written", rows::write::known(conn, &[])),
        ("the entries that are settled", inbox::settle::open(conn, &"repo:a/b".parse().unwrap(), &[])),
    ]
}

fn explained(query: Query, how: &str) -> Query {
    Query { text: format!("{how} {}", query.text).into(), ..query }
}

fn judge(what: &str, plan: &str, index: &str, never: &[&str]) {
    assert!(plan.contains(index), "{what}: not by {index}:\n{plan}");
    for unwanted in never {
        assert!(!plan.contains(unwanted), "{what}: {unwanted}:\n{plan}");
    }
}

#[tokio::test]
async fn section_6_3_sqlite_answers_the_main_questions_by_index() {
    let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    sqlx::migrate!("migrations/sqlite").run(&mut conn).await.unwrap();
    for (what, query, index) in questions() {
        let rows = explained(query, "EXPLAIN QUERY PLAN").all(&mut Conn::Sqlite(&mut conn)).await.unwrap();
        let plan: Vec<_> = rows.iter().map(|row| row.text(3).unwrap()).collect();
        let plan = plan.join("\n");
        // The streams with work are sorted, and so are the days of sums; nothing else may be.
        let never: &[&str] = match what {
            "waiting" => &["inbox_expiry", "SCAN i", "sqlite_autoindex"],
            "sums" | "lead times" => &["SCAN runs", "USING INDEX"],
            "landings" => &["SCAN landings", "USING INDEX"],
            _ => &["SCAN inbox", "SCAN runs\n", "TEMP B-TREE"],
        };
        judge(what, &plan, index, never);
    }
    let conn = &mut Conn::Sqlite(&mut conn);
    let indices = ["sqlite_autoindex_runs_1 (tenant=? AND id=?)", "inbox_pending (stream=?)"];
    for ((what, query), index) in before_an_append(conn).into_iter().zip(indices) {
        let rows = explained(query, "EXPLAIN QUERY PLAN").all(conn).await.unwrap();
        let plan: Vec<_> = rows.iter().map(|row| row.text(3).unwrap()).collect();
        judge(what, &plan.join("\n"), index, &["SCAN runs", "SCAN inbox"]);
    }
}

#[tokio::test]
async fn section_6_3_postgres_can_answer_the_main_questions_by_index() {
    let url = std::env::var("MERGE_TRAIN_TEST_POSTGRES").expect("run the tests with `make test`");
    let mut conn = PgConnection::connect(&url).await.unwrap();
    // In a schema that goes with the connection; and as if tables were large, whose size decides else.
    for statement in ["SET search_path = pg_temp", "SET enable_seqscan = off", "SET enable_bitmapscan = off"] {
        sqlx::query(statement).execute(&mut conn).await.unwrap();
    }
    for migration in sqlx::migrate!("migrations/postgres").iter() {
        sqlx::raw_sql(migration.sql.clone()).execute(&mut conn).await.unwrap();
    }
    sqlx::raw_sql(MANY_RUNS).execute(&mut conn).await.unwrap();
    for (what, query, index) in questions() {
        let rows = explained(query, "EXPLAIN").all(&mut Conn::Postgres(&mut conn)).await.unwrap();
        let plan: Vec<_> = rows.iter().map(|row| row.text(0).unwrap()).collect();
        let never: &[&str] = match what {
            "waiting" => &["inbox_expiry"],
            "sums" | "lead times" | "landings" => &["Seq Scan"],
            _ => &["Sort"],
        };
        judge(what, &plan.join("\n"), index, never);
    }
}
