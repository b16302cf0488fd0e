//! Handing a stream's owner its next entries.

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::{Key, Policy, RequestHash};

use super::admit::later;
use super::{Entry, EntryId, Priority, TakeLimit, record};
use crate::db::{Conn, Record, corrupt, int, micros, sql, whole};
use crate::error::Result;
use crate::stream::{Lease, lease};
use crate::writer::Write;

pub struct Take {
    pub lease: Lease,
    pub limit: TakeLimit,
    pub policy: Policy,
    pub now: Timestamp,
}

// `lock_epoch < $2`: a former owner had it, and that one is fenced off.
pub(crate) const NEXT: &str = "SELECT id, tenant, key, source, request_hash, priority, label, created_at, attempts, size FROM inbox \
     WHERE stream = $1 AND status = 'processing' AND (lock_epoch IS NULL OR lock_epoch < $2 OR lock_expires_at <= $3) \
     ORDER BY priority DESC, id LIMIT $4";

#[async_trait]
impl Write for Take {
    type Answer = Vec<Entry>;

    async fn run(&self, conn: &mut Conn<'_>) -> Result<Vec<Entry>> {
        lease::hold(conn, &self.lease).await?;
        let lock = conn.for_update();
        let rows = sql(format!("{NEXT}{lock}"))
            .text(self.lease.stream.to_string())
            .int(int(self.lease.epoch))
            .int(micros(self.now))
            .int(int(self.limit.entries.max(1)))
            .all(conn)
            .await?;
        let mut entries = within(&rows, self.limit.bytes)?;
        for entry in &mut entries {
            entry.attempts += 1;
        }
        self.lock(conn, &entries).await?;
        fetch_bodies(conn, &mut entries).await?;
        Ok(entries)
    }
}

impl Take {
    async fn lock(&self, conn: &mut Conn<'_>, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let (id, table) = (whole(0), conn.table_of(3));
        let query = sql(format!(
            "UPDATE inbox SET attempts = attempts + 1, lock_epoch = $1, lock_expires_at = $2 \
             WHERE id IN (SELECT {id} FROM {table})"
        ));
        let query = query.int(int(self.lease.epoch)).int(micros(later(self.now, self.policy.lock)));
        query.text(ids(entries)).execute(conn).await?;
        Ok(())
    }
}

/// A table of their ids, for a statement about all of them.
fn ids(entries: &[Entry]) -> String {
    serde_json::Value::from_iter(entries.iter().map(|entry| [entry.id.0])).to_string()
}

async fn fetch_bodies(conn: &mut Conn<'_>, entries: &mut [Entry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let (id, table) = (whole(0), conn.table_of(1));
    let query = sql(format!("SELECT entry, body FROM bodies WHERE entry IN (SELECT {id} FROM {table})"));
    let mut bodies = std::collections::HashMap::with_capacity(entries.len());
    for row in query.text(ids(entries)).all(conn).await? {
        bodies.insert(row.int(0)?, row.blob(1)?);
    }
    for entry in entries {
        let body = bodies.remove(&entry.id.0);
        entry.body = body.ok_or_else(|| corrupt(format!("the body of {} is missing", entry.key)))?;
    }
    Ok(())
}

/// As many as fit, and at least one.
fn within(rows: &[Record], most: usize) -> Result<Vec<Entry>> {
    let mut entries = Vec::with_capacity(rows.len());
    let mut bytes: usize = 0;
    for row in rows {
        bytes = bytes.saturating_add(usize::try_from(row.count(9)?).unwrap_or(usize::MAX));
        if bytes > most && !entries.is_empty() {
            break;
        }
        entries.push(read(row)?);
    }
    Ok(entries)
}

/// An entry without its body.
fn read(row: &Record) -> Result<Entry> {
    Ok(Entry {
        id: EntryId(row.int(0)?),
        tenant: row.parsed(1)?,
        key: Key::from_stored(row.text(2)?),
        source: record::source(&row.text(3)?)?,
        hash: RequestHash::from_stored(row.text(4)?),
        priority: Priority::of_rank(row.int(5)?),
        label: row.text(6)?,
        received_at: row.time(7)?,
        attempts: record::attempts(row.count(8)?),
        body: Vec::new(),
    })
}

/// What is not settled, in order of arrival, without taking it.
pub async fn unsettled(
    conn: &mut Conn<'_>,
    stream: &StreamId,
    after: Option<EntryId>,
    limit: TakeLimit,
) -> Result<Vec<Entry>> {
    let query = "SELECT id, tenant, key, source, request_hash, priority, label, created_at, attempts, size \
                 FROM inbox WHERE stream = $1 AND status = 'processing' AND id > $2 ORDER BY id LIMIT $3";
    let query = sql(query).text(stream.to_string()).int(after.map_or(0, |id| id.0)).int(int(limit.entries.max(1)));
    let mut entries = within(&query.all(conn).await?, limit.bytes)?;
    fetch_bodies(conn, &mut entries).await?;
    Ok(entries)
}
