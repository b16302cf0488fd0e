//! Where a daemon under test keeps its state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use merge_train_core::inbox::Policy;
use store::{Owner, Postgres, Sqlite, Store, postgres};

use super::{Setup, eventually};

#[derive(Clone, Debug)]
pub enum Database {
    Sqlite,
    /// The address of a database that nobody else has.
    Postgres(String),
}

impl Database {
    /// A new database on the server that `scripts/with-postgres` started.
    pub async fn postgres() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = std::env::var("MERGE_TRAIN_TEST_POSTGRES").expect(
            "MERGE_TRAIN_TEST_POSTGRES is not set: run the tests with `make test`, or through scripts/with-postgres",
        );
        let name = format!("serve_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self::Postgres(postgres_database(&server, &name).await)
    }

    /// Waits until a daemon has worked off all that came in.
    pub async fn settled(&self, setup: &Setup) {
        let store = self.open(setup).await;
        eventually("all that came in is processed", || async {
            let streams = store.streams(None).await.expect("the state can be read");
            streams.iter().all(|stream| stream.unsettled == 0).then_some(())
        })
        .await;
        store.close().await;
    }

    /// Looks at what a daemon left behind.
    pub async fn open(&self, setup: &Setup) -> Arc<dyn Store> {
        match self {
            Self::Sqlite => Arc::new(Sqlite::open_read_only(&setup.state_dir()).await.expect("the state can be read")),
            Self::Postgres(url) => {
                let owner = Owner("a test".to_owned());
                let options = postgres::Options { url: url.clone(), policy: Policy::default(), owner, connections: 2 };
                Arc::new(Postgres::connect(options).await.expect("the database can be read"))
            }
        }
    }
}

async fn postgres_database(server: &str, name: &str) -> String {
    use sqlx::Connection;
    let mut connection = sqlx::PgConnection::connect(server).await.expect("the server of the tests answers");
    sqlx::query(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .execute(&mut connection)
        .await
        .expect("a database");
    let (before, after) = match server.split_once('?') {
        Some((before, after)) => (before, format!("?{after}")),
        None => (server, String::new()),
    };
    let root = before.rsplit_once('/').map_or(before, |(root, _)| root);
    format!("{root}/{name}{after}")
}
