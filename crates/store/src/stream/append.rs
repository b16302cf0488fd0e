//! Events, and what is written with them.

use async_trait::async_trait;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::InboxPolicy;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Batch, Lease, NewEvent, lease};
use crate::checksum;
use crate::db::{Conn, Script, ask, cell, corrupt, int, micros, sql, whole};
use crate::error::{Error, Result};
use crate::inbox::settle;
use crate::rows;
use crate::writer::Write;

/// Events in one statement: an import can have millions.
const MOST_AT_ONCE: usize = 1000;

pub struct Append {
    pub lease: Lease,
    pub batch: Batch,
    pub policy: InboxPolicy,
}

#[async_trait]
impl Write for Append {
    type Answer = ();

    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        let Self { lease, batch, policy } = self;
        let questions = [
            lease::held(conn, lease),
            settle::open(conn, &lease.stream, &batch.settled),
            rows::write::known(conn, &batch.rows),
        ];
        let [held, open, known] = ask(conn, questions).await?;
        let standing = lease::confirm(lease, &held)?;
        if standing.next_seq != batch.expected_next_seq {
            let (expected, found) = (batch.expected_next_seq, standing.next_seq);
            return Err(Error::OutOfOrder { stream: lease.stream.clone(), expected, found });
        }
        settle::check(conn, &batch.settled, &open).await?;
        rows::write::check(&batch.rows, &known)?;
        // From here on there is no refusal any more.
        let mut script = Script::default();
        insert(&mut script, conn, &lease.stream, standing.next_seq, &batch.events)?;
        settle::close(&mut script, conn, &batch.settled, policy, batch.now);
        rows::write::write(&mut script, &batch.rows)?;
        let next_seq = standing.next_seq + batch.events.len() as u64;
        let (owner, expires_at) = match batch.lets_go {
            true => (None, None),
            false => (Some(lease.owner.0.as_str()), Some(micros(lease::expiry(batch.now, lease.ttl)))),
        };
        let query = "UPDATE streams SET next_seq = $2, owner = $3, lease_expires_at = $4, wake_at = $5, checksum = $6 \
                     WHERE stream = $1";
        let query = sql(query)
            .text(lease.stream.to_string())
            .int(int(next_seq))
            .opt_text(owner)
            .opt_int(expires_at)
            .opt_int(batch.wake_at.map(micros))
            .int(standing.checksum_at(&lease.stream, standing.generation, next_seq));
        script.add(query);
        script.execute(conn).await
    }
}

/// Writes events under the numbers from `first` on.
pub fn insert(script: &mut Script, conn: &Conn<'_>, stream: &StreamId, first: u64, events: &[NewEvent]) -> Result<()> {
    let name = stream.to_string();
    for (part, events) in events.chunks(MOST_AT_ONCE).enumerate() {
        let first = first + (part * MOST_AT_ONCE) as u64;
        let row = |(seq, event): (u64, &NewEvent)| {
            let checksum = checksum::of_event(&name, seq, event.ts, &event.data);
            Ok(json!([int(seq), micros(event.ts), type_of(&event.data)?, event.data, checksum]))
        };
        let rows = (first..).zip(events).map(row).collect::<Result<Value>>()?;
        let (table, columns) = (conn.table_of(2), [whole(0), whole(1), cell(2), cell(3), whole(4)].join(", "));
        let query =
            format!("INSERT INTO events (stream, seq, ts, type, data, checksum) SELECT $1, {columns} FROM {table}");
        script.add(sql(query).text(name.as_str()).text(rows.to_string()));
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
