//! What came of many runs, in sums that the database makes: by columns, and without a look at what each run says.

use std::collections::BTreeMap;

use jiff::Timestamp;
use merge_train_core::ids::TenantId;
use merge_train_core::repo::ratchet::WorkspaceReason;

use super::RunStatus;
use crate::db::{Conn, Query, Record, ask, micros, sql};
use crate::error::Result;

pub(crate) const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// The runs of a kind that ended at some time or later: all of them, summed up. Those that did what they are for are trains that
/// arrived, fixers that pushed, and whatever else completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Endings {
    /// How many ended in which state.
    pub ended: BTreeMap<RunStatus, u64>,
    /// How many ended for which reason, of those that have one beyond their state: fixers.
    pub outcomes: BTreeMap<String, u64>,
    /// How long those that did what they are for took, all in all.
    pub took_ms: u64,
    pub lead: Option<Lead>,
    /// The same of each day on which one did: so many days after 1970 began, by UTC.
    pub lead_by_day: BTreeMap<i64, Lead>,
    /// For how many milliseconds those that did what they are for waited for whom.
    pub waited_ms: BTreeMap<String, u64>,
}

/// What half of some runs, and 95 of 100, took no longer than.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead {
    pub p50_ms: u64,
    pub p95_ms: u64,
}

impl Endings {
    /// The day of a time.
    pub fn day(at: Timestamp) -> i64 {
        micros(at).div_euclid(DAY_MICROS)
    }

    pub fn count(&self, status: RunStatus) -> u64 {
        self.ended.get(&status).copied().unwrap_or_default()
    }

    pub fn of(&self, outcome: WorkspaceReason) -> u64 {
        self.outcomes.get(outcome.code()).copied().unwrap_or_default()
    }
}

/// Which runs: of this kind, that ended then or later, of this tenant or of all.
pub(crate) const WHICH: &str = "kind = $1 AND completed_at >= $2 AND ($3 IS NULL OR tenant = $3)";

/// Those that did what they are for.
fn done() -> String {
    format!(
        "status = 'completed' AND coalesce(outcome, '{pushed}') = '{pushed}'",
        pushed = WorkspaceReason::FixerPushed.code()
    )
}

pub(crate) fn sums() -> String {
    format!(
        "SELECT status, outcome, count(*), CAST(coalesce(sum(CASE WHEN {done} THEN duration_ms END), 0) AS BIGINT) \
         FROM runs WHERE {WHICH} GROUP BY status, outcome",
        done = done()
    )
}

fn waits(conn: &Conn<'_>) -> String {
    let each = match conn {
        Conn::Sqlite(_) => "json_each(runs.waited) AS part",
        Conn::Postgres(_) => "json_each_text(runs.waited::json) AS part (key, value)",
    };
    format!(
        "SELECT part.key, CAST(sum(CAST(part.value AS BIGINT)) AS BIGINT) FROM runs, {each} \
         WHERE {WHICH} AND {done} AND waited IS NOT NULL GROUP BY part.key",
        done = done()
    )
}

/// Of each group the durations that so many of its others are no longer than.
pub(crate) fn leads(group: &str) -> String {
    format!(
        "SELECT part, min(CASE WHEN place * 100 >= among * 50 THEN duration_ms END), \
         min(CASE WHEN place * 100 >= among * 95 THEN duration_ms END) FROM \
         (SELECT {group} AS part, duration_ms, row_number() OVER (PARTITION BY {group} ORDER BY duration_ms) AS place, \
         count(*) OVER (PARTITION BY {group}) AS among \
         FROM runs WHERE {WHICH} AND {done} AND duration_ms IS NOT NULL) AS ranked GROUP BY part",
        done = done()
    )
}

/// The groups of `leads`: each day, or all of them.
pub(crate) fn each_day() -> String {
    format!("completed_at / {DAY_MICROS}")
}
const ALL: &str = "kind";

pub async fn endings(conn: &mut Conn<'_>, tenant: Option<&TenantId>, kind: &str, since: Timestamp) -> Result<Endings> {
    let which =
        |text: String| -> Query { sql(text).text(kind).int(micros(since)).opt_text(tenant.map(TenantId::as_str)) };
    let questions = [which(sums()), which(waits(conn)), which(leads(ALL)), which(leads(&each_day()))];
    let [sums, waits, all, days] = ask(conn, questions).await?;
    let mut endings = Endings::default();
    for row in &sums {
        *endings.ended.entry(super::write::read(&row.text(0)?)?).or_default() += row.count(2)?;
        if let Some(outcome) = row.opt_text(1)? {
            *endings.outcomes.entry(outcome).or_default() += row.count(2)?;
        }
        endings.took_ms += row.count(3)?;
    }
    for row in &waits {
        endings.waited_ms.insert(row.text(0)?, row.count(1)?);
    }
    let lead = |row: &Record| -> Result<Lead> { Ok(Lead { p50_ms: row.count(1)?, p95_ms: row.count(2)? }) };
    endings.lead = all.first().map(lead).transpose()?;
    for row in &days {
        endings.lead_by_day.insert(row.int(0)?, lead(row)?);
    }
    Ok(endings)
}
