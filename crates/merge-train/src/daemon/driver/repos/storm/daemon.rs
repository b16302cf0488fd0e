//! The daemon's parts, put together as `serve` does, around the storm's clock and gate.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use git::repository::{Extent, Settings as CloneSettings};
use git::{Committer, Git, Signing};
use github::{Auth, Client, Config, Secret, webhook};
use jiff::SignedDuration;
use merge_train_core::ids::{DeliveryId, RepoId, StreamId};
use merge_train_core::inbox::{InboxPolicy, Key, RequestHash, Source};
use merge_train_core::repo::Settings;
use merge_train_core::repo::commands;
use serde_json::Value;
use store::{Arrival, Owner, Priority, Retention, Route, Sqlite, Store, sqlite};
use tokio_util::sync::CancellationToken;

use super::super::super::tests::NoCommands;
use super::super::super::workers::Shared;
use super::super::super::{GithubOutside, Link, Options, RunOptions};
use super::gate::Gate;
use super::hub::{Hub, text};
use crate::clock::Clock;
use crate::daemon::clones::Clones;

/// A snapshot after so few events that every storm sees some.
const COMPACT_AFTER: u64 = 60;

pub fn repo() -> RepoId {
    RepoId::new("octocat", "hello").expect("a name")
}

/// Everything that a process has in memory, and that dies with it.
pub struct Daemon {
    pub shared: Shared,
    pub gate: Arc<Gate>,
    pub github: GithubOutside,
}

impl Daemon {
    /// On what the one before left on the disk.
    pub async fn start(hub: &Hub, git: &Git, life: usize) -> Self {
        let owner = Owner(format!("life {life}"));
        let store: Arc<dyn Store> = Arc::new(open(&state(hub), &owner).await);
        let time = hub.time.clone();
        let options = Options {
            owner,
            settings: Settings::default(),
            idle: Duration::from_secs(600),
            compact_after_events: COMPACT_AFTER,
            compact_interval: SignedDuration::from_hours(24),
            retention: Retention::default(),
            runs: RunOptions::default(),
            link: Link::default(),
            workflows: Default::default(),
            web_url: "https://github.example".to_owned(),
            clock: Clock::from(move || time.now()),
        };
        let gate = Arc::new(Gate::default());
        let shared = Shared::new(store, gate.clone(), Arc::new(NoCommands), options, CancellationToken::new());
        Self { shared, gate, github: github(hub, git) }
    }

    /// Ends it as it is. What was acknowledged is on the disk; nothing else is written.
    pub async fn die(self) {
        let store = self.shared.store.clone();
        drop(self);
        store.close().await;
    }
}

/// Where the state lies.
pub fn state(hub: &Hub) -> PathBuf {
    hub.dir.path().join("state")
}

/// A process that another storm of this test is just starting may share its files for a moment, and with them the lock.
async fn open(dir: &Path, owner: &Owner) -> Sqlite {
    let mut look = tokio::time::interval(Duration::from_millis(2));
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        look.tick().await;
        let options = sqlite::Options {
            dir: dir.to_owned(),
            group: 64,
            policy: InboxPolicy::default(),
            max_bytes: None,
            owner: owner.clone(),
        };
        match Sqlite::open(options).await {
            Err(store::Error::InUse { .. }) if Instant::now() < deadline => {}
            opened => return opened.expect("the store opens"),
        }
    }
}

fn github(hub: &Hub, git: &Git) -> GithubOutside {
    let mut config = Config::new(Auth::Token(Secret::new(hub.bot_token())));
    hub.text("api_url").clone_into(&mut config.api_url);
    hub.text("graphql_url").clone_into(&mut config.graphql_url);
    // One call after the other, in an order that is always the same; none waits for a clock that is not the storm's.
    config.limits.in_flight = 1;
    config.limits.backoff = Duration::from_millis(1);
    config.limits.longest_backoff = Duration::from_millis(1);
    config.limits.circuit_failures = u32::MAX;
    config.limits.content_burst = u32::MAX;
    let client = Client::new(&config).expect("a client");
    let committer =
        Committer { name: "merge-train".into(), email: "merge-train@example.com".into(), signing: Signing::Off };
    let settings = CloneSettings { base: hub.dir.path().join("clones"), extent: Extent::Full, committer };
    let time = hub.time.clone();
    let git = git.clone().dating_commits(move || time.ms() / 1000);
    let clones = Clones::new(git, settings, hub.text("git_url").to_owned(), client.clone());
    GithubOutside::new(client, Arc::new(clones), None)
}

/// A webhook as the server takes it in, but for its signature.
pub fn arrival(hub: &Hub, delivery: &Value) -> Option<Arrival> {
    // The port is another in each run.
    let body = delivery["payload"].to_string().replace(&hub.address(), "github.invalid").into_bytes();
    let event = text(&delivery["event"]);
    let glance = webhook::glance(event, &body).expect("what the simulator sends can be read");
    let repo = glance.repo.clone()?;
    let is_stop = glance.comment.is_some_and(|comment| commands::says_stop(&comment.body));
    let priority = if is_stop { Priority::Stop } else { Priority::Normal };
    let id = DeliveryId::parse(text(&delivery["guid"])).expect("an id");
    Some(Arrival {
        tenant: repo.tenant(),
        key: Key::github(&id),
        source: Source::GithubWebhook,
        hash: RequestHash::of(&body),
        received_at: hub.time.now(),
        route: Route::Stream { stream: StreamId::Repo(repo), priority, label: event.to_owned(), body },
    })
}

/// What the daemon asks itself for where it knows no repository.
pub fn first_look(hub: &Hub) -> Arrival {
    let repo = repo();
    let key = Key::scheduler("discovery", hub.time.now(), SignedDuration::from_secs(1)).expect("a key");
    let (label, body) = ("sync".to_owned(), Vec::new());
    Arrival {
        tenant: repo.tenant(),
        hash: RequestHash::of(key.as_str().as_bytes()),
        key,
        source: Source::Scheduler,
        received_at: hub.time.now(),
        route: Route::Stream { stream: StreamId::Repo(repo), priority: Priority::Normal, label, body },
    }
}
