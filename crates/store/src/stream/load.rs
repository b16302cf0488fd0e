//! Reading streams.

use merge_train_core::ids::{StreamId, TenantId};

use super::{Loaded, Since, Snapshot, StoredEvent, StreamInfo};
use crate::db::{Conn, Record, int, sql};
use crate::error::Result;

/// The number of a stream's first event.
pub const FIRST_SEQ: u64 = 1;

pub async fn load(conn: &mut Conn<'_>, stream: &StreamId, since: Since) -> Result<Loaded> {
    let name = stream.to_string();
    let query = sql("SELECT generation, oldest_generation, next_seq FROM streams WHERE stream = $1");
    let Some(row) = query.text(name.as_str()).first(conn).await? else {
        return Ok(Loaded { generation: 0, snapshot: None, events: Vec::new(), next_seq: FIRST_SEQ });
    };
    let from = match since {
        Since::Newest => row.int(0)?,
        Since::Oldest => row.int(1)?,
    };
    let query = sql("SELECT next_seq, taken_at, data FROM snapshots WHERE stream = $1 AND generation = $2");
    let snapshot = match query.text(name.as_str()).int(from).first(conn).await? {
        Some(row) => Some(Snapshot { next_seq: row.count(0)?, taken_at: row.time(1)?, data: row.text(2)? }),
        None => None,
    };
    let first = snapshot.as_ref().map_or(FIRST_SEQ, |snapshot| snapshot.next_seq);
    let query = sql("SELECT seq, ts, data FROM events WHERE stream = $1 AND seq >= $2 ORDER BY seq");
    let events = read_events(&query.text(name).int(int(first)).all(conn).await?)?;
    Ok(Loaded { generation: row.count(0)?, snapshot, events, next_seq: row.count(2)? })
}

pub async fn history(
    conn: &mut Conn<'_>,
    stream: &StreamId,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<StoredEvent>> {
    let query = sql("SELECT seq, ts, data FROM events WHERE stream = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3");
    let query = query.text(stream.to_string()).int(before.map_or(i64::MAX, int)).int(int(limit));
    let mut events = read_events(&query.all(conn).await?)?;
    events.reverse();
    Ok(events)
}

fn read_events(rows: &[Record]) -> Result<Vec<StoredEvent>> {
    rows.iter().map(|row| Ok(StoredEvent { seq: row.count(0)?, ts: row.time(1)?, data: row.text(2)? })).collect()
}

// The second half: streams of which there is nothing yet but entries in the inbox.
pub(crate) const STREAMS: &str = "\
    SELECT s.stream, s.tenant, s.generation, s.next_seq,
        (SELECT count(*) FROM inbox i WHERE i.stream = s.stream AND i.status = 'processing') AS unsettled, s.owner
    FROM streams s WHERE ($1 IS NULL OR s.tenant = $1)
    UNION ALL
    SELECT i.stream, min(i.tenant), 0, 1, count(*), NULL
    FROM inbox i WHERE i.status = 'processing' AND i.stream IS NOT NULL AND ($1 IS NULL OR i.tenant = $1)
        AND NOT EXISTS (SELECT 1 FROM streams s WHERE s.stream = i.stream)
    GROUP BY i.stream
    ORDER BY 1";

pub async fn streams(conn: &mut Conn<'_>, tenant: Option<&TenantId>) -> Result<Vec<StreamInfo>> {
    let rows = sql(STREAMS).opt_text(tenant.map(TenantId::as_str)).all(conn).await?;
    let read = |row: &Record| {
        Ok(StreamInfo {
            stream: row.parsed(0)?,
            tenant: row.parsed(1)?,
            generation: row.count(2)?,
            next_seq: row.count(3)?,
            unsettled: row.count(4)?,
            owner: row.opt_text(5)?,
        })
    };
    rows.iter().map(read).collect()
}
