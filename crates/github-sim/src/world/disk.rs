//! The documents on disk: one SQLite table. A killed process loses nothing that was answered; the write-ahead log is
//! not synced at every commit, because a simulator need not survive the machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::table::{Doc, Key, Table};

#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("cannot use the simulator's database")]
    Sqlite(#[from] rusqlite::Error),
    #[error(
        "{path} was written by another version of the simulator (format {found}, this one reads {FORMAT}); start with an empty data directory"
    )]
    Format { path: PathBuf, found: i64 },
    #[error("the stored {kind} {scope}/{id} cannot be read")]
    Document { kind: &'static str, scope: u64, id: u64, source: serde_json::Error },
}

const FORMAT: i64 = 1;

pub struct Disk {
    connection: Connection,
}

impl Disk {
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.execute_batch(
            "create table if not exists documents (
                kind text not null, scope integer not null, id integer not null, body text not null,
                primary key (kind, scope, id)) without rowid",
        )?;
        let found: i64 = connection.query_row("pragma user_version", [], |row| row.get(0))?;
        match found {
            0 => connection.pragma_update(None, "user_version", FORMAT)?,
            FORMAT => {}
            found => return Err(DiskError::Format { path: path.to_owned(), found }),
        }
        Ok(Self { connection })
    }

    pub(super) fn load<T: Doc>(&self) -> Result<Table<T>, DiskError> {
        let mut query = self.connection.prepare("select scope, id, body from documents where kind = ?1")?;
        let mut found = query.query(params![T::KIND])?;
        let mut rows = BTreeMap::new();
        while let Some(row) = found.next()? {
            let (scope, id) = (row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64);
            let body: String = row.get(2)?;
            let doc = serde_json::from_str(&body).map_err(|source| DiskError::Document {
                kind: T::KIND,
                scope,
                id,
                source,
            })?;
            rows.insert(Key { scope, id }, doc);
        }
        Ok(Table::new(rows))
    }

    /// All of it or none of it.
    pub fn save(&mut self, rows: Vec<(&'static str, Key, Option<String>)>) -> Result<(), DiskError> {
        let transaction = self.connection.transaction()?;
        for (kind, key, body) in rows {
            let (scope, id) = (key.scope as i64, key.id as i64);
            match body {
                Some(body) => transaction
                    .prepare_cached("insert or replace into documents (kind, scope, id, body) values (?1, ?2, ?3, ?4)")?
                    .execute(params![kind, scope, id, body])?,
                None => transaction
                    .prepare_cached("delete from documents where kind = ?1 and scope = ?2 and id = ?3")?
                    .execute(params![kind, scope, id])?,
            };
        }
        transaction.commit()?;
        Ok(())
    }
}
