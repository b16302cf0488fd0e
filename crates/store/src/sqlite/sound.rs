//! Whether a database file is what was written: SQLite's own look at its structure, and the rows that all else hangs on.

use std::time::{Duration, Instant};

use sqlx::SqliteConnection;

use crate::db::{Conn, corrupt};
use crate::error::Result;
use crate::stream::load;

/// So long at most at start. A hundred megabytes, which are a thousand repositories, take an eighth of it.
pub const AT_START: Duration = Duration::from_secs(1);

/// SQLite instructions between two looks at the clock.
const INSTRUCTIONS: i32 = 10_000;

/// Faults that are named; there may be more.
const FAULTS: &str = "PRAGMA integrity_check(3)";

/// SQLITE_INTERRUPT
const INTERRUPTED: &str = "9";

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    All,
    /// The time was over.
    Part,
}

/// Refuses a database whose pages, indices or streams are not in order.
pub async fn examine(conn: &mut SqliteConnection, patience: Option<Duration>) -> Result<Extent> {
    if let Some(patience) = patience {
        let deadline = Instant::now() + patience;
        conn.lock_handle().await?.set_progress_handler(INSTRUCTIONS, move || Instant::now() < deadline);
    }
    let found = sqlx::query_scalar::<_, String>(FAULTS).fetch_all(&mut *conn).await;
    conn.lock_handle().await?.remove_progress_handler();
    let extent = match found {
        Ok(found) if found == ["ok"] => Extent::All,
        Ok(faults) => return Err(corrupt(faults.join("; ").replace('\n', " "))),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(INTERRUPTED) => Extent::Part,
        Err(error) => return Err(error.into()),
    };
    Ok(extent)
}

/// Refuses a database in which the row of a stream is damaged: whose it was cannot be known then.
pub async fn examine_streams(conn: &mut SqliteConnection) -> Result<()> {
    load::streams(&mut Conn::Sqlite(conn), None).await.map(drop)
}
