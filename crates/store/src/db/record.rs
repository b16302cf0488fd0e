//! A row that was read.

use jiff::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Postgres, Row, Sqlite, Type};

use crate::error::{Error, Result};

/// A row, with its columns by their place in the `SELECT`.
pub enum Record {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Record {
    pub fn int(&self, column: usize) -> Result<i64> {
        self.get(column)
    }

    pub fn opt_int(&self, column: usize) -> Result<Option<i64>> {
        self.get(column)
    }

    /// A count, a sequence number or an epoch: never negative.
    pub fn count(&self, column: usize) -> Result<u64> {
        let found = self.int(column)?;
        u64::try_from(found).map_err(|_| corrupt(format!("{found} where a count should be")))
    }

    pub fn text(&self, column: usize) -> Result<String> {
        self.get(column)
    }

    pub fn opt_text(&self, column: usize) -> Result<Option<String>> {
        self.get(column)
    }

    pub fn blob(&self, column: usize) -> Result<Vec<u8>> {
        self.get(column)
    }

    pub fn time(&self, column: usize) -> Result<Timestamp> {
        to_time(self.int(column)?)
    }

    pub fn opt_time(&self, column: usize) -> Result<Option<Timestamp>> {
        self.opt_int(column)?.map(to_time).transpose()
    }

    /// A name or a number in a text column.
    pub fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(&self, column: usize) -> Result<T> {
        self.text(column)?.parse().map_err(|error: T::Err| corrupt(error.to_string()))
    }

    pub fn json<T: serde::de::DeserializeOwned>(&self, column: usize) -> Result<T> {
        serde_json::from_str(&self.text(column)?).map_err(|error| corrupt(error.to_string()))
    }

    fn get<T>(&self, column: usize) -> Result<T>
    where
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + for<'r> Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(match self {
            Self::Sqlite(row) => row.try_get(column)?,
            Self::Postgres(row) => row.try_get(column)?,
        })
    }
}

pub fn corrupt(reason: impl Into<String>) -> Error {
    Error::Corrupt { reason: reason.into() }
}

fn to_time(micros: i64) -> Result<Timestamp> {
    Timestamp::from_microsecond(micros).map_err(|_| corrupt(format!("{micros} where a time should be")))
}
