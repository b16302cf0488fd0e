//! What concerns the store as a whole: whether it can be written to, and bringing in what another one held.

use async_trait::async_trait;
use jiff::Timestamp;
use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::InboxPolicy;

use crate::checksum;
use crate::db::{Conn, Script, int, micros, sql};
use crate::error::{Error, Result};
use crate::inbox::{Admission, Arrival, admit};
use crate::room;
use crate::stream::{NewEvent, Snapshot, append, compact};
use crate::writer::Write;

/// As much as a webhook of the larger kind: what is proven is that there is room for the next one.
const PROOF_BYTES: usize = 16 * 1024;

pub struct Check {
    pub now: Timestamp,
}

#[async_trait]
impl Write for Check {
    /// Why there is no room for anything new, where that is so. No failure: what shares the transaction goes on.
    type Answer = std::result::Result<(), String>;

    /// The new proof comes before the old one goes, so that room for it must be found.
    async fn run(&self, conn: &mut Conn<'_>) -> Result<Self::Answer> {
        if let Err(reason) = room::look(conn).await? {
            return Ok(Err(reason));
        }
        let name = format!("check:{}", micros(self.now));
        sql("INSERT INTO meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
            .text(name.as_str())
            .blob(vec![0x5a; PROOF_BYTES])
            .execute(conn)
            .await?;
        let others = sql("DELETE FROM meta WHERE name >= 'check:' AND name < 'check;' AND name <> $1");
        others.text(name).execute(conn).await?;
        Ok(Ok(()))
    }
}

/// A stream that comes from elsewhere, with what waits for its owner.
#[derive(Debug, Clone)]
pub struct ImportedStream {
    pub stream: StreamId,
    pub tenant: TenantId,
    pub generation: u64,
    pub snapshot: Option<Snapshot>,
    /// Those after the snapshot (or from the first one on), without a gap.
    pub events: Vec<NewEvent>,
    /// In order of arrival; each routed to this stream.
    pub entries: Vec<Arrival>,
}

pub struct Import {
    pub streams: Vec<ImportedStream>,
    pub policy: InboxPolicy,
}

#[async_trait]
impl Write for Import {
    type Answer = ();

    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        for stream in &self.streams {
            stream.must_be_new(conn).await?;
        }
        for stream in &self.streams {
            stream.write(conn, &self.policy).await?;
        }
        Ok(())
    }
}

impl ImportedStream {
    async fn must_be_new(&self, conn: &mut Conn<'_>) -> Result<()> {
        let name = self.stream.to_string();
        let there =
            sql("SELECT 1 FROM streams WHERE stream = $1 UNION ALL SELECT 1 FROM inbox WHERE stream = $1 LIMIT 1");
        let mut there = there.text(name).first(conn).await?.is_some();
        for entry in &self.entries {
            let twin = sql("SELECT id FROM inbox WHERE tenant = $1 AND key = $2");
            there |= twin.text(entry.tenant.as_str()).text(entry.key.as_str()).first(conn).await?.is_some();
        }
        if there { Err(Error::Exists { stream: self.stream.clone() }) } else { Ok(()) }
    }

    async fn write(&self, conn: &mut Conn<'_>, policy: &InboxPolicy) -> Result<()> {
        let name = self.stream.to_string();
        let first = self.snapshot.as_ref().map_or(1, |snapshot| snapshot.next_seq);
        let next_seq = first + self.events.len() as u64;
        sql(
            // What it had in mind is not in the files: it is to be looked at, once.
            "INSERT INTO streams (stream, tenant, generation, oldest_generation, next_seq, wake_at, checksum) \
             VALUES ($1, $2, $3, $3, $4, 0, $5)",
        )
        .text(name.as_str())
        .text(self.tenant.as_str())
        .int(int(self.generation))
        .int(int(next_seq))
        .int(checksum::of_stream(&name, self.tenant.as_str(), self.generation, next_seq))
        .execute(conn)
        .await?;
        if let Some(snapshot) = &self.snapshot {
            compact::insert(conn, &name, self.generation, snapshot).await?;
        }
        let mut script = Script::default();
        append::insert(&mut script, conn, &self.stream, first, &self.events)?;
        script.execute(conn).await?;
        let entries: Vec<_> = self.entries.iter().collect();
        let admissions = admit::admit(conn, policy, &entries).await?;
        if admissions.iter().any(|admission| *admission != Admission::Accepted) {
            return Err(Error::Exists { stream: self.stream.clone() });
        }
        Ok(())
    }
}
