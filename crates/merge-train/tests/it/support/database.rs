//! Where a daemon under test keeps its state.

use std::sync::Arc;

use merge_train_core::inbox::InboxPolicy;
use store::{Owner, Postgres, Sqlite, Store, postgres};
use test_support::postgres::fresh_database;

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
        Self::Postgres(fresh_database().await)
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
                let options =
                    postgres::Options { url: url.clone(), policy: InboxPolicy::default(), owner, connections: 2 };
                Arc::new(Postgres::connect(options).await.expect("the database can be read"))
            }
        }
    }
}
