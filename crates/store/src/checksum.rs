//! What a row says, in one number that is kept beside it: a row that anything but this program changed does not match.
//!
//! Against accidents, not against people: whoever can write to the database can write the number as well.

use jiff::Timestamp;

use crate::db::{Record, corrupt, int, micros};
use crate::error::Result;
use crate::inbox::Entry;

/// Fields, added up one after the other.
struct Sum(crc32fast::Hasher);

impl Sum {
    fn int(mut self, value: i64) -> Self {
        self.0.update(&value.to_le_bytes());
        self
    }

    /// With its length, so that nothing can move from one field into the next.
    fn bytes(mut self, value: &[u8]) -> Self {
        self = self.int(int(value.len()));
        self.0.update(value);
        self
    }

    fn text(self, value: &str) -> Self {
        self.bytes(value.as_bytes())
    }

    fn of(table: &str) -> Self {
        Self(crc32fast::Hasher::new()).text(table)
    }

    fn total(self) -> i64 {
        i64::from(self.0.finalize())
    }
}

/// Where a stream stands. Not whose it is: that changes with every lease, and ends with the process.
pub fn of_stream(stream: &str, tenant: &str, generation: u64, next_seq: u64) -> i64 {
    Sum::of("streams").text(stream).text(tenant).int(int(generation)).int(int(next_seq)).total()
}

pub fn of_event(stream: &str, seq: u64, ts: Timestamp, data: &str) -> i64 {
    Sum::of("events").text(stream).int(int(seq)).int(micros(ts)).text(data).total()
}

pub fn of_snapshot(stream: &str, generation: u64, next_seq: u64, taken_at: Timestamp, data: &str) -> i64 {
    let sum = Sum::of("snapshots").text(stream).int(int(generation)).int(int(next_seq));
    sum.int(micros(taken_at)).text(data).total()
}

/// What came in for a stream, all that its sender said. How often it was tried is not part of it.
pub fn of_entry(stream: &str, entry: &Said<'_>) -> i64 {
    let sum = Sum::of("bodies").text(stream).text(entry.tenant).text(entry.key).text(entry.source).text(entry.hash);
    let sum = sum.int(entry.priority).text(entry.label).int(micros(entry.received_at));
    sum.bytes(entry.body).total()
}

/// What a sender said.
pub struct Said<'a> {
    pub tenant: &'a str,
    pub key: &'a str,
    pub source: &'a str,
    pub hash: &'a str,
    pub priority: i64,
    pub label: &'a str,
    pub received_at: Timestamp,
    pub body: &'a [u8],
}

impl<'a> From<&'a Entry> for Said<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            tenant: entry.tenant.as_str(),
            key: entry.key.as_str(),
            source: entry.source.as_str(),
            hash: entry.hash.as_str(),
            priority: entry.priority.rank(),
            label: &entry.label,
            received_at: entry.received_at,
            body: &entry.body,
        }
    }
}

/// Refuses a row whose number, in this column, is not that of what it says. A row without one is believed.
pub fn verify(row: &Record, column: usize, expected: i64, what: impl FnOnce() -> String) -> Result<()> {
    match row.opt_int(column)? {
        Some(found) if found != expected => Err(corrupt(format!("{} does not match its checksum", what()))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_from_one_field_to_the_next_is_noticed() {
        assert_ne!(of_stream("repo:a", "bc", 0, 1), of_stream("repo:ab", "c", 0, 1));
        assert_ne!(of_stream("repo:a", "a", 0, 1), of_stream("repo:a", "a", 1, 0));
    }

    #[test]
    fn a_checksum_is_the_same_for_ever() {
        // Databases hold them: another number here means that every database out there is called damaged.
        let at: Timestamp = "2024-01-15T10:00:00Z".parse().unwrap();
        assert_eq!(of_stream("repo:acme/widgets", "acme", 3, 77), 4_225_234_697);
        assert_eq!(of_event("repo:acme/widgets", 77, at, r#"{"type":"x"}"#), 319_194_924);
        assert_eq!(of_snapshot("repo:acme/widgets", 3, 77, at, "{}"), 2_844_130_585);
    }
}
