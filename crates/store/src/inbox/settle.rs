//! How an entry leaves the inbox.

use jiff::Timestamp;
use merge_train_core::ids::{RunId, StreamId};
use merge_train_core::inbox::{Key, Policy, Status};

use super::admit::later;
use super::{Outcome, Settlement};
use crate::db::{Conn, chunks, int, micros, one_of, sql};
use crate::error::{Error, Result};

/// Refuses with `LockLost` unless every entry is in the hands of this epoch.
pub async fn check(conn: &mut Conn<'_>, stream: &StreamId, epoch: u64, settled: &[Settlement]) -> Result<()> {
    for chunk in chunks(settled) {
        let ids = one_of(2, chunk.len());
        let lock = conn.for_update();
        let query = sql(format!(
            "SELECT id FROM inbox WHERE stream = $1 AND lock_epoch = $2 AND status = 'processing' AND id IN {ids}{lock}"
        ));
        let query = query.text(stream.to_string()).int(int(epoch));
        let held = chunk.iter().fold(query, |query, settlement| query.int(settlement.entry.0)).all(conn).await?;
        let held = held.iter().map(|row| row.int(0)).collect::<Result<Vec<_>>>()?;
        if let Some(lost) = chunk.iter().find(|settlement| !held.contains(&settlement.entry.0)) {
            return Err(Error::LockLost { key: key_of(conn, lost.entry.0).await? });
        }
    }
    Ok(())
}

async fn key_of(conn: &mut Conn<'_>, id: i64) -> Result<Key> {
    let found = sql("SELECT key FROM inbox WHERE id = $1").int(id).first(conn).await?;
    let key = found.map(|row| row.text(0)).transpose()?;
    Ok(Key::from_stored(key.unwrap_or_else(|| format!("entry {id}"))))
}

/// Writes how an entry ended.
pub async fn close(conn: &mut Conn<'_>, id: i64, outcome: &Outcome, policy: &Policy, now: Timestamp) -> Result<()> {
    let (status, response, error, run, ttl) = match outcome {
        Outcome::Completed { response, run_id } => {
            (Status::Completed, Some(response.to_string()), None, run_id.as_ref(), policy.completed_ttl)
        }
        Outcome::Failed { error } => (Status::Failed, None, Some(error.clone()), None, policy.failed_ttl),
    };
    let query = "UPDATE inbox SET status = $2, response = $3, error = $4, run_id = $5, updated_at = $6, expires_at = $7, \
                 lock_epoch = NULL, lock_expires_at = NULL WHERE id = $1";
    sql(query)
        .int(id)
        .text(status.as_str())
        .opt_text(response)
        .opt_text(error)
        .opt_text(run.map(RunId::as_str))
        .int(micros(now))
        .int(micros(later(now, ttl)))
        .execute(conn)
        .await?;
    Ok(())
}
