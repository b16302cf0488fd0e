//! Two daemons on one PostgreSQL: what one leaves when it dies, and what is its own as long as it lives.

use jiff::Timestamp;

use super::*;
use crate::support::Database;

/// Two daemons, each with a folder of its own, and a folder for their commands.
pub struct Pair {
    pub dir: tempfile::TempDir,
    pub setups: [Setup; 2],
}

impl Pair {
    pub async fn new(settings: &str, workflows: impl Fn(&Path) -> String) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let database = Database::postgres().await;
        let setups = ["first", "second"].map(|name| {
            let home = dir.path().join(name);
            std::fs::create_dir(&home).expect("a folder");
            let runs = format!("[runs]\nwork_dir = {:?}\n{settings}\n", home.join("runs"));
            Setup::new(&home).database(database.clone()).more(&runs).more(&workflows(dir.path()))
        });
        Self { dir, setups }
    }

    pub async fn begun(&self, name: &str) {
        eventually(&format!("{name} is begun"), || async { (times(self.dir.path(), name) > 0).then_some(()) }).await;
    }
}

/// A script that goes on when the test lets it.
pub fn until_let_go(dir: &Path) -> String {
    format!("while [ ! -e '{}' ]; do sleep 0.05; done; echo '{{}}'", dir.join("go").display())
}

fn time(value: &Value) -> Timestamp {
    value.as_str().expect("a time").parse().expect("a time")
}

#[tokio::test(flavor = "multi_thread")]
async fn section_5_4_an_orphan_that_cannot_go_on_fails_with_run_orphaned() {
    let pair = Pair::new("heartbeat_secs = 1\norphaned_after_secs = 3", |dir| {
        let once = command(dir, "once", &until_let_go(dir));
        format!(
            "[[workflows]]\nname = \"once\"\n{}[[workflows]]\nname = \"ask\"\n{}",
            step("once", &format!("command = {once:?}\nresumable = false\nidempotent = false")),
            step("ok", "kind = \"approval\""),
        )
    })
    .await;
    // Alone at first: whoever hears of a run takes it.
    let dying = pair.setups[0].start().await;
    let (once, ask) = (create(&dying, "once").await, create(&dying, "ask").await);
    becomes(&dying, &ask, "awaiting_approval").await;
    pair.begun("once").await;
    let living = pair.setups[1].start().await;
    dying.kill().await;
    let left = show(&living, &once).await;
    assert_eq!(left["status"], "running", "{left}");

    let failed = becomes(&living, &once, "failed").await;
    let error = failed["error"].as_str().expect("an error");
    assert!(error.starts_with("RUN_ORPHANED: step \"once\" was running when the process stopped"), "{error}");
    assert_eq!(failed["lastTransition"]["initiator"], "system", "{failed}");
    let silent = time(&failed["completedAt"]).duration_since(time(&left["lastHeartbeatAt"]));
    assert!(silent.as_secs() >= 3, "it was given up after {silent:?}");
    let detected = eventually("the orphan is told", || async {
        Some(logged(&living, "orphan_detected")).filter(|lines| !lines.is_empty())
    })
    .await;
    assert_eq!(detected.len(), 1, "{detected:?}");
    assert_eq!(detected[0]["runId"], once.as_str(), "{detected:?}");
    assert_eq!(detected[0]["lastHeartbeat"], left["lastHeartbeatAt"], "{detected:?}");
    assert_eq!(times(pair.dir.path(), "once"), 1);

    // Who waits for people is nobody's, and so cannot lose anybody.
    let waiting = show(&living, &ask).await;
    assert_eq!((&waiting["status"], &waiting["resumeCount"]), (&json!("awaiting_approval"), &json!(0)), "{waiting}");
    let (status, approved) = post(&living, &format!("/runs/{ask}/approve"), Value::Null).await;
    assert_eq!((status, &approved["status"]), (200, &json!("completed")), "{approved}");
    assert_eq!(logged(&living, "orphan_detected").len(), 1);
    assert!(living.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn section_5_4_2_a_step_that_takes_longer_than_an_orphan_is_given_keeps_its_run() {
    let pair = Pair::new("heartbeat_secs = 1\norphaned_after_secs = 3", |dir| {
        let long = command(dir, "long", &until_let_go(dir));
        // Were it taken up, it would be done again.
        format!("[[workflows]]\nname = \"long\"\n{}", step("long", &format!("command = {long:?}\nidempotent = true")))
    })
    .await;
    let (at_work, other) = (pair.setups[0].start().await, pair.setups[1].start().await);
    let run = create(&at_work, "long").await;
    pair.begun("long").await;
    let begun = show(&other, &run).await;
    let mut seen = vec![time(&begun["lastHeartbeatAt"])];
    let until = seen[0] + jiff::SignedDuration::from_secs(6);
    while seen.last().is_some_and(|last| *last < until) {
        let last = *seen.last().expect("the first");
        let next = eventually("another sign of life", || async {
            let run = show(&other, &run).await;
            assert_eq!((&run["status"], &run["updatedAt"]), (&json!("running"), &begun["updatedAt"]), "{run}");
            Some(time(&run["lastHeartbeatAt"])).filter(|beat| *beat > last)
        })
        .await;
        assert!(next.duration_since(last).as_millis() < 3_000, "{last} was followed by {next}");
        seen.push(next);
    }
    std::fs::write(pair.dir.path().join("go"), "").expect("written");
    let done = becomes(&other, &run, "completed").await;
    assert_eq!(done["resumeCount"], 0, "{done}");
    assert_eq!(times(pair.dir.path(), "long"), 1);
    for daemon in [&at_work, &other] {
        assert_eq!(logged(daemon, "orphan_detected"), [] as [Value; 0]);
    }
    assert!(at_work.stop().await.success() && other.stop().await.success());
}
