//! A store in a directory of its own, a world outside, and a driver between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{PrNumber, RepoId, StreamId};
use merge_train_core::inbox::InboxPolicy;
use merge_train_core::repo::{Event, RecordedEvent, Settings, mirror};
use store::{Admission, ImportedStream, Lease, LeaseRequest, NewEvent, Owner, Retention, Since, Sqlite, Store, sqlite};
use tempfile::TempDir;

use super::super::{Driver, Link, Options, RunOptions, recorded};
use super::outside::{NoCommands, Scripted, branch, pull};
use super::webhook::Webhook;
use crate::clock::{self, Clock};

/// Whatever is waited for happens long before; a machine under load gets its time.
const DEADLINE: Duration = Duration::from_secs(60);
/// How often one looks whether it has.
const LOOK: Duration = Duration::from_millis(5);

pub struct World {
    pub store: Arc<dyn Store>,
    pub outside: Arc<Scripted>,
    pub driver: Driver,
    _dir: Option<TempDir>,
}

/// What the driver is given, where a test has no other wish.
pub fn options() -> Options {
    Options {
        owner: Owner("first".to_owned()),
        settings: Settings::default(),
        idle: Duration::from_secs(600),
        compact_after_events: 10_000,
        compact_interval: SignedDuration::from_hours(24),
        retention: Retention::default(),
        runs: RunOptions::default(),
        link: Link::default(),
        workflows: Default::default(),
        web_url: "https://github.example".to_owned(),
        clock: Clock::default(),
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(options()).await
    }

    pub async fn with(options: Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world = Self::within(dir.path(), options).await;
        Self { _dir: Some(dir), ..world }
    }

    /// In a directory that somebody may have used before.
    pub async fn within(dir: &Path, options: Options) -> Self {
        let store = Sqlite::open(sqlite::Options {
            dir: dir.to_owned(),
            group: 64,
            policy: InboxPolicy::default(),
            max_bytes: None,
            owner: options.owner.clone(),
        });
        let store: Arc<dyn Store> = Arc::new(store.await.unwrap());
        let outside = Arc::new(Scripted::default());
        let driver = Driver::new(store.clone(), outside.clone(), Arc::new(NoCommands), options);
        Self { store, outside, driver, _dir: None }
    }

    /// Brings in a repository that was surveyed a moment ago and has these pull requests.
    pub async fn knows<const N: usize>(&self, repo: &RepoId, prs: [u64; N]) {
        self.import(repo, known(prs), clock::now()).await;
    }

    /// Brings in a repository to which all this happened at once.
    pub async fn import(&self, repo: &RepoId, events: Vec<Event>, ts: Timestamp) {
        let stored = |event: &Event| NewEvent { ts, data: serde_json::to_string(event).unwrap() };
        let imported = ImportedStream {
            stream: StreamId::Repo(repo.clone()),
            tenant: repo.tenant(),
            generation: 0,
            snapshot: None,
            events: events.iter().map(stored).collect(),
            entries: Vec::new(),
        };
        self.store.import(vec![imported]).await.unwrap();
    }

    /// Takes a webhook in without telling anybody.
    pub async fn admit(&self, webhook: &Webhook) {
        assert_eq!(self.store.admit(webhook.arrival()).await.unwrap(), Admission::Accepted);
    }

    /// Takes a webhook in, as the server does.
    pub async fn send(&self, webhook: &Webhook) {
        self.admit(webhook).await;
        self.driver.wake(&webhook.repo, webhook.urgency());
    }

    /// Somebody says something of no consequence.
    pub async fn chat(&self, repo: &RepoId, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            self.send(&Webhook::comment(repo, 1, id, "Nice.")).await;
        }
    }

    pub async fn log(&self, repo: &RepoId) -> Vec<RecordedEvent> {
        let loaded = self.store.load(&StreamId::Repo(repo.clone()), Since::Oldest).await.unwrap();
        loaded.events.iter().map(|event| recorded(event).unwrap()).collect()
    }

    /// The deliveries that were worked on, in that order.
    pub async fn processed(&self, repo: &RepoId) -> Vec<String> {
        let deliveries = self.log(repo).await.into_iter().filter_map(|recorded| match recorded.event {
            Event::Mirror(mirror::Event::DeliveryProcessed { delivery, .. }) => Some(delivery.to_string()),
            _ => None,
        });
        deliveries.collect()
    }

    pub async fn until_processed(&self, repo: &RepoId, count: usize) {
        until(&format!("{count} deliveries are processed"), async || self.processed(repo).await.len() >= count).await;
    }

    pub async fn until_logged(&self, repo: &RepoId, what: &str, is_it: impl Fn(&Event) -> bool) {
        until(what, async || self.log(repo).await.iter().any(|recorded| is_it(&recorded.event))).await;
    }

    pub async fn acquire(&self, repo: &RepoId, owner: &str) -> store::Result<Lease> {
        let request = LeaseRequest {
            stream: StreamId::Repo(repo.clone()),
            tenant: Some(repo.tenant()),
            owner: Owner(owner.to_owned()),
            ttl: Duration::from_secs(60),
            now: clock::now(),
        };
        self.store.acquire(request).await
    }
}

/// What makes a repository known, with these pull requests.
pub fn known<const N: usize>(prs: [u64; N]) -> Vec<Event> {
    let observed = prs.into_iter().map(|number| {
        let pull = pull(PrNumber::new(number));
        Event::Mirror(mirror::Event::PrObserved {
            pr: pull.number,
            head_ref: pull.head_ref,
            head_sha: pull.head_sha,
            base_ref: pull.base_ref,
            draft: pull.draft,
            head_repo: pull.head_repo,
            author: pull.author,
            updated_at: pull.updated_at,
            stack_position: pull.stack_position,
            title: pull.title,
        })
    });
    let whole = [
        Event::Mirror(mirror::Event::DefaultBranchChanged { default_branch: branch("main") }),
        Event::Mirror(mirror::Event::SyncCompleted {}),
    ];
    observed.chain(whole).collect()
}

/// Waits until it is so, or fails with `what` was waited for.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        let mut look = tokio::time::interval(LOOK);
        while !is_so().await {
            look.tick().await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, waiting).await.is_ok(), "waited in vain until {what}");
}
