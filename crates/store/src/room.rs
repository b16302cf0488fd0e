//! Room for what is already here: a database that is full to the last page could not even forget anything.

use crate::db::{Conn, sql};
use crate::error::Result;

/// Kept for settling, compacting and sweeping: 256 KB.
const RESERVED_PAGES: i64 = 64;

const FREE: &str = "SELECT (SELECT max_page_count FROM pragma_max_page_count) \
    - (SELECT page_count FROM pragma_page_count) + (SELECT freelist_count FROM pragma_freelist_count)";

/// Whether there is room for something new: not when the quota is used up but for the reserve. PostgreSQL has none that
/// we know of.
pub async fn look(conn: &mut Conn<'_>) -> Result<std::result::Result<(), String>> {
    if matches!(conn, Conn::Postgres(_)) {
        return Ok(Ok(()));
    }
    let free = sql(FREE).first(conn).await?.map_or(Ok(0), |row| row.int(0))?;
    let full = || "no space left for the database: its quota is used up".to_owned();
    Ok(if free > RESERVED_PAGES { Ok(()) } else { Err(full()) })
}
