//! A statement and its values.

mod script;

use std::borrow::Cow;

use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgArguments, Postgres};
use sqlx::sqlite::{Sqlite, SqliteArguments};

use super::{Conn, Record};
use crate::error::Result;
pub use script::{Script, ask};

/// A statement with its values in order.
pub struct Query {
    text: Cow<'static, str>,
    values: Vec<Value>,
}

enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Blob(Vec<u8>),
}

/// Begins a statement. Its text is never made from anything that came from outside.
pub fn sql(text: impl Into<Cow<'static, str>>) -> Query {
    Query { text: text.into(), values: Vec::new() }
}

impl Query {
    pub fn int(self, value: i64) -> Self {
        self.with(Value::Int(Some(value)))
    }

    pub fn opt_int(self, value: Option<i64>) -> Self {
        self.with(Value::Int(value))
    }

    pub fn text(self, value: impl Into<String>) -> Self {
        self.with(Value::Text(Some(value.into())))
    }

    pub fn opt_text(self, value: Option<impl Into<String>>) -> Self {
        self.with(Value::Text(value.map(Into::into)))
    }

    pub fn blob(self, value: Vec<u8>) -> Self {
        self.with(Value::Blob(value))
    }

    fn with(mut self, value: Value) -> Self {
        self.values.push(value);
        self
    }

    /// Runs it; how many rows it changed.
    pub async fn execute(self, conn: &mut Conn<'_>) -> Result<u64> {
        Ok(match conn {
            Conn::Sqlite(conn) => self.for_sqlite().execute(&mut **conn).await?.rows_affected(),
            Conn::Postgres(conn) => self.for_postgres().execute(&mut **conn).await?.rows_affected(),
        })
    }

    pub async fn all(self, conn: &mut Conn<'_>) -> Result<Vec<Record>> {
        Ok(match conn {
            Conn::Sqlite(conn) => {
                let rows = self.for_sqlite().fetch_all(&mut **conn).await?;
                rows.into_iter().map(Record::Sqlite).collect()
            }
            Conn::Postgres(conn) => {
                let rows = self.for_postgres().fetch_all(&mut **conn).await?;
                rows.into_iter().map(Record::Postgres).collect()
            }
        })
    }

    pub async fn first(self, conn: &mut Conn<'_>) -> Result<Option<Record>> {
        Ok(match conn {
            Conn::Sqlite(conn) => self.for_sqlite().fetch_optional(&mut **conn).await?.map(Record::Sqlite),
            Conn::Postgres(conn) => self.for_postgres().fetch_optional(&mut **conn).await?.map(Record::Postgres),
        })
    }

    fn for_sqlite<'q>(self) -> sqlx::query::Query<'q, Sqlite, SqliteArguments> {
        let query = sqlx::query(AssertSqlSafe(self.text.into_owned()));
        self.values.into_iter().fold(query, |query, value| match value {
            Value::Int(value) => query.bind(value),
            Value::Text(value) => query.bind(value),
            Value::Blob(value) => query.bind(value),
        })
    }

    fn for_postgres<'q>(self) -> sqlx::query::Query<'q, Postgres, PgArguments> {
        let query = sqlx::query(AssertSqlSafe(self.text.into_owned()));
        self.values.into_iter().fold(query, |query, value| match value {
            Value::Int(value) => query.bind(value),
            Value::Text(value) => query.bind(value),
            Value::Blob(value) => query.bind(value),
        })
    }
}

#[cfg(test)]
mod plans;
