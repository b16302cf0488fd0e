//! Databases on the PostgreSQL server of the test run.

use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::Connection as _;

/// The address of the server that `scripts/with-postgres` started.
pub fn server() -> String {
    std::env::var("MERGE_TRAIN_TEST_POSTGRES").expect(
        "MERGE_TRAIN_TEST_POSTGRES is not set: run the tests with `make test`, or with scripts/with-postgres COMMAND",
    )
}

/// The address of a new database on that server, which nobody else has.
pub async fn fresh_database() -> String {
    fresh_database_on(&server()).await
}

/// The same on another server.
pub async fn fresh_database_on(server: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let mut connection = sqlx::PgConnection::connect(server).await.expect("the server of the tests answers");
    let statement = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::query(statement).execute(&mut connection).await.expect("a database");
    connection.close().await.expect("the connection ends well");
    address_of(server, &name)
}

/// The address of a database, from that of another on the same server.
fn address_of(server: &str, name: &str) -> String {
    let (path, options) = match server.split_once('?') {
        Some((path, options)) => (path, format!("?{options}")),
        None => (server, String::new()),
    };
    let (root, _) = path.rsplit_once('/').expect("an address with a database");
    format!("{root}/{name}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_another_database_keeps_the_server_and_the_options() {
        let there = "postgres://me@localhost/postgres?host=%2Ftmp%2Fpg";
        assert_eq!(address_of(there, "one"), "postgres://me@localhost/one?host=%2Ftmp%2Fpg");
        assert_eq!(address_of("postgres://me@localhost:5432/postgres", "one"), "postgres://me@localhost:5432/one");
    }
}
