//! A store to ask, and the words to ask it in.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{RunId, StreamId, TenantId};
use merge_train_core::inbox::{InboxPolicy, Key, RequestHash, Source};
use sqlx::Connection;
use store::{
    Admission, Arrival, Batch, Entry, Lease, LeaseRequest, Loaded, NewEvent, Outcome, Owner, Postgres, Priority, Route,
    Settlement, Since, Sqlite, Store, TakeLimit, postgres, sqlite,
};
use tempfile::TempDir;
pub use test_support::postgres::fresh_database;

/// The file in a state directory.
pub const SQLITE: &str = "merge-train.sqlite";
pub const TTL: Duration = Duration::from_secs(60);
pub const ALL: TakeLimit = TakeLimit { entries: 1000, bytes: usize::MAX };

/// A store with nothing in it.
pub struct World {
    pub store: Arc<dyn Store>,
    /// None: in the directory.
    server: Option<String>,
    /// For what the store lies in, and for what a test writes.
    dir: TempDir,
}

impl World {
    pub async fn sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Sqlite::open(options(&dir.path().join("state"))).await.unwrap();
        Self { store: Arc::new(store), server: None, dir }
    }

    pub async fn postgres() -> Self {
        let url = fresh_database().await;
        let store = Arc::new(instance(&url, "one").await);
        Self { store, server: Some(url), dir: tempfile::tempdir().unwrap() }
    }

    /// Somebody changes the database past the store; how many rows.
    pub async fn meddle(&self, statement: &'static str) -> u64 {
        match &self.server {
            Some(url) => {
                let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query(statement).execute(&mut conn).await.unwrap().rows_affected()
            }
            None => {
                let mut conn = sqlite_file(&self.dir.path().join("state")).await;
                sqlx::query(statement).execute(&mut conn).await.unwrap().rows_affected()
            }
        }
    }

    pub fn scratch(&self) -> PathBuf {
        self.dir.path().join("scratch")
    }

    pub async fn admit(&self, key: &str, on: &str, now: Timestamp) -> Admission {
        self.store.admit(arrival(key, on, now)).await.unwrap()
    }

    pub async fn lease(&self, on: &str, owner: &str, now: Timestamp) -> Lease {
        self.store.acquire(request(on, owner, now)).await.unwrap()
    }

    pub async fn take(&self, lease: &Lease) -> Vec<Entry> {
        self.store.take(lease, ALL).await.unwrap()
    }

    /// Appends events where the stream is, and settles these entries with them.
    pub async fn settle(
        &self,
        lease: &Lease,
        entries: &[Entry],
        outcome: Outcome,
        now: Timestamp,
    ) -> store::Result<()> {
        let at = self.load(&lease.stream.to_string()).await.next_seq;
        let settled = entries.iter().map(|entry| Settlement { entry: entry.id, outcome: outcome.clone() }).collect();
        self.store.append(lease, Batch { settled, ..batch(at, [], now) }).await
    }

    pub async fn append<const N: usize>(&self, lease: &Lease, at: u64, events: [&str; N], now: Timestamp) {
        self.store.append(lease, batch(at, events, now)).await.unwrap();
    }

    pub async fn load(&self, on: &str) -> Loaded {
        self.store.load(&stream(on), Since::Newest).await.unwrap()
    }
}

/// The database in a state directory, past the store.
pub async fn sqlite_file(dir: &Path) -> sqlx::SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.join(SQLITE)).create_if_missing(true);
    sqlx::SqliteConnection::connect_with(&options).await.unwrap()
}

pub fn options(dir: &Path) -> sqlite::Options {
    let owner = Owner("test".to_owned());
    sqlite::Options { dir: dir.to_owned(), group: 64, policy: InboxPolicy::default(), max_bytes: None, owner }
}

pub async fn instance(url: &str, owner: &str) -> Postgres {
    let options = postgres::Options {
        url: url.to_owned(),
        policy: InboxPolicy::default(),
        owner: Owner(owner.to_owned()),
        connections: 5,
    };
    Postgres::connect(options).await.unwrap()
}

/// So many seconds into the first day of 2026.
pub fn at(seconds: i64) -> Timestamp {
    "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

pub fn stream(text: &str) -> StreamId {
    text.parse().unwrap()
}

/// The owner of a repository has its streams; runs are acme's.
pub fn tenant_of(on: &str) -> TenantId {
    match stream(on) {
        StreamId::Repo(repo) => repo.tenant(),
        StreamId::Run(_) => tenant("acme"),
    }
}

pub fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

pub fn run_id(id: &str) -> RunId {
    RunId::parse(id).unwrap()
}

pub fn key(text: &str) -> Key {
    Key::from_stored(text.to_owned())
}

pub fn arrival(name: &str, on: &str, now: Timestamp) -> Arrival {
    Arrival {
        tenant: tenant_of(on),
        key: key(name),
        source: Source::GithubWebhook,
        hash: RequestHash::of(name.as_bytes()),
        received_at: now,
        route: Route::Stream {
            stream: stream(on),
            priority: Priority::Normal,
            label: "push".to_owned(),
            body: name.as_bytes().to_vec(),
        },
    }
}

pub fn call(name: &str, now: Timestamp) -> Arrival {
    Arrival { source: Source::Api, route: Route::Caller, ..arrival(name, "repo:acme/widgets", now) }
}

pub fn request(on: &str, owner: &str, now: Timestamp) -> LeaseRequest {
    LeaseRequest { stream: stream(on), tenant: Some(tenant_of(on)), owner: Owner(owner.to_owned()), ttl: TTL, now }
}

pub fn event(kind: &str, now: Timestamp) -> NewEvent {
    NewEvent { ts: now, data: format!(r#"{{"type":"{kind}"}}"#) }
}

pub fn batch<const N: usize>(expected_next_seq: u64, events: [&str; N], now: Timestamp) -> Batch {
    let events = events.into_iter().map(|kind| event(kind, now)).collect();
    Batch { expected_next_seq, events, settled: Vec::new(), rows: Vec::new(), wake_at: None, lets_go: false, now }
}

pub fn done() -> Outcome {
    Outcome::Completed { response: serde_json::json!({"ok": true}), run_id: None }
}

pub fn failed(error: &str) -> Outcome {
    Outcome::Failed { error: error.to_owned() }
}

pub fn keys(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.key.as_str()).collect()
}
