//! Reading streams.

use merge_train_core::ids::{StreamId, TenantId};

use super::{Busiest, Loaded, Since, Snapshot, StoredEvent, StreamInfo};
use crate::checksum;
use crate::db::{Conn, Record, ask, corrupt, int, sql};
use crate::error::Result;

/// The number of a stream's first event.
pub const FIRST_SEQ: u64 = 1;

pub async fn load(conn: &mut Conn<'_>, stream: &StreamId, since: Since) -> Result<Loaded> {
    let name = stream.to_string();
    let query = sql("SELECT generation, oldest_generation, next_seq, tenant, checksum FROM streams WHERE stream = $1");
    let Some(row) = query.text(name.as_str()).first(conn).await? else {
        return Ok(Loaded { generation: 0, snapshot: None, events: Vec::new(), next_seq: FIRST_SEQ });
    };
    let (generation, next_seq) = (row.count(0)?, row.count(2)?);
    let checksum = checksum::of_stream(&name, &row.text(3)?, generation, next_seq);
    checksum::verify(&row, 4, checksum, || format!("the row of {stream}"))?;
    let from = match since {
        Since::Newest => generation,
        Since::Oldest => row.count(1)?,
    };
    let snapshot = read_snapshot(conn, &name, from).await?;
    let first = snapshot.as_ref().map_or(FIRST_SEQ, |snapshot| snapshot.next_seq);
    let query = sql("SELECT seq, ts, data, checksum FROM events WHERE stream = $1 AND seq >= $2 ORDER BY seq");
    let rows = query.text(name.as_str()).int(int(first)).all(conn).await?;
    let events = read_events(&name, &rows)?;
    let expected = first..next_seq.max(first);
    if !events.iter().map(|event| event.seq).eq(expected.clone()) || next_seq < first {
        let reason =
            format!("{stream} should have the events {first} to {}, and has others", next_seq.saturating_sub(1));
        return Err(corrupt(reason));
    }
    Ok(Loaded { generation, snapshot, events, next_seq })
}

/// The snapshot that a generation begins with; the first one has none.
async fn read_snapshot(conn: &mut Conn<'_>, stream: &str, generation: u64) -> Result<Option<Snapshot>> {
    let query = sql("SELECT next_seq, taken_at, data, checksum FROM snapshots WHERE stream = $1 AND generation = $2");
    let Some(row) = query.text(stream).int(int(generation)).first(conn).await? else {
        let missing = || corrupt(format!("the snapshot of {stream}, generation {generation}, is missing"));
        return if generation == 0 { Ok(None) } else { Err(missing()) };
    };
    let snapshot = Snapshot { next_seq: row.count(0)?, taken_at: row.time(1)?, data: row.text(2)? };
    let Snapshot { next_seq, taken_at, data } = &snapshot;
    let checksum = checksum::of_snapshot(stream, generation, *next_seq, *taken_at, data);
    checksum::verify(&row, 3, checksum, || format!("the snapshot of {stream}, generation {generation},"))?;
    Ok(Some(snapshot))
}

pub async fn history(
    conn: &mut Conn<'_>,
    stream: &StreamId,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<StoredEvent>> {
    let name = stream.to_string();
    let query =
        sql("SELECT seq, ts, data, checksum FROM events WHERE stream = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3");
    let query = query.text(name.as_str()).int(before.map_or(i64::MAX, int)).int(int(limit));
    let mut events = read_events(&name, &query.all(conn).await?)?;
    events.reverse();
    Ok(events)
}

fn read_events(stream: &str, rows: &[Record]) -> Result<Vec<StoredEvent>> {
    let read = |row: &Record| {
        let event = StoredEvent { seq: row.count(0)?, ts: row.time(1)?, data: row.text(2)? };
        let checksum = checksum::of_event(stream, event.seq, event.ts, &event.data);
        checksum::verify(row, 3, checksum, || format!("event {} of {stream}", event.seq))?;
        Ok(event)
    };
    rows.iter().map(read).collect()
}

// The second half: streams of which there is nothing yet but entries in the inbox.
pub(crate) const STREAMS: &str = "\
    SELECT s.stream, s.tenant, s.generation, s.next_seq,
        (SELECT count(*) FROM inbox i WHERE i.stream = s.stream AND i.status = 'processing') AS unsettled, s.owner,
        s.checksum
    FROM streams s WHERE ($1 IS NULL OR s.tenant = $1)
    UNION ALL
    SELECT i.stream, min(i.tenant), 0, 1, count(*), NULL, NULL
    FROM inbox i WHERE i.status = 'processing' AND i.stream IS NOT NULL AND ($1 IS NULL OR i.tenant = $1)
        AND NOT EXISTS (SELECT 1 FROM streams s WHERE s.stream = i.stream)
    GROUP BY i.stream
    ORDER BY 1";

/// All streams, with what waits for each: asked of the inbox once, and not of each stream.
const WITH_WORK: &str = "\
    WITH waiting AS (
        SELECT stream, min(tenant) AS tenant, count(*) AS unsettled FROM inbox
        WHERE status = 'processing' AND stream IS NOT NULL GROUP BY stream
    ), known AS (
        SELECT s.stream, s.tenant, s.generation, s.next_seq, coalesce(w.unsettled, 0) AS unsettled, s.owner, s.checksum
        FROM streams s LEFT JOIN waiting w ON w.stream = s.stream
        UNION ALL
        SELECT w.stream, w.tenant, 0, 1, w.unsettled, NULL, NULL FROM waiting w
        WHERE NOT EXISTS (SELECT 1 FROM streams s WHERE s.stream = w.stream)
    )";

pub async fn busiest(conn: &mut Conn<'_>, tenant: Option<&TenantId>, limit: usize) -> Result<Busiest> {
    let of = |text: String| sql(text).opt_text(tenant.map(TenantId::as_str));
    let counts = format!(
        "{WITH_WORK} SELECT count(*), count(CASE WHEN stream LIKE 'repo:%' THEN 1 END), count(owner), \
         CAST(coalesce(sum(unsettled), 0) AS BIGINT) FROM known WHERE ($1 IS NULL OR tenant = $1)"
    );
    let first = format!(
        "{WITH_WORK} SELECT stream, tenant, generation, next_seq, unsettled, owner, checksum FROM known \
         WHERE ($1 IS NULL OR tenant = $1) \
         ORDER BY unsettled DESC, CASE WHEN owner IS NULL THEN 1 ELSE 0 END, next_seq DESC, stream LIMIT $2"
    );
    let [counts, first] = ask(conn, [of(counts), of(first).int(int(limit))]).await?;
    let streams = first.iter().map(read_stream).collect::<Result<Vec<_>>>()?;
    let Some(counts) = counts.first() else { return Ok(Busiest::default()) };
    let count = |column: usize| counts.count(column);
    Ok(Busiest { streams, count: count(0)?, repos: count(1)?, owned: count(2)?, unsettled: count(3)? })
}

pub async fn streams(conn: &mut Conn<'_>, tenant: Option<&TenantId>) -> Result<Vec<StreamInfo>> {
    let rows = sql(STREAMS).opt_text(tenant.map(TenantId::as_str)).all(conn).await?;
    rows.iter().map(read_stream).collect()
}

fn read_stream(row: &Record) -> Result<StreamInfo> {
    let (name, generation, next_seq) = (row.text(0)?, row.count(2)?, row.count(3)?);
    let checksum = checksum::of_stream(&name, &row.text(1)?, generation, next_seq);
    checksum::verify(row, 6, checksum, || format!("the row of {name}"))?;
    Ok(StreamInfo {
        stream: row.parsed(0)?,
        tenant: row.parsed(1)?,
        generation,
        next_seq,
        unsettled: row.count(4)?,
        owner: row.opt_text(5)?,
    })
}
