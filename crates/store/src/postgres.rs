//! PostgreSQL: one database, several instances.

mod group;
mod wakes;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use merge_train_core::ids::StreamId;
use merge_train_core::inbox::InboxPolicy;
use sqlx::PgPool;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;

use crate::backend::{Backend, Reader};
use crate::db::Conn;
use crate::error::Result;
use crate::inbox::{Admission, Arrival};
use crate::schema;
use crate::stream::Owner;
use crate::writer::{Write, Writer};

use group::Groups;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// A server that does not answer by then is taken for gone: the sender of a webhook waits for ten seconds at most.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// The most arrivals in one commit.
const GROUP: usize = 256;

/// How often a write is tried that got into the way of another one.
const COLLISIONS: usize = 5;

/// What is still to be told of other instances' arrivals. Who falls behind asks for all that waits anyway.
const WAKES: usize = 1024;

/// Where the server is, and how it is used.
#[derive(Debug, Clone)]
pub struct Options {
    /// `postgres://user:password@host/database`
    pub url: String,
    pub policy: InboxPolicy,
    /// By which this instance knows its own arrivals from those of others.
    pub owner: Owner,
    /// Connections at most, besides one that listens.
    pub connections: u32,
}

/// A store in a database that several instances share.
pub struct Postgres {
    policy: InboxPolicy,
    pool: PgPool,
    admits: Writer,
    wakes: broadcast::Sender<StreamId>,
    listener: AbortHandle,
}

impl Postgres {
    /// Connects, and brings the schema up to date.
    pub async fn connect(options: Options) -> Result<Self> {
        let Options { url, policy, owner, connections } = options;
        let connect: PgConnectOptions = url.parse()?;
        // A statement that hangs must not hang its caller for ever, nor a dead caller hold its locks.
        let connect = connect.application_name("merge-train").options([
            ("statement_timeout", "30s"),
            ("lock_timeout", "10s"),
            ("idle_in_transaction_session_timeout", "60s"),
        ]);
        let pool = PgPoolOptions::new()
            .max_connections(connections.max(2))
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(connect)
            .await?;
        schema::migrate_postgres(&mut *pool.acquire().await?, &MIGRATIONS).await?;
        let wakes = broadcast::channel(WAKES).0;
        let listener = wakes::listen(pool.clone(), owner.clone(), wakes.clone());
        let admits = Writer::start(Groups::new(pool.clone(), policy, owner), GROUP);
        Ok(Self { policy, pool, admits, wakes, listener })
    }

    async fn attempt<W: Write>(&self, write: &W) -> Result<W::Answer> {
        let mut transaction = self.pool.begin().await?;
        // Dropped without a commit, it is rolled back.
        let answer = write.run(&mut Conn::Postgres(&mut transaction)).await?;
        transaction.commit().await?;
        Ok(answer)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

#[async_trait]
impl Backend for Postgres {
    async fn admit(&self, arrival: Arrival) -> Result<Admission> {
        self.admits.admit(arrival).await
    }

    async fn write<W: Write>(&self, write: W) -> Result<W::Answer> {
        let mut left = COLLISIONS;
        loop {
            left -= 1;
            match self.attempt(&write).await {
                Err(error) if error.is_collision() && left > 0 => {}
                decided => return decided,
            }
        }
    }

    async fn reader(&self) -> Result<Reader> {
        let transaction = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        Ok(Reader::Postgres(transaction))
    }

    fn policy(&self) -> &InboxPolicy {
        &self.policy
    }

    fn file(&self) -> Option<PathBuf> {
        None
    }

    async fn examine(&self) -> Result<()> {
        Ok(())
    }

    fn wakes(&self) -> broadcast::Receiver<StreamId> {
        self.wakes.subscribe()
    }

    async fn close(&self) {
        self.listener.abort();
        self.admits.close().await;
        self.pool.close().await;
    }
}
