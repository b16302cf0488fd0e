//! Bringing a database's schema up to date: all that is pending in one transaction, or nothing of it.

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::db::{Conn, corrupt, sql};
use crate::error::{Error, Result};

/// Under this number instances that share a server wait for each other. Ours alone, whatever else is on that server.
const POSTGRES_LOCK: i64 = 0x6d65_7267_6574_7261;

/// The name in `meta` of what the schema added up to when it was last changed.
const FINGERPRINT: &str = "schema";

/// Brings an SQLite database up to date. One that a newer program wrote is refused, and so is one whose schema is not as
/// this program left it.
pub async fn migrate_sqlite(conn: &mut SqliteConnection, migrations: &Migrator) -> Result<()> {
    let mut transaction = conn.begin_with("BEGIN IMMEDIATE").await?;
    let before = version(&mut transaction).await?;
    migrations.run(&mut *transaction).await.map_err(|error| refusal(error, migrations))?;
    let found = fingerprint(&mut transaction).await?;
    let mut conn = Conn::Sqlite(&mut transaction);
    if before == newest(migrations) {
        let kept = sql("SELECT value FROM meta WHERE name = $1").text(FINGERPRINT).first(&mut conn).await?;
        if kept.map(|row| row.blob(0)).transpose()?.as_deref() != Some(&found) {
            return Err(corrupt("its schema is not the one that merge-train created: it was changed or damaged"));
        }
    } else {
        let query =
            "INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        sql(query).text(FINGERPRINT).blob(found.to_vec()).execute(&mut conn).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// Brings a PostgreSQL database up to date, one instance at a time.
pub async fn migrate_postgres(conn: &mut PgConnection, migrations: &Migrator) -> Result<()> {
    let mut transaction = conn.begin().await?;
    // Until the end of the transaction: who waits for it finds everything done.
    sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(POSTGRES_LOCK).execute(&mut *transaction).await?;
    migrations.run(&mut *transaction).await.map_err(|error| refusal(error, migrations))?;
    transaction.commit().await?;
    Ok(())
}

/// Refuses an SQLite database that is not of the version this program works with. For those who only look.
pub async fn expect_current(conn: &mut SqliteConnection, migrations: &Migrator) -> Result<()> {
    let (found, known) = (version(conn).await?, newest(migrations));
    match found.cmp(&known) {
        std::cmp::Ordering::Less => Err(Error::OlderSchema { found, known }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Error::NewerSchema { found, known }),
    }
}

fn newest(migrations: &Migrator) -> i64 {
    migrations.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// 0 for a database with nothing in it.
async fn version(conn: &mut SqliteConnection) -> Result<i64> {
    let conn = &mut Conn::Sqlite(conn);
    let table = sql("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '_sqlx_migrations'");
    if table.first(conn).await?.is_none() {
        return Ok(0);
    }
    let newest = sql("SELECT max(version) FROM _sqlx_migrations").first(conn).await?;
    Ok(newest.map(|row| row.opt_int(0)).transpose()?.flatten().unwrap_or_default())
}

/// What the statements add up to that made the tables and their indices.
async fn fingerprint(conn: &mut SqliteConnection) -> Result<[u8; 4]> {
    let query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY sql";
    let mut sum = crc32fast::Hasher::new();
    for row in sql(query).all(&mut Conn::Sqlite(conn)).await? {
        sum.update(row.text(0)?.as_bytes());
    }
    Ok(sum.finalize().to_le_bytes())
}

fn refusal(error: MigrateError, migrations: &Migrator) -> Error {
    match error {
        MigrateError::VersionMissing(found) => Error::NewerSchema { found, known: newest(migrations) },
        MigrateError::Execute(error) => error.into(),
        MigrateError::ExecuteMigration(error, version) => match Error::from(error) {
            Error::Database(error) => Error::Migration(MigrateError::ExecuteMigration(error, version)),
            other => other,
        },
        other => Error::Migration(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn migrations(files: &[(&str, &str)]) -> Migrator {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Migrator::new(dir.path()).await.unwrap()
    }

    const FIRST: (&str, &str) = (
        "0001_first.sql",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL); CREATE TABLE a (b INTEGER);",
    );
    const SECOND: (&str, &str) = ("0002_second.sql", "ALTER TABLE a ADD COLUMN c INTEGER; UPDATE a SET c = b + 1;");
    const BROKEN: (&str, &str) =
        ("0003_third.sql", "ALTER TABLE a ADD COLUMN d INTEGER; INSERT INTO nowhere VALUES (1);");
    const THIRD: (&str, &str) = ("0003_third.sql", "ALTER TABLE a ADD COLUMN d INTEGER;");

    async fn database() -> SqliteConnection {
        SqliteConnection::connect("sqlite::memory:").await.unwrap()
    }

    async fn columns(conn: &mut SqliteConnection) -> Vec<String> {
        sqlx::query_scalar("SELECT name FROM pragma_table_info('a')").fetch_all(conn).await.unwrap()
    }

    #[tokio::test]
    async fn of_several_migrations_that_are_pending_all_are_made_or_none() {
        let mut conn = database().await;
        migrate_sqlite(&mut conn, &migrations(&[FIRST]).await).await.unwrap();
        sqlx::query("INSERT INTO a VALUES (1)").execute(&mut conn).await.unwrap();
        let refused = migrate_sqlite(&mut conn, &migrations(&[FIRST, SECOND, BROKEN]).await).await.unwrap_err();
        assert!(matches!(refused, Error::Migration(MigrateError::ExecuteMigration(_, 3))), "{refused:?}");
        assert_eq!(columns(&mut conn).await, ["b"], "the second was undone with the third");
        migrate_sqlite(&mut conn, &migrations(&[FIRST]).await).await.unwrap();
        migrate_sqlite(&mut conn, &migrations(&[FIRST, SECOND, THIRD]).await).await.unwrap();
        assert_eq!(columns(&mut conn).await, ["b", "c", "d"]);
        let c: i64 = sqlx::query_scalar("SELECT c FROM a").fetch_one(&mut conn).await.unwrap();
        assert_eq!(c, 2);
    }

    #[tokio::test]
    async fn a_newer_database_is_refused_with_both_versions() {
        let mut conn = database().await;
        migrate_sqlite(&mut conn, &migrations(&[FIRST, SECOND, THIRD]).await).await.unwrap();
        let older = migrations(&[FIRST, SECOND]).await;
        for refused in [migrate_sqlite(&mut conn, &older).await, expect_current(&mut conn, &older).await] {
            assert!(matches!(refused, Err(Error::NewerSchema { found: 3, known: 2 })), "{refused:?}");
        }
        let newer = migrations(&[FIRST, SECOND, THIRD, ("0004_fourth.sql", "SELECT 1")]).await;
        let refused = expect_current(&mut conn, &newer).await;
        assert!(matches!(refused, Err(Error::OlderSchema { found: 3, known: 4 })), "{refused:?}");
    }

    #[tokio::test]
    async fn a_schema_that_somebody_else_changed_is_refused() {
        let (mut conn, known) = (database().await, migrations(&[FIRST]).await);
        migrate_sqlite(&mut conn, &known).await.unwrap();
        migrate_sqlite(&mut conn, &known).await.unwrap();
        sqlx::query("ALTER TABLE a RENAME COLUMN b TO z").execute(&mut conn).await.unwrap();
        assert!(matches!(migrate_sqlite(&mut conn, &known).await, Err(Error::Corrupt { .. })));
    }
}
