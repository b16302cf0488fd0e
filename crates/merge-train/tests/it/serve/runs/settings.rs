//! The settings of `[runs]`, as far as a running daemon shows that it goes by them. Signs of life and orphans are in
//! [`super::orphans`], what a command may print and fill in [`super::bad_steps`].

use std::time::Duration;

use sqlx::Connection;

use super::*;
use crate::serve::upkeep::last_changed;

fn workflows(dir: &Path) -> String {
    format!(
        "[[workflows]]\nname = \"one\"\n{}[[workflows]]\nname = \"ask\"\n{}",
        agent(dir, "one", "echo '{}'"),
        step("ok", "kind = \"approval\""),
    )
}

/// Makes a run look as if it had been heard of so many hours earlier.
async fn age(place: &Place, run: &str, hours: i64) {
    let file = place.setup.state_dir().join("merge-train.sqlite");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("it opens");
    let query = sqlx::query("UPDATE runs SET last_heartbeat_at = last_heartbeat_at - ? WHERE id = ?");
    let aged = query.bind(hours * 3_600_000_000).bind(run).execute(&mut connection).await.expect("it is changed");
    assert_eq!(aged.rows_affected(), 1);
    connection.close().await.expect("it closes");
}

async fn is_forgotten(daemon: &Daemon, run: &str) {
    eventually(&format!("{run} is forgotten"), || async {
        (daemon.get(&format!("/api/v1/runs/{run}")).await.0 == 404).then_some(())
    })
    .await;
    for part in ["steps", "checkpoints", "events"] {
        assert_eq!(daemon.get(&format!("/api/v1/runs/{run}/{part}")).await.0, 404, "{part}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_has_ended_is_remembered_for_as_long_as_retention_days_says() {
    let place = Place::with("retention_days = 2", workflows);
    let daemon = place.setup.start().await;
    let [old, older, young] =
        [create(&daemon, "one").await, create(&daemon, "one").await, create(&daemon, "one").await];
    let waiting = create(&daemon, "ask").await;
    for run in [&old, &older, &young] {
        becomes(&daemon, run, "completed").await;
    }
    becomes(&daemon, &waiting, "awaiting_approval").await;
    assert!(daemon.stop().await.success());
    for (run, hours) in [(&old, 36), (&older, 60), (&waiting, 60)] {
        age(&place, run, hours).await;
    }

    let daemon = place.setup.start().await;
    is_forgotten(&daemon, &older).await;
    show(&daemon, &old).await;
    assert!(daemon.stop().await.success());

    let setup = place.setup.clone().through(&["env", "MERGE_TRAIN_RUNS_RETENTION_DAYS=1"]);
    let daemon = setup.start().await;
    is_forgotten(&daemon, &old).await;
    show(&daemon, &young).await;
    // However long it waits: it has not ended.
    assert_eq!(show(&daemon, &waiting).await["status"], "awaiting_approval");
    assert_eq!(post(&daemon, &format!("/runs/{waiting}/approve"), Value::Null).await.0, 200);
    becomes(&daemon, &waiting, "completed").await;
    assert!(daemon.stop().await.success());

    // Their folders go with them, with the next round of upkeep.
    let folder = |run: &str| place.dir.path().join("runs").join(run);
    for run in [&old, &older, &young] {
        assert!(folder(run).join("logs").exists(), "{run} has run in a folder of its own");
        last_changed(&folder(run), Duration::from_secs(2 * 3600));
    }
    let daemon = setup.start().await;
    eventually("they are gone", || async { (!folder(&old).exists() && !folder(&older).exists()).then_some(()) }).await;
    assert!(daemon.stop().await.success());
    assert!(folder(&young).join("logs").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_folders_in_work_dir_those_of_forgotten_runs_go_at_start_and_no_others() {
    let place = Place::new(workflows);
    let daemon = place.setup.start().await;
    let known = create(&daemon, "one").await;
    becomes(&daemon, &known, "completed").await;
    assert!(daemon.stop().await.success());
    let base = place.dir.path().join("runs");
    let [forgotten, young] = ["run-000000000000000000000001", "run-000000000000000000000002"].map(|run| base.join(run));
    for folder in [&forgotten, &young, &base.join("not a run")] {
        std::fs::create_dir_all(folder.join("work")).expect("a folder");
        std::fs::write(folder.join("work/kept"), "x").expect("written");
    }
    for (folder, minutes) in [(&forgotten, 61), (&base.join(&known), 61), (&base.join("not a run"), 61), (&young, 59)] {
        last_changed(folder, Duration::from_secs(minutes * 60));
    }
    let daemon = place.setup.start().await;
    eventually("it is told", || async {
        daemon.log().lines().any(|line| line.contains("removed the folder of a run that is forgotten")).then_some(())
    })
    .await;
    assert!(daemon.stop().await.success());
    assert!(!forgotten.exists());
    for folder in [&base.join(&known), &young, &base.join("not a run")] {
        assert!(folder.join("work").exists(), "{}", folder.display());
    }
}

/// Runs whose commands go on when three of them are at it at once, or not at all: how they end.
async fn three_at_once(settings: &str, deadline: &str) -> [Value; 3] {
    let place = Place::with(settings, |dir| {
        let at = dir.join("at-work").display().to_string();
        let script = format!(
            "trap \"rm '{at}/$$'; exit 1\" TERM\nmkdir -p '{at}'; touch \"{at}/$$\"\n\
             until [ $(ls '{at}' | wc -l) -eq 3 ] || [ -e '{at}.met' ]; do sleep 0.01; done; touch '{at}.met'; echo '{{}}'"
        );
        let three = command(dir, "three", &script);
        format!("[[workflows]]\nname = \"three\"\n{}", step("three", &format!("command = {three:?}\n{deadline}")))
    });
    let daemon = place.setup.start().await;
    let runs = [create(&daemon, "three").await, create(&daemon, "three").await, create(&daemon, "three").await];
    let mut ends = [Value::Null, Value::Null, Value::Null];
    for (run, end) in runs.iter().zip(&mut ends) {
        *end = eventually("it ends", || async {
            let run = show(&daemon, run).await;
            run["completedAt"].is_string().then(|| run["status"].clone())
        })
        .await;
    }
    assert!(daemon.stop().await.success());
    ends
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_commands_run_at_once_as_max_concurrent_says() {
    assert_eq!(three_at_once("max_concurrent = 3", "").await, ["completed"; 3]);
    assert_eq!(three_at_once("max_concurrent = 2", "timeout_mins = 0.01").await, ["failed"; 3]);
}
