//! What came of many runs, in sums that the database makes: by columns, and without a look at what each run says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use merge_train_core::ids::TenantId;

use super::RunStatus;
use crate::db::{Conn, Query, Record, ask, int, micros, sql};
use crate::error::Result;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// The runs of a kind that ended at some time or later: all of them, summed up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endings {
    /// How many ended in which state.
    pub ended: BTreeMap<RunStatus, u64>,
    /// What those that completed landed, by the day on which they did: so many days after 1970 began, by UTC.
    pub landed: BTreeMap<i64, u64>,
    /// How long those that completed took, all in all; and what half of them, and 95 of 100, took no longer than.
    pub took_ms: u64,
    pub p50_ms: Option<u64>,
    pub p95_ms: Option<u64>,
    /// For how many milliseconds those that completed waited for whom.
    pub waited_ms: BTreeMap<String, u64>,
}

impl Endings {
    /// The day of a time, as `landed` names it.
    pub fn day(at: Timestamp) -> i64 {
        micros(at).div_euclid(DAY_MICROS)
    }

    pub fn count(&self, status: RunStatus) -> u64 {
        self.ended.get(&status).copied().unwrap_or_default()
    }
}

/// Which runs: of this kind, that ended then or later, of this tenant or of all.
pub(crate) const WHICH: &str = "kind = $1 AND completed_at >= $2 AND ($3 IS NULL OR tenant = $3)";
const COMPLETED: &str = "status = 'completed'";

pub(crate) fn sums() -> String {
    format!(
        "SELECT status, completed_at / {DAY_MICROS} AS day, count(*), CAST(coalesce(sum(landed), 0) AS BIGINT), \
         CAST(coalesce(sum(duration_ms), 0) AS BIGINT), count(duration_ms) FROM runs WHERE {WHICH} GROUP BY status, day"
    )
}

fn waits(conn: &Conn<'_>) -> String {
    let each = match conn {
        Conn::Sqlite(_) => "json_each(runs.waited) AS part",
        Conn::Postgres(_) => "json_each_text(runs.waited::json) AS part (key, value)",
    };
    format!(
        "SELECT part.key, CAST(sum(CAST(part.value AS BIGINT)) AS BIGINT) FROM runs, {each} \
         WHERE {WHICH} AND {COMPLETED} AND waited IS NOT NULL GROUP BY part.key"
    )
}

/// The duration that so many others are no longer than.
fn ranked() -> String {
    format!(
        "SELECT duration_ms FROM runs WHERE {WHICH} AND {COMPLETED} AND duration_ms IS NOT NULL \
         ORDER BY duration_ms LIMIT 1 OFFSET $4"
    )
}

pub async fn endings(conn: &mut Conn<'_>, tenant: Option<&TenantId>, kind: &str, since: Timestamp) -> Result<Endings> {
    let which =
        |text: String| -> Query { sql(text).text(kind).int(micros(since)).opt_text(tenant.map(TenantId::as_str)) };
    let questions = [which(sums()), which(waits(conn))];
    let [sums, waits] = ask(conn, questions).await?;
    let mut endings = Endings::default();
    let mut timed = 0;
    for row in &sums {
        let status = super::write::read(&row.text(0)?)?;
        *endings.ended.entry(status).or_default() += row.count(2)?;
        if status == RunStatus::Completed {
            *endings.landed.entry(row.int(1)?).or_default() += row.count(3)?;
            endings.took_ms += row.count(4)?;
            timed += row.count(5)?;
        }
    }
    for row in &waits {
        endings.waited_ms.insert(row.text(0)?, row.count(1)?);
    }
    if timed > 0 {
        let rank = |percent: u64| int((timed * percent).div_ceil(100) - 1);
        let [half, most] = ask(conn, [50, 95].map(|percent| which(ranked()).int(rank(percent)))).await?;
        let millis = |rows: Vec<Record>| rows.first().map(|row| row.count(0)).transpose();
        (endings.p50_ms, endings.p95_ms) = (millis(half)?, millis(most)?);
    }
    Ok(endings)
}
