//! Streams with work that nobody has in hand.

use jiff::Timestamp;
use merge_train_core::ids::StreamId;

use crate::db::{Conn, int, micros, sql};
use crate::error::Result;

// Goes from stream to stream in the index and looks at the head of each: its cost is that of the streams with work,
// not of the work.
pub(crate) const WAITING: &str = "\
    WITH RECURSIVE busy(stream) AS (
        SELECT (SELECT i.stream FROM inbox i WHERE i.status = 'processing' AND i.stream IS NOT NULL
                ORDER BY i.stream LIMIT 1)
        UNION ALL
        SELECT (SELECT i.stream FROM inbox i WHERE i.status = 'processing' AND i.stream > b.stream
                ORDER BY i.stream LIMIT 1)
        FROM busy b WHERE b.stream IS NOT NULL
    )
    SELECT head.stream FROM (
        SELECT b.stream AS stream, (
            SELECT i.id FROM inbox i
            WHERE i.stream = b.stream AND i.status = 'processing'
            ORDER BY i.priority DESC, i.id LIMIT 1
        ) AS id
        FROM busy b LEFT JOIN streams s ON s.stream = b.stream
        WHERE b.stream IS NOT NULL AND (s.owner IS NULL OR s.lease_expires_at <= $1)
    ) head
    JOIN inbox i ON i.id = head.id
    ORDER BY i.priority DESC, i.id LIMIT $2";

// A stream with an owner is looked after by it.
pub(crate) const DUE: &str = "SELECT stream FROM streams \
    WHERE wake_at <= $1 AND (owner IS NULL OR lease_expires_at <= $1) ORDER BY wake_at LIMIT $2";

pub async fn waiting(conn: &mut Conn<'_>, now: Timestamp, limit: usize) -> Result<Vec<StreamId>> {
    let mut streams: Vec<StreamId> = Vec::new();
    for query in [WAITING, DUE] {
        for row in sql(query).int(micros(now)).int(int(limit)).all(conn).await? {
            let stream = row.parsed(0)?;
            if streams.len() < limit && !streams.contains(&stream) {
                streams.push(stream);
            }
        }
    }
    Ok(streams)
}
