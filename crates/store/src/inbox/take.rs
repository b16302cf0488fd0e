//! Handing a stream's owner its next entries.

use merge_train_core::ids::StreamId;
use merge_train_core::inbox::{Key, RequestHash};

use super::{Entry, EntryId, Priority, TakeLimit, record};
use crate::checksum::{self, Said};
use crate::db::{Conn, Record, ask, corrupt, int, sql, whole};
use crate::error::Result;
use crate::stream::{Lease, lease};

/// The most that a worker has in hand at a time: so many may have to do with its death.
pub const MOST_IN_HAND: usize = 128;

pub(crate) const NEXT: &str = "SELECT id, tenant, key, source, request_hash, priority, label, created_at, attempts, size \
     FROM inbox WHERE stream = $1 AND status = 'processing' ORDER BY priority DESC, id LIMIT $2";

/// The next entries. Nothing is written: that they are in hand is what the lease says.
pub async fn take(conn: &mut Conn<'_>, lease: &Lease, limit: TakeLimit) -> Result<Vec<Entry>> {
    let entries = limit.entries.clamp(1, MOST_IN_HAND);
    let next = sql(NEXT).text(lease.stream.to_string()).int(int(entries));
    let [held, rows] = ask(conn, [lease::still_held(lease), next]).await?;
    lease::confirm(lease, &held)?;
    let mut entries = within(&rows, limit.bytes)?;
    for entry in &mut entries {
        entry.attempts += 1;
    }
    fetch_bodies(conn, &lease.stream, &mut entries).await?;
    Ok(entries)
}

/// Counts an attempt for what a worker that is gone may have had in hand.
pub async fn count_attempt(conn: &mut Conn<'_>, stream: &StreamId) -> Result<()> {
    let query = "UPDATE inbox SET attempts = attempts + 1 WHERE id IN \
                 (SELECT id FROM inbox WHERE stream = $1 AND status = 'processing' ORDER BY priority DESC, id LIMIT $2)";
    sql(query).text(stream.to_string()).int(int(MOST_IN_HAND)).execute(conn).await?;
    Ok(())
}

/// A table of their ids, for a statement about all of them.
fn ids(entries: &[Entry]) -> String {
    serde_json::Value::from_iter(entries.iter().map(|entry| [entry.id.0])).to_string()
}

async fn fetch_bodies(conn: &mut Conn<'_>, stream: &StreamId, entries: &mut [Entry]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let name = stream.to_string();
    let (id, table) = (whole(0), conn.table_of(1));
    let query = sql(format!("SELECT entry, body, checksum FROM bodies WHERE entry IN (SELECT {id} FROM {table})"));
    let mut bodies = std::collections::HashMap::with_capacity(entries.len());
    for row in query.text(ids(entries)).all(conn).await? {
        bodies.insert(row.int(0)?, row);
    }
    for entry in entries {
        let body = bodies.remove(&entry.id.0);
        let body = body.ok_or_else(|| corrupt(format!("the body of {} for {name} is missing", entry.key)))?;
        entry.body = body.blob(1)?;
        let checksum = checksum::of_entry(&name, &Said::from(&*entry));
        checksum::verify(&body, 2, checksum, || format!("what came in for {name} as {}", entry.key))?;
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
    fetch_bodies(conn, stream, &mut entries).await?;
    Ok(entries)
}
