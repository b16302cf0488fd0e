//! Who owns a stream.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::StreamId;

use super::{Lease, LeaseRequest, load};
use crate::checksum;
use crate::db::{Conn, Query, Record, ask, corrupt, int, micros, sql};
use crate::error::{Error, Result};
use crate::inbox::take;
use crate::writer::Write;

/// A stream, as its row says.
pub struct Standing {
    tenant: String,
    pub generation: u64,
    pub next_seq: u64,
    epoch: u64,
    owner: Option<String>,
    lease_expires_at: Option<Timestamp>,
}

impl Standing {
    /// The checksum of its row, were it there.
    pub fn checksum_at(&self, stream: &StreamId, generation: u64, next_seq: u64) -> i64 {
        checksum::of_stream(&stream.to_string(), &self.tenant, generation, next_seq)
    }
}

/// Asks for a stream. With a `lock`, others are kept from changing it until the transaction is over.
fn query(stream: &StreamId, lock: &str) -> Query {
    let query = format!(
        "SELECT generation, next_seq, epoch, owner, lease_expires_at, tenant, checksum FROM streams WHERE stream = $1{lock}"
    );
    sql(query).text(stream.to_string())
}

fn read(stream: &StreamId, rows: &[Record]) -> Result<Option<Standing>> {
    let Some(row) = rows.first() else { return Ok(None) };
    let standing = Standing {
        tenant: row.text(5)?,
        generation: row.count(0)?,
        next_seq: row.count(1)?,
        epoch: row.count(2)?,
        owner: row.opt_text(3)?,
        lease_expires_at: row.opt_time(4)?,
    };
    let checksum = standing.checksum_at(stream, standing.generation, standing.next_seq);
    checksum::verify(row, 6, checksum, || format!("the row of {stream}"))?;
    Ok(Some(standing))
}

async fn look(conn: &mut Conn<'_>, stream: &StreamId) -> Result<Option<Standing>> {
    let rows = query(stream, conn.for_update()).all(conn).await?;
    read(stream, &rows)
}

/// Refuses with `Fenced` unless this lease is the stream's newest and was not released. That its time has run out is no
/// harm as long as nobody took over.
pub async fn hold(conn: &mut Conn<'_>, lease: &Lease) -> Result<Standing> {
    let rows = held(conn, lease).all(conn).await?;
    confirm(lease, &rows)
}

/// What `confirm` wants to know, with the stream kept for who asks.
pub fn held(conn: &Conn<'_>, lease: &Lease) -> Query {
    query(&lease.stream, conn.for_update())
}

/// The same for somebody who only reads: by the time it acts on what it read, it is asked again.
pub fn still_held(lease: &Lease) -> Query {
    query(&lease.stream, "")
}

/// As `hold`, of what was found.
pub fn confirm(lease: &Lease, rows: &[Record]) -> Result<Standing> {
    let standing = read(&lease.stream, rows)?;
    let held = standing.filter(|it| it.epoch == lease.epoch && it.owner.as_deref() == Some(lease.owner.0.as_str()));
    held.ok_or_else(|| Error::Fenced { stream: lease.stream.clone(), epoch: lease.epoch })
}

pub fn expiry(now: Timestamp, ttl: Duration) -> Timestamp {
    SignedDuration::try_from(ttl).ok().and_then(|ttl| now.checked_add(ttl).ok()).unwrap_or(Timestamp::MAX)
}

pub struct Acquire(pub LeaseRequest);

#[async_trait]
impl Write for Acquire {
    type Answer = Lease;

    async fn run(&self, conn: &mut Conn<'_>) -> Result<Lease> {
        let LeaseRequest { stream, owner, ttl, now, .. } = &self.0;
        let questions = [query(stream, conn.for_update()), self.whoever_asks()];
        let [rows, asks] = ask(conn, questions).await?;
        let standing = match read(stream, &rows)? {
            Some(standing) => standing,
            None => {
                if let Some(lease) = self.make(conn, &asks).await? {
                    return Ok(lease);
                }
                let made = look(conn, stream).await?;
                made.ok_or_else(|| corrupt(format!("stream {stream} vanished")))?
            }
        };
        // One that let go left nothing half done.
        let had_owner = standing.owner.is_some();
        if let (Some(holder), Some(until)) = (standing.owner, standing.lease_expires_at)
            && holder != owner.0
            && until > *now
        {
            return Err(Error::Held { stream: stream.clone(), owner: holder, until });
        }
        if had_owner {
            take::count_attempt(conn, stream).await?;
        }
        let epoch = standing.epoch + 1;
        sql("UPDATE streams SET epoch = $2, owner = $3, lease_expires_at = $4 WHERE stream = $1")
            .text(stream.to_string())
            .int(int(epoch))
            .text(owner.0.as_str())
            .int(micros(expiry(*now, *ttl)))
            .execute(conn)
            .await?;
        Ok(self.lease(epoch, standing.next_seq))
    }
}

impl Acquire {
    fn lease(&self, epoch: u64, next_seq: u64) -> Lease {
        let LeaseRequest { stream, owner, ttl, .. } = &self.0;
        Lease { stream: stream.clone(), owner: owner.clone(), epoch, next_seq, ttl: *ttl }
    }

    fn whoever_asks(&self) -> Query {
        let query = "SELECT tenant FROM inbox WHERE stream = $1 AND status = 'processing' ORDER BY id LIMIT 1";
        sql(query).text(self.0.stream.to_string())
    }

    /// Makes the stream. None where another instance just did: then its row is the one.
    async fn make(&self, conn: &mut Conn<'_>, asks: &[Record]) -> Result<Option<Lease>> {
        let LeaseRequest { stream, tenant, owner, ttl, now } = &self.0;
        let name = stream.to_string();
        let tenant = match (tenant, asks.first()) {
            (Some(tenant), _) => tenant.to_string(),
            (None, Some(first)) => first.text(0)?,
            (None, None) => return Err(Error::Unknown { stream: stream.clone() }),
        };
        const EPOCH: u64 = 1;
        let checksum = checksum::of_stream(&name, &tenant, 0, load::FIRST_SEQ);
        let query = "INSERT INTO streams (stream, tenant, checksum, epoch, owner, lease_expires_at) \
                     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (stream) DO NOTHING";
        let made = sql(query)
            .text(name)
            .text(tenant)
            .int(checksum)
            .int(int(EPOCH))
            .text(owner.0.as_str())
            .int(micros(expiry(*now, *ttl)))
            .execute(conn)
            .await?;
        Ok((made > 0).then(|| self.lease(EPOCH, load::FIRST_SEQ)))
    }
}

pub struct Renew {
    pub lease: Lease,
    pub now: Timestamp,
}

#[async_trait]
impl Write for Renew {
    type Answer = ();

    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        hold(conn, &self.lease).await?;
        extend(conn, &self.lease, self.now).await
    }
}

async fn extend(conn: &mut Conn<'_>, lease: &Lease, now: Timestamp) -> Result<()> {
    let query = sql("UPDATE streams SET lease_expires_at = $2 WHERE stream = $1");
    query.text(lease.stream.to_string()).int(micros(expiry(now, lease.ttl))).execute(conn).await?;
    Ok(())
}

pub struct Release {
    pub lease: Lease,
    pub wake_at: Option<Timestamp>,
}

#[async_trait]
impl Write for Release {
    type Answer = ();

    /// One that was taken over has nothing to let go of, and that is no failure.
    async fn run(&self, conn: &mut Conn<'_>) -> Result<()> {
        let query = "UPDATE streams SET owner = NULL, lease_expires_at = NULL, wake_at = $4 \
                     WHERE stream = $1 AND epoch = $2 AND owner = $3";
        sql(query)
            .text(self.lease.stream.to_string())
            .int(int(self.lease.epoch))
            .text(self.lease.owner.0.as_str())
            .opt_int(self.wake_at.map(micros))
            .execute(conn)
            .await?;
        Ok(())
    }
}

/// Ends every lease: their holders are known to be dead. That they did not let go is remembered.
pub async fn clear(conn: &mut Conn<'_>) -> Result<()> {
    sql("UPDATE streams SET lease_expires_at = 0 WHERE owner IS NOT NULL").execute(conn).await?;
    Ok(())
}
