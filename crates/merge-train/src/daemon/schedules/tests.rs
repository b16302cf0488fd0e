//! Schedules on a real store, whose time is what the test says.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::SignedDuration;
use merge_train_core::ids::TenantId;
use merge_train_core::inbox::InboxPolicy;
use merge_train_core::workflow::Workflow;
use sqlx::{Connection, Executor};
use store::{Owner, Sqlite, Store, sqlite};

use super::*;
use crate::daemon::driver::Link;

const HOURLY: &str = "0 * * * *";

struct World {
    dir: tempfile::TempDir,
    store: Arc<dyn Store>,
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn acme() -> TenantId {
    "acme".parse().unwrap()
}

fn schedule(name: &str, cron: &str, missed: &str) -> ScheduleSettings {
    let written = serde_json::json!({
        "name": name, "workflow": "tidy", "tenant": "acme", "cron": cron, "time_zone": "UTC", "missed": missed,
        "inputs": { "age_days": 7 }, "repo": "acme/widgets",
    });
    serde_json::from_value(written).unwrap()
}

impl World {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let owner = Owner("test".to_owned());
        let options = sqlite::Options {
            dir: dir.path().join("state"),
            group: 64,
            policy: InboxPolicy::default(),
            max_bytes: None,
            owner,
        };
        let store = Arc::new(Sqlite::open(options).await.unwrap());
        Self { dir, store }
    }

    /// A daemon's schedules. Its clock is asked by `run` only.
    fn daemon(&self, schedules: &[ScheduleSettings]) -> Schedules {
        self.daemon_at(schedules, Clock::default())
    }

    fn daemon_at(&self, schedules: &[ScheduleSettings], clock: Clock) -> Schedules {
        let inputs = serde_json::json!({ "age_days": { "type": "integer" } });
        let workflow = Workflow {
            name: "tidy".to_owned(),
            description: String::new(),
            inputs: inputs.as_object().unwrap().clone(),
            on: Vec::new(),
            steps: Vec::new(),
        };
        let orders = RunOrders {
            store: self.store.clone(),
            link: Link::default(),
            workflows: Arc::new([("tidy".to_owned(), workflow)].into()),
            web_url: "https://github.example".to_owned(),
        };
        Schedules::new(orders, schedules, clock)
    }

    /// Every slot that was ordered of a schedule, in order of arrival.
    async fn ordered(&self, name: &str) -> Vec<String> {
        let mut conn = database(self.dir.path()).await;
        let query = "SELECT key FROM inbox WHERE source = 'scheduler' ORDER BY id";
        let keys: Vec<String> = sqlx::query_scalar(query).fetch_all(&mut conn).await.unwrap();
        let prefix = format!("scheduler:{name}:");
        keys.iter().filter_map(|key| key.strip_prefix(&prefix)).map(str::to_owned).collect()
    }
}

async fn database(dir: &Path) -> sqlx::SqliteConnection {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(dir.join("state/merge-train.sqlite"));
    sqlx::SqliteConnection::connect_with(&options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_schedule_begins_now_and_then_orders_each_slot_once() {
    let world = World::new().await;
    let daemon = world.daemon(&[schedule("tidy-up", HOURLY, "all")]);
    let since = at("2026-01-01T09:30:00Z");
    let look = async |now: &str| daemon.look(since, at(now)).await.unwrap();
    let first = look("2026-01-01T09:30:00Z").await;
    assert_eq!((first.ordered, first.next), (0, Some(at("2026-01-01T10:00:00Z"))));
    assert_eq!(world.ordered("tidy-up").await, [""; 0], "nothing was missed before it was known");
    for (now, ordered) in [("2026-01-01T10:00:00Z", 1), ("2026-01-01T10:00:01Z", 0), ("2026-01-01T12:00:10Z", 2)] {
        assert_eq!(look(now).await.ordered, ordered, "{now}");
    }
    let expected = ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z"];
    assert_eq!(world.ordered("tidy-up").await, expected);
    assert_eq!(world.store.schedule(&acme(), "tidy-up").await.unwrap(), Some(at("2026-01-01T12:00:00Z")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ordered_is_the_run_that_is_configured() {
    let world = World::new().await;
    let daemon = world.daemon(&[schedule("tidy-up", HOURLY, "skip")]);
    let since = at("2026-01-01T09:30:00Z");
    daemon.look(since, since).await.unwrap();
    daemon.look(since, at("2026-01-01T10:00:30Z")).await.unwrap();
    let streams = world.store.waiting(at("2026-01-01T10:00:30Z"), 10).await.unwrap();
    let limit = store::TakeLimit { entries: 10, bytes: usize::MAX };
    let entries = world.store.unsettled(&streams[0], None, limit).await.unwrap();
    assert_eq!((streams.len(), entries.len(), entries[0].source), (1, 1, Source::Scheduler));
    assert_eq!(entries[0].key.as_str(), "scheduler:tidy-up:2026-01-01T10:00:00Z");
    let of_the_slot = RequestHash::of(entries[0].key.as_str().as_bytes());
    assert_eq!(entries[0].hash, of_the_slot, "what is configured anew is no other slot");
    let order: serde_json::Value = serde_json::from_slice(&entries[0].body).unwrap();
    let told = order.to_string();
    for part in [r#""source":"scheduled""#, r#""age_days":7"#, r#""acme/widgets""#, r#""tidy""#] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_downtime_each_schedule_catches_up_as_it_says() {
    let world = World::new().await;
    let all = [schedule("s", HOURLY, "skip"), schedule("l", HOURLY, "latest"), schedule("a", HOURLY, "all")];
    let first = at("2026-01-01T05:30:00Z");
    world.daemon(&all).look(first, first).await.unwrap();
    let again = at("2026-01-01T09:30:00Z");
    for _ in 0..2 {
        let daemon = world.daemon(&all);
        daemon.look(again, again).await.unwrap();
        daemon.look(again, again).await.unwrap();
    }
    assert_eq!(world.ordered("s").await, [""; 0]);
    assert_eq!(world.ordered("l").await, ["2026-01-01T09:00:00Z"]);
    let each = ["2026-01-01T06:00:00Z", "2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"];
    assert_eq!(world.ordered("a").await, each);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_was_ordered_and_not_remembered_is_not_ordered_twice() {
    let world = World::new().await;
    let since = at("2026-01-01T09:30:00Z");
    let daemon = world.daemon(&[schedule("tidy-up", HOURLY, "all")]);
    daemon.look(since, since).await.unwrap();
    daemon.look(since, at("2026-01-01T11:00:00Z")).await.unwrap();
    let mut conn = database(world.dir.path()).await;
    let forgotten = sqlx::query("UPDATE schedules SET slot = $1").bind(since.as_microsecond());
    assert_eq!(forgotten.execute(&mut conn).await.unwrap().rows_affected(), 1);
    // Whoever comes after the crash may even have other inputs to give.
    let mut other = schedule("tidy-up", HOURLY, "all");
    other.inputs.insert("age_days".to_owned(), 8.into());
    let again = at("2026-01-01T11:30:00Z");
    let look = world.daemon(&[other]).look(again, again).await.unwrap();
    assert_eq!(look.ordered, 2, "both are ordered again");
    assert_eq!(world.ordered("tidy-up").await, ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"], "and are the same");
    assert_eq!(world.store.schedule(&acme(), "tidy-up").await.unwrap(), Some(at("2026-01-01T11:00:00Z")));
}

/// A clock that begins here and goes on as any other does.
fn from(begin: Timestamp) -> Clock {
    let started = Instant::now();
    Clock::from(move || begin + SignedDuration::try_from(started.elapsed()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_slot_is_slept_for() {
    let world = World::new().await;
    let clock = from(at("2026-01-01T09:59:59.5Z"));
    let stopping = CancellationToken::new();
    let other = schedule("yearly", "@yearly", "skip");
    let task = world.daemon_at(&[other, schedule("tidy-up", HOURLY, "skip")], clock.clone());
    let task = tokio::spawn(task.run(stopping.clone()));
    until("the slot is ordered", async || !world.ordered("tidy-up").await.is_empty()).await;
    assert!(clock.now() < at("2026-01-01T10:00:30Z"), "it was not found by chance");
    assert_eq!(world.ordered("tidy-up").await, ["2026-01-01T10:00:00Z"]);
    assert_eq!(world.ordered("yearly").await, [""; 0]);
    stopping.cancel();
    task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_loses_no_slot() {
    let world = World::new().await;
    let all = [schedule("tidy-up", HOURLY, "skip")];
    let since = at("2026-01-01T09:30:00Z");
    world.daemon(&all).look(since, since).await.unwrap();
    // Another program holds the database while the time comes.
    let mut other = database(world.dir.path()).await;
    other.execute("BEGIN IMMEDIATE").await.unwrap();
    let clock = from(at("2026-01-01T09:59:59.9Z"));
    let stopping = CancellationToken::new();
    let task = tokio::spawn(world.daemon_at(&all, clock.clone()).run(stopping.clone()));
    let failed = world.daemon(&all).look(since, at("2026-01-01T10:00:00Z")).await;
    assert!(matches!(failed, Err(OrderError::Store(_) | OrderError::TooSlow)));
    assert_eq!(world.ordered("tidy-up").await, [""; 0]);
    other.execute("ROLLBACK").await.unwrap();
    until("the slot is ordered", async || !world.ordered("tidy-up").await.is_empty()).await;
    assert_eq!(world.ordered("tidy-up").await, ["2026-01-01T10:00:00Z"]);
    stopping.cancel();
    task.await.unwrap();
}

async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), waiting).await.is_ok(), "waited in vain until {what}");
}
