//! Instances tell each other of what they took in.

use std::time::Duration;

use jiff::Timestamp;
use merge_train_core::ids::StreamId;
use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use crate::db::{Conn, chunks, sql};
use crate::error::Result;
use crate::inbox::waiting;
use crate::stream::Owner;

const CHANNEL: &str = "merge_train_inbox";

/// How long to wait before listening again after the connection was lost.
const PAUSE: Duration = Duration::from_secs(1);

/// Streams looked up after a time of not hearing anything.
const MISSED: usize = 1000;

/// Says that there is something for these streams. Heard when the transaction is committed.
pub async fn tell(conn: &mut Conn<'_>, owner: &Owner, streams: impl Iterator<Item = &StreamId>) -> Result<()> {
    let streams: Vec<_> = streams.collect();
    for chunk in chunks(&streams) {
        let calls: Vec<_> = (1..=chunk.len()).map(|number| format!("pg_notify('{CHANNEL}', ${number})")).collect();
        let query = sql(format!("SELECT {}", calls.join(", ")));
        chunk.iter().fold(query, |query, stream| query.text(payload(owner, stream))).execute(conn).await?;
    }
    Ok(())
}

fn payload(owner: &Owner, stream: &StreamId) -> String {
    format!("{stream} {owner}")
}

/// A stream that another instance took something in for.
fn heard(payload: &str, own: &Owner) -> Option<StreamId> {
    let (stream, owner) = payload.split_once(' ')?;
    if owner == own.0 { None } else { stream.parse().ok() }
}

/// Listens for as long as the handle is not used.
pub fn listen(pool: PgPool, own: Owner, wakes: broadcast::Sender<StreamId>) -> AbortHandle {
    let task = tokio::spawn(async move {
        let mut missed = Missed::Nothing;
        while !pool.is_closed() {
            if let Err(error) = listen_once(&pool, &own, &wakes, missed).await {
                tracing::warn!(%error, "not hearing from other instances; trying again");
            }
            missed = Missed::Perhaps;
            tokio::time::sleep(PAUSE).await;
        }
    });
    task.abort_handle()
}

/// Whether others may have spoken while nobody listened.
#[derive(Clone, Copy, PartialEq)]
enum Missed {
    Nothing,
    Perhaps,
}

async fn listen_once(pool: &PgPool, own: &Owner, wakes: &broadcast::Sender<StreamId>, missed: Missed) -> Result<()> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    if missed == Missed::Perhaps {
        let mut reader = pool.begin().await?;
        for stream in waiting::waiting(&mut Conn::Postgres(&mut reader), Timestamp::now(), MISSED).await? {
            // Nobody listens: nothing to tell.
            let _ = wakes.send(stream);
        }
    }
    loop {
        // None: the connection was lost, and with it perhaps a word.
        let Some(notification) = listener.try_recv().await? else { return Ok(()) };
        if let Some(stream) = heard(notification.payload(), own) {
            let _ = wakes.send(stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_does_not_wake_itself() {
        let (own, other) = (Owner("host a 1".to_owned()), Owner("host a 2".to_owned()));
        let stream: StreamId = "repo:acme/widgets".parse().unwrap();
        assert_eq!(heard(&payload(&own, &stream), &own), None);
        assert_eq!(heard(&payload(&other, &stream), &own), Some(stream));
        assert_eq!(heard("nonsense", &own), None);
    }
}
