//! What differs between the databases. All that a store does is written once, on top of this.

use std::path::PathBuf;

use async_trait::async_trait;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::InboxPolicy;
use sqlx::{Postgres, Sqlite, Transaction};
use tokio::sync::broadcast;

use crate::db::Conn;
use crate::error::Result;
use crate::inbox::{Admission, Arrival};
use crate::writer::Write;

#[async_trait]
pub trait Backend: Send + Sync + 'static {
    async fn admit(&self, arrival: Arrival) -> Result<Admission>;
    /// Durable when it returns.
    async fn write<W: Write>(&self, write: W) -> Result<W::Answer>;
    /// One view of the whole, however many statements are asked of it.
    async fn reader(&self) -> Result<Reader>;
    fn policy(&self) -> &InboxPolicy;
    /// The file that is damaged if anything is, where it is one.
    fn file(&self) -> Option<PathBuf>;
    /// Refuses a database that is not in order as a whole, whatever its rows say.
    async fn examine(&self) -> Result<()>;
    fn wakes(&self) -> broadcast::Receiver<StreamId>;
    async fn close(&self);
}

/// A transaction that only reads.
pub enum Reader {
    Sqlite(Transaction<'static, Sqlite>),
    Postgres(Transaction<'static, Postgres>),
}

impl Reader {
    pub fn conn(&mut self) -> Conn<'_> {
        match self {
            Self::Sqlite(transaction) => Conn::Sqlite(transaction),
            Self::Postgres(transaction) => Conn::Postgres(transaction),
        }
    }
}
