//! The one door to a database: the same statements for both, with values of three kinds.
//!
//! Parameters are written `$1`, which both databases read. Whole numbers are `BIGINT`, times are microseconds, JSON is text.

mod query;
mod record;

use jiff::Timestamp;
use sqlx::{PgConnection, SqliteConnection};

pub use query::{Query, sql};
pub use record::{Record, corrupt};

/// A connection, within a transaction.
pub enum Conn<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

impl Conn<'_> {
    /// What a `SELECT` ends with that is followed by a write to the rows it finds. SQLite has one writer: there is
    /// nobody to keep out.
    pub fn for_update(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "",
            Self::Postgres(_) => " FOR UPDATE",
        }
    }
}

/// The numbers of rows that statements for many rows are made for. There are only these, so that the database knows
/// each of them already.
const CHUNKS: [usize; 4] = [64, 16, 4, 1];

/// Cuts a list into pieces, each as long as one of the prepared statements takes.
pub fn chunks<T>(mut items: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = CHUNKS.into_iter().find(|size| *size <= items.len())?;
        let (chunk, rest) = items.split_at(size);
        items = rest;
        Some(chunk)
    })
}

/// `($1, $2), ($3, $4)` for `rows` rows of `columns` parameters.
pub fn placeholders(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let numbers: Vec<_> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
        format!("({})", numbers.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// `($2, $3, $4)` for `count` parameters after the first `before`.
pub fn one_of(before: usize, count: usize) -> String {
    let numbers: Vec<_> = (before + 1..=before + count).map(|number| format!("${number}")).collect();
    format!("({})", numbers.join(", "))
}

pub fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// A count as the databases hold it. Nothing here counts beyond 2^63.
pub fn int(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_cut_into_pieces_of_the_prepared_sizes() {
        let items: Vec<_> = (0..150).collect();
        let sizes: Vec<_> = chunks(&items).map(<[_]>::len).collect();
        assert_eq!(sizes, [64, 64, 16, 4, 1, 1]);
        assert_eq!(chunks(&items).flatten().copied().collect::<Vec<_>>(), items);
        assert_eq!(chunks::<i32>(&[]).count(), 0);
    }

    #[test]
    fn parameters_are_numbered_through() {
        assert_eq!(placeholders(2, 3), "($1, $2, $3), ($4, $5, $6)");
        assert_eq!(one_of(2, 3), "($3, $4, $5)");
    }
}
