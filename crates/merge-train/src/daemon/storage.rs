//! Opening the store that the configuration names.

use std::sync::Arc;

use anyhow::Context;
use store::{Owner, Postgres, Sqlite, Store, postgres, sqlite};

use crate::config::{Config, Storage};

/// Writes wait for the disk, not for the processor: some more than there are cores.
const CONNECTIONS: u32 = 16;

/// To work on it: no other daemon may.
pub async fn open(config: &Config, storage: &Storage, owner: &Owner) -> anyhow::Result<Arc<dyn Store>> {
    let policy = merge_train_core::inbox::InboxPolicy::default();
    match storage {
        Storage::Directory(dir) => {
            let options = sqlite::Options {
                dir: dir.clone(),
                group: config.state.commit_group,
                policy,
                max_bytes: config.state.max_size_mb.map(|size| size.saturating_mul(1 << 20)),
                owner: owner.clone(),
            };
            let opened = Sqlite::open(options).await;
            Ok(Arc::new(opened.with_context(|| format!("the state in {} cannot be used", dir.display()))?))
        }
        Storage::Postgres(url) => connect(url.expose(), owner).await,
    }
}

/// To look at it, beside a daemon that may be at work on it.
pub async fn open_to_read(storage: &Storage, owner: &Owner) -> anyhow::Result<Arc<dyn Store>> {
    match storage {
        Storage::Directory(dir) => {
            let opened = Sqlite::open_read_only(dir).await;
            Ok(Arc::new(opened.with_context(|| format!("the state in {} cannot be read", dir.display()))?))
        }
        Storage::Postgres(url) => connect(url.expose(), owner).await,
    }
}

async fn connect(url: &str, owner: &Owner) -> anyhow::Result<Arc<dyn Store>> {
    let policy = merge_train_core::inbox::InboxPolicy::default();
    let options = postgres::Options { url: url.to_owned(), policy, owner: owner.clone(), connections: CONNECTIONS };
    Ok(Arc::new(Postgres::connect(options).await.context("state.database_url: the database cannot be used")?))
}
