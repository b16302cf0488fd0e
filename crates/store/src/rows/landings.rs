//! Pull requests that trains have landed, whatever became of the train: counted by the day.

use std::collections::BTreeMap;

use jiff::Timestamp;
use merge_train_core::ids::TenantId;

use super::endings::DAY_MICROS;
use crate::db::{Conn, micros, sql};
use crate::error::Result;

pub(crate) fn by_day() -> String {
    format!(
        "SELECT at / {DAY_MICROS} AS day, count(*) FROM landings WHERE at >= $1 AND ($2 IS NULL OR tenant = $2) GROUP BY day"
    )
}

/// How many landed on which day: so many days after 1970 began, by UTC.
pub async fn landed(conn: &mut Conn<'_>, tenant: Option<&TenantId>, since: Timestamp) -> Result<BTreeMap<i64, u64>> {
    let query = sql(by_day()).int(micros(since)).opt_text(tenant.map(TenantId::as_str));
    query.all(conn).await?.iter().map(|row| Ok((row.int(0)?, row.count(1)?))).collect()
}
