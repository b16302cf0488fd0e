//! How an entry leaves the inbox.

use std::collections::HashSet;

use jiff::Timestamp;
use merge_train_core::ids::{RunId, StreamId};
use merge_train_core::inbox::{InboxPolicy, Key, RequestStatus};
use serde_json::{Value, json};

use super::admit::later;
use super::{Outcome, Settlement};
use crate::db::{Conn, Query, Record, Script, cell, micros, sql, whole};
use crate::error::{Error, Result};

/// Asks which of these entries of the stream are still to be settled.
pub fn open(conn: &Conn<'_>, stream: &StreamId, settled: &[Settlement]) -> Query {
    let (id, table, lock) = (whole(0), conn.table_of(2), conn.for_update());
    let query = sql(format!(
        "SELECT id FROM inbox WHERE stream = $1 AND status = 'processing' \
         AND id IN (SELECT {id} FROM {table}){lock}"
    ));
    let ids = Value::from_iter(settled.iter().map(|settlement| [settlement.entry.0]));
    query.text(stream.to_string()).text(ids.to_string())
}

/// Refuses with `LockLost` unless every entry is among the `open` ones. Whose the stream is was looked at.
pub async fn check(conn: &mut Conn<'_>, settled: &[Settlement], open: &[Record]) -> Result<()> {
    let open = open.iter().map(|row| row.int(0)).collect::<Result<HashSet<_>>>()?;
    match settled.iter().find(|settlement| !open.contains(&settlement.entry.0)) {
        Some(lost) => Err(Error::LockLost { key: key_of(conn, lost.entry.0).await? }),
        None => Ok(()),
    }
}

async fn key_of(conn: &mut Conn<'_>, id: i64) -> Result<Key> {
    let found = sql("SELECT key FROM inbox WHERE id = $1").int(id).first(conn).await?;
    let key = found.map(|row| row.text(0)).transpose()?;
    Ok(Key::from_stored(key.unwrap_or_else(|| format!("entry {id}"))))
}

/// Writes how entries ended.
pub fn close(script: &mut Script, conn: &Conn<'_>, settled: &[Settlement], policy: &InboxPolicy, now: Timestamp) {
    if settled.is_empty() {
        return;
    }
    let row = |settlement: &Settlement| {
        let id = settlement.entry.0;
        match &settlement.outcome {
            Outcome::Completed { response, run_id } => {
                let (response, expires_at) = (response.to_string(), micros(later(now, policy.completed_ttl)));
                json!([
                    id,
                    RequestStatus::Completed.as_str(),
                    response,
                    null,
                    run_id.as_ref().map(RunId::as_str),
                    expires_at
                ])
            }
            Outcome::Failed { error } => {
                json!([id, RequestStatus::Failed.as_str(), null, error, null, micros(later(now, policy.failed_ttl))])
            }
        }
    };
    let rows = Value::from_iter(settled.iter().map(row));
    let (table, columns) = (conn.table_of(1), [whole(0), cell(1), cell(2), cell(3), cell(4), whole(5)]);
    let [id, status, response, error, run_id, expires_at] = columns;
    let query = format!(
        "UPDATE inbox SET status = ended.status, response = ended.response, error = ended.error, run_id = ended.run_id, \
         updated_at = $2, expires_at = ended.expires_at, lock_expires_at = NULL, \
         attempts = attempts + CASE WHEN stream IS NULL THEN 0 ELSE 1 END \
         FROM (SELECT {id} AS id, {status} AS status, {response} AS response, {error} AS error, {run_id} AS run_id, \
         {expires_at} AS expires_at FROM {table}) AS ended WHERE inbox.id = ended.id"
    );
    script.add(sql(query).text(rows.to_string()).int(micros(now)));
}
