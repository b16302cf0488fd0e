//! Events, and what is written with them.

use async_trait::async_trait;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::Policy;
use serde::Deserialize;

use super::{Batch, Lease, NewEvent, lease};
use crate::db::{Conn, chunks, corrupt, int, micros, placeholders, sql};
use crate::error::{Error, Result};
use crate::inbox::settle;
use crate::rows;
use crate::writer::Write;

pub struct Append {
    pub lease: Lease,
    pub batch: Batch,
    pub policy: Policy,
}

#[async_trait]
impl Write for Append {
    type Answer = ();

    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        let Self { lease, batch, policy } = self;
        let standing = lease::hold(conn, lease).await?;
        if standing.next_seq != batch.expected_next_seq {
            let (expected, found) = (batch.expected_next_seq, standing.next_seq);
            return Err(Error::OutOfOrder { stream: lease.stream.clone(), expected, found });
        }
        settle::check(conn, &lease.stream, lease.epoch, &batch.settled).await?;
        rows::write::check(conn, &batch.rows).await?;
        // From here on there is no refusal any more.
        insert(conn, &lease.stream, standing.next_seq, &batch.events).await?;
        for settlement in &batch.settled {
            settle::close(conn, settlement.entry.0, &settlement.outcome, policy, batch.now).await?;
        }
        rows::write::write(conn, &batch.rows).await?;
        sql("UPDATE streams SET next_seq = $2, lease_expires_at = $3 WHERE stream = $1")
            .text(lease.stream.to_string())
            .int(int(standing.next_seq) + int(batch.events.len()))
            .int(micros(lease::expiry(batch.now, lease.ttl)))
            .execute(conn)
            .await?;
        Ok(())
    }
}

/// Writes events under the numbers from `first` on.
pub async fn insert(conn: &mut Conn<'_>, stream: &StreamId, first: u64, events: &[NewEvent]) -> Result<()> {
    let mut seq = int(first);
    for chunk in chunks(events) {
        let values = placeholders(chunk.len(), 5);
        let mut query = sql(format!("INSERT INTO events (stream, seq, ts, type, data) VALUES {values}"));
        for event in chunk {
            let kind = type_of(&event.data)?;
            query = query.text(stream.to_string()).int(seq).int(micros(event.ts)).text(kind).text(event.data.as_str());
            seq += 1;
        }
        query.execute(conn).await?;
    }
    Ok(())
}

fn type_of(data: &str) -> Result<String> {
    #[derive(Deserialize)]
    struct Typed {
        r#type: String,
    }
    let typed: Result<Typed, _> = serde_json::from_str(data);
    typed
        .map(|typed| typed.r#type)
        .map_err(|error| corrupt(format!("an event is not a JSON object with a type: {error}")))
}
