//! A pull request that breaks and is mended: the daemon is killed at each point of the ratchet's work, or once more while it
//! recovers, and goes on.
//!
//! What holds in the end, whatever happened: one fixer was sent, its push arrived once and counted once, as an attempt and for
//! the day, it was begun again only if it had neither ended nor pushed, nothing of it runs any more, and the pull request is in
//! order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::crashes::case::armed;
use crate::crashes::daemon::{Daemon, Started};
use crate::shop::{MENDS, Shop, WAITS, eventually};
use crate::support::{KEY, REPO, http};

/// The points that are about it.
const POINTS: [&str; 8] = [
    "append.ratchet_",
    "append.fix_",
    "append.talk_",
    "append.workspace_",
    "effect.diagnose",
    "effect.fix",
    "effect.forward",
    "fixer.",
];
const MORE_POINTS: [&str; 3] = ["effect.push.middle", "effect.clear_fixer", "effect.read_talk"];
/// What the story is about: it cannot be told without passing these.
const NEEDED: [&str; 14] = [
    "append.fix_dispatched.before",
    "append.fix_dispatched.after",
    "effect.fix.start",
    "fixer.start",
    "fixer.exited",
    "fixer.end",
    "effect.fix.end",
    "append.fix_push_intended.before",
    "append.fix_push_intended.after",
    "effect.forward.start",
    "effect.push.middle",
    "effect.forward.end",
    "append.fix_settled.before",
    "append.fix_settled.after",
];
const DIED: &str = "killed at ";
/// So many lives are lived side by side: most of the time each waits for something.
const SIDE_BY_SIDE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(120);
/// Heartbeats come each second: what was not reached so long after the end of the story, is not reached.
const QUIET: Duration = Duration::from_secs(3);
/// How far into the recovery the second crash may be, counted in points of any kind.
const RECOVERY: usize = 24;
const STORY: &str = "sleep 0.3\n";

struct Place {
    shop: Shop,
    daemon: Option<Daemon>,
    /// Where daemons are still to die, the next one first.
    to_die: VecDeque<String>,
    deaths: Vec<Death>,
}

/// What had come of the fixer when a daemon died.
struct Death {
    has_ended: bool,
    has_pushed: bool,
}

/// How it ended.
struct Life {
    workspace: Value,
    events: Vec<Value>,
    /// How many fixers count for the day.
    sent: usize,
    /// The most that were counted before it was in order, as far as anybody saw: then it begins anew.
    attempts: u64,
    begun: usize,
    pushed: usize,
    value: String,
}

impl Place {
    async fn new(to_die: &[String]) -> Self {
        let shop = Shop::wish().ratchet("grace_mins = 0.01").fixer(&format!("{STORY}{MENDS}")).prepare().await;
        Self { shop, daemon: None, to_die: to_die.iter().cloned().collect(), deaths: Vec::new() }
    }

    fn reached(&self) -> String {
        std::fs::read_to_string(self.shop.folder().join("reached")).unwrap_or_default()
    }

    /// Notices whether the daemon is gone, and whether it died as it was to.
    fn bury(&mut self, log: &str) {
        self.daemon = None;
        assert!(self.to_die.pop_front().is_some(), "it ended by itself:\n{log}");
        assert!(self.reached().contains(DIED), "it ended by itself:\n{log}");
        self.deaths.push(Death { has_ended: self.has_ended(), has_pushed: self.has_pushed() });
    }

    /// A daemon that runs, armed with the next death.
    async fn daemon(&mut self) -> Option<String> {
        if let Some(daemon) = &mut self.daemon
            && !daemon.is_alive()
        {
            let log = daemon.log();
            self.bury(&log);
        }
        if self.daemon.is_none() {
            let armed = self.to_die.front().cloned().unwrap_or_default();
            match Daemon::start(&self.shop.world.setup, &armed, &self.shop.folder().join("reached")).await {
                Started::Running(daemon) => {
                    let hook = json!({ "webhook_url": format!("{}/webhook", daemon.url) });
                    self.shop.world.control(Method::PATCH, "/app", hook).await;
                    self.daemon = Some(daemon);
                }
                Started::Ended { log } => self.bury(&log),
            }
        }
        self.daemon.as_ref().map(|daemon| daemon.url.clone())
    }

    async fn state(&self, url: &str) -> Option<Value> {
        let path = format!("{url}/api/v1/repos/{REPO}/state?events=1000");
        let response = http().get(path).bearer_auth(KEY).send().await.ok()?;
        (response.status() == 200).then_some(response)?.json().await.ok()
    }

    async fn live(&mut self) -> Life {
        self.daemon().await;
        let pr = self.shop.pull("one", "main", "bad").await;
        let deadline = Instant::now() + PATIENCE;
        let (mut quiet_since, mut attempts) = (None, 0);
        let state = loop {
            let log = self.daemon.as_ref().map(Daemon::log).unwrap_or_default();
            assert!(Instant::now() < deadline, "it never ends\n{}\n{log}", self.reached());
            tokio::time::sleep(Duration::from_millis(20)).await;
            let Some(url) = self.daemon().await else { continue };
            let Some(state) = self.state(&url).await else { continue };
            let workspace = &state["workspaces"][pr.to_string()];
            attempts = attempts.max(workspace["attempts"].as_u64().unwrap_or(0));
            if workspace["status"] != "PAUSED_DONE" || !self.is_tidy() {
                quiet_since = None;
                continue;
            }
            // The point may lie behind the end of the story.
            let quiet_since = *quiet_since.get_or_insert_with(Instant::now);
            if self.to_die.is_empty() || quiet_since.elapsed() > QUIET {
                break state;
            }
        };
        let commits =
            self.shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}/commits"), Value::Null).await;
        let pushed = commits.as_array().expect("a list").iter().filter(|it| it["commit"]["message"] == "Make it good");
        assert_eq!(self.shop.strays(), [""; 0], "a process is left");
        let life = Life {
            workspace: state["workspaces"][pr.to_string()].clone(),
            events: state["recent_events"].as_array().expect("a list").clone(),
            sent: state["fixers_sent"].as_array().map_or(0, Vec::len),
            attempts,
            begun: self.shop.begun(),
            pushed: pushed.count(),
            value: self.shop.read("one", "value-one.txt").await,
        };
        // It may die even of being stopped.
        let ended = self.daemon.as_mut().expect("it runs").stop().await;
        assert!(ended.success() || !self.to_die.is_empty(), "{ended}");
        life
    }

    fn runs(&self) -> Vec<std::path::PathBuf> {
        let folder = self.shop.world.dir.path().join("runs");
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|run| run.path()).collect()
    }

    fn has_ended(&self) -> bool {
        self.runs().iter().any(|run| run.join("ended.json").exists())
    }

    /// Whether the gateway took a push.
    fn has_pushed(&self) -> bool {
        let log = |run: &std::path::PathBuf| std::fs::read_to_string(run.join("own/gateway.git/logs/refs/heads/one"));
        self.runs().iter().any(|run| log(run).is_ok_and(|log| log.contains("\tpush\n")))
    }

    /// Whether nothing of the checkout is left.
    fn is_tidy(&self) -> bool {
        self.runs().iter().all(|run| !run.join("own").exists())
    }
}

fn is_meant(point: &str) -> bool {
    POINTS.iter().chain(&MORE_POINTS).any(|meant| point.starts_with(meant))
}

/// Lets daemons die these deaths, one after the other, and holds what must hold in the end. How many of them they died.
async fn one(to_die: Vec<String>) -> Result<usize, String> {
    let mut place = Place::new(&to_die).await;
    let life = place.live().await;
    let count = |kind: &str| life.events.iter().filter(|event| event["type"] == kind).count();
    let pushes =
        life.events.iter().filter(|event| event["type"] == "fix_settled" && event["outcome"] == "FIXER_PUSHED");
    let cut_short = place.deaths.iter().filter(|death| !death.has_ended && !death.has_pushed).count();
    let holds = [
        ("one fixer was sent", count("fix_dispatched") == 1),
        ("its push counted once", pushes.count() == 1 && count("fix_settled") == 1),
        ("its push arrived once", life.pushed == 1 && life.value == "good\n"),
        ("it was one attempt, and none is held against it", life.attempts <= 1 && life.workspace["attempts"] == 0),
        ("it counts once for the day", life.sent == 1),
        ("it was begun again only where it had neither ended nor pushed", life.begun <= 1 + cut_short),
        ("each begin but those cut short was recorded", life.begun <= count("fix_started") + cut_short),
        ("it is in order", life.workspace["status"] == "PAUSED_DONE" && life.workspace["fix"].is_null()),
    ];
    let broken: Vec<&str> = holds.iter().filter(|(_, is_so)| !is_so).map(|(what, _)| *what).collect();
    match broken.as_slice() {
        [] => Ok(place.deaths.len()),
        broken => Err(format!("not so: {}\nbegun {}, {:#}", broken.join(", "), life.begun, life.workspace)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_at_each_point_of_its_work_once_or_again_the_ratchet_sends_one_fixer_and_loses_no_push() {
    let mut whole = Place::new(&[]).await;
    let life = whole.live().await;
    assert_eq!((life.begun, life.pushed, life.attempts, life.sent), (1, 1, 1, 1));
    let passed: Vec<String> = whole.reached().lines().filter(|line| is_meant(line)).map(str::to_owned).collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for point in &passed {
        *times.entry(point).or_default() += 1;
    }
    // The first two times tell what later ones would. After each the daemon dies once, or once more while it recovers, and
    // together they die all over the recovery.
    let firsts = times.iter().flat_map(|(point, times)| (1..=2.min(*times)).map(move |nth| (*point, nth)));
    let lives: Vec<(&str, usize, Vec<String>)> = firsts
        .enumerate()
        .flat_map(|(at, (point, nth))| {
            let second = armed("any", 1 + at % RECOVERY);
            [vec![armed(point, nth)], vec![armed(point, nth), second]].map(|deaths| (point, nth, deaths))
        })
        .collect();
    let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let all = lives.iter().map(|(_, _, deaths)| {
        let (room, deaths) = (room.clone(), deaths.clone());
        tokio::spawn(async move {
            let _room = room.acquire().await.expect("it is never closed");
            one(deaths).await
        })
    });
    let (mut failed, mut died_once, mut died_twice) = (Vec::new(), BTreeSet::new(), 0);
    for ((point, nth, deaths), lived) in lives.iter().zip(futures_util::future::join_all(all).await) {
        match lived {
            Ok(Ok(died)) => {
                died_twice += usize::from(died == 2);
                if died == 0 {
                    println!("{} is not reached every time", deaths[0]);
                } else if *nth == 1 {
                    died_once.insert(*point);
                }
            }
            Ok(Err(why)) => failed.push(format!("{deaths:?}: {why}")),
            Err(panic) => failed.push(format!("{deaths:?}: {panic}")),
        }
    }
    println!("{} lives, killed at {} points, {died_twice} times once more", lives.len(), died_once.len());
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), lives.len(), failed.join("\n"));
    let missed: Vec<&str> = NEEDED.into_iter().filter(|needed| !died_once.contains(needed)).collect();
    assert!(missed.is_empty(), "no daemon died at {missed:?}");
    assert!(died_twice * 2 > lives.len() / 2, "only {died_twice} died while they recovered");
}

/// Kills the daemon while its fixer, which does this, has come to a mark and works on; and looks at what comes of it.
async fn killed_at_the_mark(script: &str, begun: usize) {
    // What is counted is forgotten after that.
    let mut shop = Shop::wish().ratchet("grace_mins = 60").fixer(script).open().await;
    let pr = shop.pull("one", "main", "bad").await;
    let mark = shop.folder().join("mark");
    eventually("it comes to its mark", || async { mark.exists().then_some(()) }).await;
    assert!(!shop.strays().is_empty(), "it is at work");
    shop.daemon.take().expect("it runs").kill().await;
    eventually("it dies with the daemon", || async { shop.strays().is_empty().then_some(()) }).await;
    shop.go();
    shop.restart().await;
    eventually("it is green", || async { (shop.workspace(pr).await["reason"] == "GRACE").then_some(()) }).await;
    let state = shop.daemon().state(REPO).await;
    let workspace = &state["workspaces"][pr.to_string()];
    assert_eq!((&workspace["attempts"], &workspace["fix"]), (&json!(1), &Value::Null), "{workspace:#}");
    assert_eq!(state["fixers_sent"].as_array().map(Vec::len), Some(1), "one for the day");
    let commits = shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}/commits"), Value::Null).await;
    let is_fix = |commit: &&Value| commit["commit"]["message"] == "Make it good";
    assert_eq!(commits.as_array().expect("a list").iter().filter(is_fix).count(), 1);
    assert_eq!(shop.begun(), begun);
    assert_eq!(shop.strays(), [""; 0]);
    shop.close().await;
}

#[tokio::test]
async fn a_fixer_that_works_on_after_its_push_dies_with_the_daemon_and_is_not_begun_again() {
    killed_at_the_mark(&format!("{MENDS}: > \"$SHOP/mark\"\n{WAITS}"), 1).await;
}

#[tokio::test]
async fn a_fixer_that_has_not_pushed_yet_dies_with_the_daemon_and_is_begun_again() {
    killed_at_the_mark(&format!(": > \"$SHOP/mark\"\n{WAITS}{MENDS}"), 2).await;
}
