//! At the door: what is new is taken in, what is known gets what its twin got.

use std::collections::HashMap;

use jiff::Timestamp;
use merge_train_core::inbox::{ArrivalDecision, InboxPolicy, RequestRecord, RequestStatus, judge};

use super::record::{self, Found};
use super::{Admission, Arrival, Claim, Priority, Route};
use crate::checksum::{self, Said};
use crate::db::{Conn, Query, chunks, corrupt, int, micros, sql};
use crate::error::Result;

const COLUMNS: &str = "tenant, key, source, stream, priority, label, size, status, request_hash, response, created_at, \
                       updated_at, expires_at, fence, lock_expires_at, attempts";
const COLUMN_COUNT: usize = 16;

/// How often a key is looked at again that vanished between two looks.
const VANISHED: usize = 3;

/// Takes in many at once, in the order given, and says for each what became of it.
pub async fn admit(conn: &mut Conn<'_>, policy: &InboxPolicy, arrivals: &[&Arrival]) -> Result<Vec<Admission>> {
    let mut admissions: Vec<Option<Admission>> = vec![None; arrivals.len()];
    let indices: Vec<usize> = (0..arrivals.len()).collect();
    let mut bodies = Vec::new();
    for chunk in chunks(&indices) {
        let rows: Vec<_> = chunk.iter().map(|index| NewRow::of(arrivals[*index], policy)).collect();
        let mut made = insert(conn, &rows).await?;
        for (index, row) in chunk.iter().zip(&rows) {
            // Of two arrivals of one key the first has the row, and the second finds it.
            if let Some(id) = made.remove(&row.name()) {
                admissions[*index] = Some(row.admission(1));
                bodies.extend(row.body_of(id, row.arrival.received_at));
            }
        }
    }
    insert_bodies(conn, &bodies).await?;
    for (admission, arrival) in admissions.iter_mut().zip(arrivals) {
        if admission.is_none() {
            *admission = Some(admit_known(conn, policy, arrival).await?);
        }
    }
    Ok(admissions.into_iter().flatten().collect())
}

/// An arrival, as it would lie in the inbox.
struct NewRow<'a> {
    arrival: &'a Arrival,
    stream: Option<String>,
    priority: Priority,
    label: &'a str,
    body: Option<&'a [u8]>,
    status: RequestStatus,
    response: Option<String>,
    expires_at: Timestamp,
    lock_expires_at: Option<Timestamp>,
    attempts: u32,
}

struct Body<'a> {
    entry: i64,
    bytes: &'a [u8],
    checksum: i64,
}

impl<'a> NewRow<'a> {
    fn of(arrival: &'a Arrival, policy: &InboxPolicy) -> Self {
        let now = arrival.received_at;
        let row = Self {
            arrival,
            stream: None,
            priority: Priority::Normal,
            label: "",
            body: None,
            status: RequestStatus::Processing,
            response: None,
            expires_at: later(now, policy.completed_ttl),
            lock_expires_at: None,
            attempts: 0,
        };
        match &arrival.route {
            Route::Stream { stream, priority, label, body } => {
                Self { stream: Some(stream.to_string()), priority: *priority, label, body: Some(body), ..row }
            }
            Route::Caller => Self { lock_expires_at: Some(later(now, policy.lock)), attempts: 1, ..row },
            Route::Done { response } => {
                Self { status: RequestStatus::Completed, response: Some(response.to_string()), ..row }
            }
        }
    }

    fn name(&self) -> (String, String) {
        (self.arrival.tenant.to_string(), self.arrival.key.to_string())
    }

    fn size(&self) -> i64 {
        int(self.body.map_or(0, <[u8]>::len))
    }

    /// The body, as it would lie beside the entry of this number.
    fn body_of(&self, entry: i64, received_at: Timestamp) -> Option<Body<'a>> {
        let (bytes, stream) = (self.body?, self.stream.as_deref()?);
        let said = Said {
            tenant: self.arrival.tenant.as_str(),
            key: self.arrival.key.as_str(),
            source: self.arrival.source.as_str(),
            hash: self.arrival.hash.as_str(),
            priority: self.priority.rank(),
            label: self.label,
            received_at,
            body: bytes,
        };
        Some(Body { entry, bytes, checksum: checksum::of_entry(stream, &said) })
    }

    fn admission(&self, fence: u64) -> Admission {
        match self.arrival.route {
            Route::Stream { .. } | Route::Done { .. } => Admission::Accepted,
            Route::Caller => Admission::Claimed(Claim {
                tenant: self.arrival.tenant.clone(),
                key: self.arrival.key.clone(),
                fence,
                attempts: self.attempts,
            }),
        }
    }

    fn bind(&self, query: Query) -> Query {
        let now = micros(self.arrival.received_at);
        query
            .text(self.arrival.tenant.as_str())
            .text(self.arrival.key.as_str())
            .text(self.arrival.source.as_str())
            .opt_text(self.stream.clone())
            .int(self.priority.rank())
            .text(self.label)
            .int(self.size())
            .text(self.status.as_str())
            .text(self.arrival.hash.as_str())
            .opt_text(self.response.clone())
            .int(now)
            .int(now)
            .int(micros(self.expires_at))
            .int(1)
            .opt_int(self.lock_expires_at.map(micros))
            .int(i64::from(self.attempts))
    }
}

pub(super) fn later(now: Timestamp, by: jiff::SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Makes those rows whose keys are new; the ids of those, by tenant and key.
async fn insert(conn: &mut Conn<'_>, rows: &[NewRow<'_>]) -> Result<HashMap<(String, String), i64>> {
    let values = conn.placeholders(rows.len(), COLUMN_COUNT);
    let query = sql(format!(
        "INSERT INTO inbox ({COLUMNS}) VALUES {values} ON CONFLICT (tenant, key) DO NOTHING RETURNING id, tenant, key"
    ));
    let made = rows.iter().fold(query, |query, row| row.bind(query)).all(conn).await?;
    made.iter().map(|row| Ok(((row.text(1)?, row.text(2)?), row.int(0)?))).collect()
}

async fn insert_bodies(conn: &mut Conn<'_>, bodies: &[Body<'_>]) -> Result<()> {
    for chunk in chunks(bodies) {
        let values = conn.placeholders(chunk.len(), 3);
        let query = sql(format!("INSERT INTO bodies (entry, body, checksum) VALUES {values}"));
        let bind = |query: Query, body: &Body<'_>| query.int(body.entry).blob(body.bytes.to_vec()).int(body.checksum);
        chunk.iter().fold(query, bind).execute(conn).await?;
    }
    Ok(())
}

/// An arrival whose key was there.
async fn admit_known(conn: &mut Conn<'_>, policy: &InboxPolicy, arrival: &Arrival) -> Result<Admission> {
    let row = NewRow::of(arrival, policy);
    for _ in 0..VANISHED {
        let found = record::find_for_update(conn, &arrival.tenant, &arrival.key).await?;
        let record = found.as_ref().map(|found| &found.record);
        let verdict = judge(record, &arrival.hash, arrival.received_at, policy);
        match (verdict, found) {
            (ArrivalDecision::New, found) => {
                if let Some(found) = found {
                    sql("DELETE FROM inbox WHERE id = $1").int(found.id).execute(conn).await?;
                }
                // Another instance may have made it meanwhile: then it is looked at again.
                if let Some(id) = insert(conn, std::slice::from_ref(&row)).await?.remove(&row.name()) {
                    let bodies: Vec<_> = row.body_of(id, arrival.received_at).into_iter().collect();
                    insert_bodies(conn, &bodies).await?;
                    return Ok(row.admission(1));
                }
            }
            (ArrivalDecision::Retry, Some(found)) => return retry(conn, row, &found).await,
            (verdict, _) => return Ok(told(verdict)),
        }
    }
    Err(corrupt(format!("the record of {} comes and goes", arrival.key)))
}

fn told(verdict: ArrivalDecision) -> Admission {
    match verdict {
        ArrivalDecision::Replay { response, run_id } => Admission::Replay { response, run_id },
        ArrivalDecision::InFlight { run_id } => Admission::InFlight { run_id },
        ArrivalDecision::Exhausted { error } => Admission::Exhausted { error },
        ArrivalDecision::Conflict => Admission::Conflict,
        ArrivalDecision::New | ArrivalDecision::Retry => Admission::Accepted,
    }
}

/// Puts a failed or abandoned request back to where it is worked on. The fence rises: who had it before is too late.
async fn retry(conn: &mut Conn<'_>, row: NewRow<'_>, found: &Found) -> Result<Admission> {
    let RequestRecord { attempts, .. } = found.record;
    let row = NewRow { attempts: attempts + row.attempts, ..row };
    let fence = found.fence + 1;
    sql(
        "UPDATE inbox SET stream = $2, priority = $3, label = $4, size = $5, status = $6, response = $7, error = NULL, \
         updated_at = $8, expires_at = $9, fence = $10, lock_expires_at = $11, attempts = $12 \
         WHERE id = $1",
    )
    .int(found.id)
    .opt_text(row.stream.clone())
    .int(row.priority.rank())
    .text(row.label)
    .int(row.size())
    .text(row.status.as_str())
    .opt_text(row.response.clone())
    .int(micros(row.arrival.received_at))
    .int(micros(row.expires_at))
    .int(int(fence))
    .opt_int(row.lock_expires_at.map(micros))
    .int(i64::from(row.attempts))
    .execute(conn)
    .await?;
    sql("DELETE FROM bodies WHERE entry = $1").int(found.id).execute(conn).await?;
    // When it came first stays.
    let bodies: Vec<_> = row.body_of(found.id, found.record.created_at).into_iter().collect();
    insert_bodies(conn, &bodies).await?;
    Ok(row.admission(fence))
}
