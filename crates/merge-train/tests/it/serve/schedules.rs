//! Schedules: what was due while no daemon ran, and that nothing is due twice.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sqlx::Connection;

use crate::support::{Daemon, Database, PATIENCE, Setup, eventually};

const NAME: &str = "tidy-up";

/// A schedule whose last slot was two hours ago, so that the next one is a day away from any test.
struct Place {
    setup: Setup,
    slot: Timestamp,
}

fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

fn two_hours_ago() -> Timestamp {
    let minutes = (Timestamp::now() - hours(2)).as_second().div_euclid(60);
    Timestamp::from_second(minutes * 60).expect("a time")
}

impl Place {
    fn new(dir: &Path, database: Database, missed: &str, slot: Timestamp) -> Self {
        let sections = format!(
            "[runs]\nwork_dir = {:?}\n[[workflows]]\nname = \"tidy\"\ninputs = {{ age_days = {{ type = \"integer\" }} }}\n\
             [[workflows.steps]]\nid = \"tidy\"\ncommand = [\"echo\", \"{{}}\"]\n\
             [[schedules]]\nname = \"{NAME}\"\nworkflow = \"tidy\"\ntenant = \"acme\"\ncron = \"{} * * *\"\n\
             missed = \"{missed}\"\ninputs = {{ age_days = 7 }}\nrepo = \"acme/widgets\"\n",
            dir.join("runs"),
            slot.strftime("%M %H"),
        );
        Self { setup: Setup::new(dir).database(database).more(&sections), slot }
    }

    /// A slot so many days before the last.
    fn days_before(&self, days: i64) -> Timestamp {
        self.slot - hours(24 * days)
    }

    /// Nobody was there since then.
    async fn was_away_since(&self, then: Timestamp) {
        let options =
            sqlx::sqlite::SqliteConnectOptions::new().filename(self.setup.state_dir().join("merge-train.sqlite"));
        let mut conn = sqlx::SqliteConnection::connect_with(&options).await.expect("it opens");
        let query =
            sqlx::query("UPDATE schedules SET slot = $1 WHERE name = $2").bind(then.as_microsecond()).bind(NAME);
        assert_eq!(query.execute(&mut conn).await.expect("an update").rows_affected(), 1);
        conn.close().await.expect("it closes");
    }

    /// Starts a daemon, and waits until it has looked at the schedule: a new one behind it is known then.
    async fn start_and_look(&self, new: &str) -> Daemon {
        let behind = "workflow = \"tidy\"\ntenant = \"acme\"\ncron = \"0 0 29 2 *\"\ninputs = { age_days = 1 }\n";
        let setup = self.setup.clone().more(&format!("[[schedules]]\nname = \"{new}\"\n{behind}"));
        let daemon = setup.start().await;
        known(&setup, &Database::Sqlite, new).await;
        daemon
    }

    fn key(&self, slot: Timestamp) -> String {
        format!("scheduler:{NAME}:{slot}")
    }
}

/// All runs, oldest first.
async fn runs(daemon: &Daemon) -> Vec<Value> {
    let (status, answer) = daemon.get("/api/v1/runs?tenant=acme").await;
    assert_eq!(status, 200, "{answer}");
    let mut runs = answer["runs"].as_array().expect("a list").clone();
    runs.reverse();
    runs
}

async fn keys(daemon: &Daemon) -> Vec<String> {
    runs(daemon).await.iter().map(|run| run["idempotencyKey"].as_str().expect("a key").to_owned()).collect()
}

/// Up to where the schedule is dealt with, once it is known at all.
async fn dealt_with(setup: &Setup, database: &Database) -> Timestamp {
    known(setup, database, NAME).await
}

async fn known(setup: &Setup, database: &Database, name: &str) -> Timestamp {
    let store = database.open(setup).await;
    let found = eventually("the schedule is known", || async {
        store.schedule(&"acme".parse().expect("a tenant"), name).await.expect("it can be read")
    })
    .await;
    store.close().await;
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_slot_of_a_downtime_is_caught_up_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = Place::new(dir.path(), Database::Sqlite, "latest", two_hours_ago());
    let before = Timestamp::now() - SignedDuration::from_secs(1);
    let daemon = place.setup.start().await;
    assert!(dealt_with(&place.setup, &Database::Sqlite).await > before, "a new schedule has missed nothing");
    assert_eq!(keys(&daemon).await, [""; 0]);
    assert!(daemon.stop().await.success());

    place.was_away_since(place.days_before(3)).await;
    let daemon = place.setup.start().await;
    let done = eventually("its run is completed", || async {
        runs(&daemon).await.pop().filter(|run| run["status"] == "completed")
    })
    .await;
    assert_eq!(keys(&daemon).await, [place.key(place.slot)]);
    assert_eq!((done["trigger"]["source"].as_str(), done["type"].as_str()), (Some("scheduled"), Some("tidy")));
    assert_eq!(done["repoId"], "acme/widgets");
    assert_eq!(dealt_with(&place.setup, &Database::Sqlite).await, place.slot);
    assert!(daemon.stop().await.success());

    let daemon = place.start_and_look("one-more").await;
    Database::Sqlite.settled(&place.setup).await;
    assert_eq!(keys(&daemon).await, [place.key(place.slot)]);
    assert!(daemon.stop().await.success());
    // Even where what was dealt with is forgotten: it is the same run.
    place.was_away_since(place.days_before(1)).await;
    let daemon = place.setup.start().await;
    eventually("it is dealt with again", || async {
        (dealt_with(&place.setup, &Database::Sqlite).await == place.slot).then_some(())
    })
    .await;
    Database::Sqlite.settled(&place.setup).await;
    let again = runs(&daemon).await;
    assert_eq!((again.len(), &again[0]["id"], &again[0]["completedAt"]), (1, &done["id"], &done["completedAt"]));
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_slots_of_a_downtime_are_caught_up_and_none_where_they_are_skipped() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = Place::new(dir.path(), Database::Sqlite, "all", two_hours_ago());
    let daemon = place.setup.start().await;
    dealt_with(&place.setup, &Database::Sqlite).await;
    assert!(daemon.stop().await.success());

    place.was_away_since(place.days_before(3)).await;
    let skipping = Place::new(dir.path(), Database::Sqlite, "skip", place.slot);
    let daemon = skipping.start_and_look("one-more").await;
    assert_eq!(keys(&daemon).await, [""; 0]);
    assert!(daemon.stop().await.success());
    assert_eq!(dealt_with(&place.setup, &Database::Sqlite).await, place.days_before(3), "nothing was ordered");

    let daemon = place.setup.start().await;
    let expected = [2, 1, 0].map(|days| place.key(place.days_before(days)));
    let all = eventually("all are there", || async { Some(keys(&daemon).await).filter(|keys| keys.len() >= 3) }).await;
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert_eq!(dealt_with(&place.setup, &Database::Sqlite).await, place.slot);
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_between_the_order_and_its_note_makes_one_run() {
    let dir = tempfile::tempdir().expect("a folder");
    let place = Place::new(dir.path(), Database::Sqlite, "latest", two_hours_ago());
    let daemon = place.setup.start().await;
    dealt_with(&place.setup, &Database::Sqlite).await;
    assert!(daemon.stop().await.success());
    place.was_away_since(place.days_before(1)).await;
    let dying = place.setup.clone().through(&["env", "FAILPOINTS=schedule.ordered=return"]);
    let died = tokio::time::timeout(PATIENCE, dying.command(&["serve"]).output()).await.expect("it dies in time");
    assert!(!died.expect("an end").status.success());
    assert_eq!(dealt_with(&place.setup, &Database::Sqlite).await, place.days_before(1), "it was not noted");

    let daemon = place.setup.start().await;
    eventually("its run is completed", || async {
        runs(&daemon).await.pop().filter(|run| run["status"] == "completed")
    })
    .await;
    assert_eq!(dealt_with(&place.setup, &Database::Sqlite).await, place.slot);
    assert_eq!(keys(&daemon).await, [place.key(place.slot)]);
    assert!(daemon.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_daemons_on_one_database_a_slot_has_one_run() {
    let database = Database::postgres().await;
    let Database::Postgres(url) = &database else { panic!("it is PostgreSQL") };
    let (left, right) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let place = Place::new(left.path(), database.clone(), "all", two_hours_ago());
    let other = Place::new(right.path(), database.clone(), "all", place.slot);
    let daemon = place.setup.start().await;
    dealt_with(&place.setup, &database).await;
    assert!(daemon.stop().await.success());
    let mut conn = sqlx::PgConnection::connect(url).await.expect("it answers");
    let away = sqlx::query("UPDATE schedules SET slot = $1").bind(place.days_before(5).as_microsecond());
    assert_eq!(away.execute(&mut conn).await.expect("an update").rows_affected(), 1);

    let (one, two) = tokio::join!(place.setup.start(), other.setup.start());
    eventually("both have come to the end", || async {
        (dealt_with(&place.setup, &database).await == place.slot).then_some(())
    })
    .await;
    database.settled(&place.setup).await;
    let mut all = keys(&one).await;
    all.sort();
    assert_eq!(all, [4, 3, 2, 1, 0].map(|days| place.key(place.days_before(days))));
    let ordered = |daemon: &Daemon| daemon.log().matches("a run is ordered").count();
    eventually("each is ordered by one of them", || async { (ordered(&one) + ordered(&two) == 5).then_some(()) }).await;
    assert!(one.stop().await.success() && two.stop().await.success());
}
