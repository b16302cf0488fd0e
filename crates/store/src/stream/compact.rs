//! A new beginning for a stream: a snapshot that stands for all events before it.

use async_trait::async_trait;

use super::{Lease, Snapshot, lease};
use crate::checksum;
use crate::db::{Conn, int, micros, sql};
use crate::error::{Error, Result};
use crate::writer::Write;

pub struct Compact {
    pub lease: Lease,
    pub snapshot: Snapshot,
}

#[async_trait]
impl Write for Compact {
    type Answer = u64;

    async fn run(&self, conn: &mut Conn<'_>) -> Result<u64> {
        let Self { lease, snapshot } = self;
        let standing = lease::hold(conn, lease).await?;
        let newest = sql("SELECT next_seq FROM snapshots WHERE stream = $1 AND generation = $2")
            .text(lease.stream.to_string())
            .int(int(standing.generation))
            .first(conn)
            .await?;
        let newest = newest.map(|row| row.count(0)).transpose()?.unwrap_or(1);
        if !(newest..=standing.next_seq).contains(&snapshot.next_seq) {
            let (expected, found) = (snapshot.next_seq, standing.next_seq);
            return Err(Error::OutOfOrder { stream: lease.stream.clone(), expected, found });
        }
        let generation = standing.generation + 1;
        insert(conn, &lease.stream.to_string(), generation, snapshot).await?;
        sql("UPDATE streams SET generation = $2, checksum = $3 WHERE stream = $1")
            .text(lease.stream.to_string())
            .int(int(generation))
            .int(standing.checksum_at(&lease.stream, generation, standing.next_seq))
            .execute(conn)
            .await?;
        Ok(generation)
    }
}

pub async fn insert(conn: &mut Conn<'_>, stream: &str, generation: u64, snapshot: &Snapshot) -> Result<()> {
    let Snapshot { next_seq, taken_at, data } = snapshot;
    sql("INSERT INTO snapshots (stream, generation, next_seq, taken_at, data, checksum) VALUES ($1, $2, $3, $4, $5, $6)")
        .text(stream)
        .int(int(generation))
        .int(int(*next_seq))
        .int(micros(*taken_at))
        .text(data.as_str())
        .int(checksum::of_snapshot(stream, generation, *next_seq, *taken_at, data))
        .execute(conn)
        .await?;
    Ok(())
}
