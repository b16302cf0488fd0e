//! The one door to a database: the same statements for both, with values of three kinds.
//!
//! Parameters are written `$1`, which both databases read. Whole numbers are `BIGINT`, times are microseconds, JSON is text.

mod query;
mod record;

use jiff::Timestamp;
use sqlx::{PgConnection, SqliteConnection};

pub use query::{Query, Script, ask, sql};
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

    /// `FROM` this, `cell(0)` is the first member of each array in the JSON array that is parameter `$n`: any number of
    /// rows in one statement, and one statement for any number of rows.
    pub fn table_of(&self, parameter: usize) -> String {
        match self {
            Self::Sqlite(_) => format!("json_each(${parameter}) AS given"),
            Self::Postgres(_) => format!("json_array_elements(${parameter}::json) AS given (value)"),
        }
    }

    /// `(?, ?), (?, ?)` for `rows` rows of `columns` parameters, in order. Not by number in SQLite, which looks each of
    /// them up in a list.
    pub fn placeholders(&self, rows: usize, columns: usize) -> String {
        let row = |row: usize| {
            let mark = |column: usize| match self {
                Self::Sqlite(_) => "?".to_owned(),
                Self::Postgres(_) => format!("${}", row * columns + column),
            };
            format!("({})", (1..=columns).map(mark).collect::<Vec<_>>().join(", "))
        };
        (0..rows).map(row).collect::<Vec<_>>().join(", ")
    }
}

/// A text from the table of a JSON parameter.
pub fn cell(column: usize) -> String {
    format!("given.value ->> {column}")
}

/// A whole number from the table of a JSON parameter.
pub fn whole(column: usize) -> String {
    format!("CAST(given.value ->> {column} AS BIGINT)")
}

/// The numbers of rows that statements for many rows are made for. There are only these, so that the database knows
/// each of them already.
const CHUNKS: [usize; 5] = [256, 64, 16, 4, 1];

/// Cuts a list into pieces, each as long as one of the prepared statements takes.
pub fn chunks<T>(mut items: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = CHUNKS.into_iter().find(|size| *size <= items.len())?;
        let (chunk, rest) = items.split_at(size);
        items = rest;
        Some(chunk)
    })
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
}
