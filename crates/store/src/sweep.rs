//! Forgetting what need not be remembered any more, a little at a time, so that intake does not wait for it.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use merge_train_core::ids::{RunId, StreamId};
use merge_train_core::workflow::RunStatus;

use crate::backend::Backend;
use crate::db::{Conn, Record, int, micros, sql, whole};
use crate::error::Result;
use crate::writer::Write;

/// Rows that one transaction removes.
const STEP: i64 = 250;

/// How long what is over is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Events and snapshots that a newer snapshot stands for, and transitions.
    pub history: SignedDuration,
    /// Bodies of entries that are settled.
    pub body_grace: SignedDuration,
    /// Runs that have ended, with their steps, checkpoints, landings and events; and workspaces that are archived, and sessions.
    pub runs: SignedDuration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            history: SignedDuration::from_hours(7 * 24),
            body_grace: SignedDuration::from_hours(1),
            runs: SignedDuration::from_hours(30 * 24),
        }
    }
}

/// How much was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub records: u64,
    pub bodies: u64,
    pub generations: u64,
    pub events: u64,
    pub transitions: u64,
    pub runs: u64,
    pub workspaces: u64,
    pub sessions: u64,
}

pub async fn sweep(store: &impl Backend, now: Timestamp, retention: &Retention) -> Result<Swept> {
    let history = now.checked_sub(retention.history).unwrap_or(Timestamp::MIN);
    let grace = now.checked_sub(retention.body_grace).unwrap_or(Timestamp::MIN);
    let runs = now.checked_sub(retention.runs).unwrap_or(Timestamp::MIN);
    Ok(Swept {
        records: all_of(store, What::Completed, now).await? + all_of(store, What::Failed, now).await?,
        bodies: all_of(store, What::Bodies, grace).await?,
        generations: all_of(store, What::Generations, history).await?,
        events: all_of(store, What::Events, history).await?,
        transitions: all_of(store, What::Transitions, history).await?,
        runs: all_of(store, What::Runs, runs).await?,
        workspaces: all_of(store, What::Workspaces, runs).await?,
        sessions: all_of(store, What::Sessions, runs).await?,
    })
}

async fn all_of(store: &impl Backend, what: What, before: Timestamp) -> Result<u64> {
    let mut removed = 0;
    loop {
        match store.write(Step { what, before }).await? {
            0 => return Ok(removed),
            step => removed += step,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum What {
    Completed,
    Failed,
    Bodies,
    Generations,
    Events,
    Transitions,
    Runs,
    Workspaces,
    Sessions,
}

/// Removes some of it; how many.
struct Step {
    what: What,
    before: Timestamp,
}

pub(crate) const EXPIRED: &str = "DELETE FROM inbox WHERE id IN \
                                  (SELECT id FROM inbox WHERE status <> 'processing' AND status = $1 AND expires_at <= $2 \
                                   ORDER BY expires_at LIMIT $3)";

#[async_trait]
impl Write for Step {
    type Answer = u64;

    async fn run(&self, conn: &mut Conn<'_>) -> Result<u64> {
        let before = micros(self.before);
        match self.what {
            What::Completed => sql(EXPIRED).text("completed").int(before).int(STEP).execute(conn).await,
            What::Failed => sql(EXPIRED).text("failed").int(before).int(STEP).execute(conn).await,
            What::Bodies => bodies(conn, before).await,
            What::Generations => generations(conn, before).await,
            What::Events => events(conn).await,
            What::Runs => runs(conn, before).await,
            What::Transitions => {
                let query = "DELETE FROM transitions WHERE (tenant, id) IN \
                             (SELECT tenant, id FROM transitions WHERE created_at < $1 ORDER BY created_at LIMIT $2)";
                sql(query).int(before).int(STEP).execute(conn).await
            }
            What::Workspaces => {
                let query = "DELETE FROM workspaces WHERE (tenant, id) IN \
                             (SELECT tenant, id FROM workspaces WHERE archived_at < $1 ORDER BY archived_at LIMIT $2)";
                sql(query).int(before).int(STEP).execute(conn).await
            }
            // One that lasts longer than this says so with its next sign of life, and is there again.
            What::Sessions => {
                let query = "DELETE FROM sessions WHERE (tenant, id) IN \
                             (SELECT tenant, id FROM sessions WHERE started_at < $1 ORDER BY started_at LIMIT $2)";
                sql(query).int(before).int(STEP).execute(conn).await
            }
        }
    }
}

pub(crate) const OLD_RUNS: &str =
    "SELECT tenant, id FROM runs WHERE status = $1 AND last_heartbeat_at < $2 ORDER BY last_heartbeat_at LIMIT $3";

/// Whatever there is of runs that have ended.
async fn runs(conn: &mut Conn<'_>, before: i64) -> Result<u64> {
    let mut gone = 0;
    for status in RunStatus::ALL.into_iter().filter(|status| status.is_terminal()) {
        for row in sql(OLD_RUNS).text(status.as_str()).int(before).int(STEP).all(conn).await? {
            let (tenant, id): (String, String) = (row.text(0)?, row.text(1)?);
            for table in ["steps", "checkpoints", "landings"] {
                let query = sql(format!("DELETE FROM {table} WHERE tenant = $1 AND run = $2"));
                query.text(tenant.as_str()).text(id.as_str()).execute(conn).await?;
            }
            // The run of a train has no stream: its events are its repository's.
            let stream = RunId::parse(&id).map(StreamId::Run).map(|stream| stream.to_string()).unwrap_or_default();
            for table in ["events", "snapshots", "streams"] {
                let query = sql(format!("DELETE FROM {table} WHERE stream = $1"));
                query.text(stream.as_str()).execute(conn).await?;
            }
            let query = sql("DELETE FROM runs WHERE tenant = $1 AND id = $2");
            gone += query.text(tenant).text(id).execute(conn).await?;
        }
    }
    Ok(gone)
}

pub(crate) const OLD_BODIES: &str = "SELECT id FROM inbox WHERE status <> 'processing' AND size > 0 \
                                     AND updated_at <= $1 ORDER BY updated_at LIMIT $2";

async fn bodies(conn: &mut Conn<'_>, before: i64) -> Result<u64> {
    let rows = sql(OLD_BODIES).int(before).int(STEP).all(conn).await?;
    let ids = rows.iter().map(|row| row.int(0)).collect::<Result<Vec<_>>>()?;
    let (id, table) = (whole(0), conn.table_of(1));
    // Looked at again: another instance may have put it back to work meanwhile.
    let statement = format!(
        "UPDATE inbox SET size = 0 WHERE status <> 'processing' AND id IN (SELECT {id} FROM {table}) RETURNING id"
    );
    let settled = sql(statement).text(table_of(&ids)).all(conn).await?;
    let settled = settled.iter().map(|row| row.int(0)).collect::<Result<Vec<_>>>()?;
    let statement = format!("DELETE FROM bodies WHERE entry IN (SELECT {id} FROM {table})");
    sql(statement).text(table_of(&settled)).execute(conn).await?;
    Ok(int_to_count(ids.len()))
}

fn table_of(ids: &[i64]) -> String {
    serde_json::Value::from_iter(ids.iter().map(|id| [*id])).to_string()
}

fn int_to_count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// Lets whole generations go whose successor's snapshot is old enough. Their events follow.
async fn generations(conn: &mut Conn<'_>, before: i64) -> Result<u64> {
    let query = "SELECT s.stream, max(n.generation) FROM streams s JOIN snapshots n ON n.stream = s.stream \
                 WHERE n.generation > s.oldest_generation AND n.taken_at < $1 GROUP BY s.stream LIMIT $2";
    let found = sql(query).int(before).int(STEP).all(conn).await?;
    let mut gone = 0;
    for row in &found {
        let (stream, oldest): (String, _) = (row.text(0)?, row.int(1)?);
        let query = sql("UPDATE streams SET oldest_generation = $2 WHERE stream = $1 AND oldest_generation < $2");
        gone += query.text(stream.as_str()).int(oldest).execute(conn).await?;
        let query = sql("DELETE FROM snapshots WHERE stream = $1 AND generation < $2");
        query.text(stream).int(oldest).execute(conn).await?;
    }
    Ok(gone)
}

/// Events that belong to no generation any more.
async fn events(conn: &mut Conn<'_>) -> Result<u64> {
    let query = "SELECT s.stream, n.next_seq FROM streams s \
                 JOIN snapshots n ON n.stream = s.stream AND n.generation = s.oldest_generation \
                 WHERE EXISTS (SELECT 1 FROM events e WHERE e.stream = s.stream AND e.seq < n.next_seq) LIMIT 1";
    let Some(row) = sql(query).first(conn).await? else { return Ok(0) };
    remove_events(conn, &row).await
}

async fn remove_events(conn: &mut Conn<'_>, row: &Record) -> Result<u64> {
    let query = "DELETE FROM events WHERE stream = $1 AND seq IN \
                 (SELECT seq FROM events WHERE stream = $1 AND seq < $2 ORDER BY seq LIMIT $3)";
    sql(query).text(row.text(0)?).int(int(row.count(1)?)).int(STEP).execute(conn).await
}
