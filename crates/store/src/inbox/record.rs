//! What is remembered of a request, as it lies in the database.

use merge_train_core::ids::{RunId, TenantId};
use merge_train_core::inbox::{Key, RequestHash, RequestRecord, RequestStatus, Source};

use crate::db::{self, Conn, corrupt, sql};
use crate::error::Result;

const COLUMNS: &str = "key, source, tenant, run_id, status, request_hash, response, error, created_at, updated_at, \
                       expires_at, lock_expires_at, attempts, id, fence";

/// A record, with what only the store knows of it.
pub struct Found {
    pub record: RequestRecord,
    pub id: i64,
    pub fence: u64,
}

/// What is remembered under a key, for somebody who is about to change it.
pub async fn find_for_update(conn: &mut Conn<'_>, tenant: &TenantId, key: &Key) -> Result<Option<Found>> {
    let lock = conn.for_update();
    find_with(conn, tenant, key, lock).await
}

pub async fn find(conn: &mut Conn<'_>, tenant: &TenantId, key: &Key) -> Result<Option<RequestRecord>> {
    Ok(find_with(conn, tenant, key, "").await?.map(|found| found.record))
}

async fn find_with(conn: &mut Conn<'_>, tenant: &TenantId, key: &Key, lock: &str) -> Result<Option<Found>> {
    let query = sql(format!("SELECT {COLUMNS} FROM inbox WHERE tenant = $1 AND key = $2{lock}"));
    let row = query.text(tenant.as_str()).text(key.as_str()).first(conn).await?;
    row.map(|row| read(&row)).transpose()
}

fn read(row: &db::Record) -> Result<Found> {
    let record = RequestRecord {
        key: Key::from_stored(row.text(0)?),
        source: source(&row.text(1)?)?,
        tenant_id: row.parsed(2)?,
        run_id: run_id(row.opt_text(3)?)?,
        status: status(&row.text(4)?)?,
        request_hash: RequestHash::from_stored(row.text(5)?),
        response: row.opt_text(6)?.map(|_| row.json(6)).transpose()?,
        error: row.opt_text(7)?,
        created_at: row.time(8)?,
        updated_at: row.time(9)?,
        expires_at: row.time(10)?,
        lock_expires_at: row.opt_time(11)?,
        attempts: attempts(row.count(12)?),
    };
    Ok(Found { record, id: row.int(13)?, fence: row.count(14)? })
}

pub fn source(text: &str) -> Result<Source> {
    let found = Source::ALL.into_iter().find(|source| source.as_str() == text);
    found.ok_or_else(|| corrupt(format!("{text:?} is not a source of requests")))
}

fn status(text: &str) -> Result<RequestStatus> {
    let found = [RequestStatus::Processing, RequestStatus::Completed, RequestStatus::Failed]
        .into_iter()
        .find(|s| s.as_str() == text);
    found.ok_or_else(|| corrupt(format!("{text:?} is not the status of a request")))
}

fn run_id(text: Option<String>) -> Result<Option<RunId>> {
    text.map(RunId::parse).transpose().map_err(|error| corrupt(error.to_string()))
}

pub fn attempts(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
