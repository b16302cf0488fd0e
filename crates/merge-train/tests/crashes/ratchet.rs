//! A pull request that breaks and is mended: the daemon is killed at each point of the ratchet's work, and goes on.
//!
//! What holds in the end, whatever happened: one fixer was sent, its push arrived once and counted once, it was begun again
//! only if it had not ended, nothing of it runs any more, and the pull request is in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::daemon::{Daemon, Started};
use crate::serve::support::{KEY, REPO, http};
use crate::shop::{MENDS, Shop};

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
const DIED: &str = "killed at ";
/// So many lives are lived side by side.
const SIDE_BY_SIDE: usize = 3;
const PATIENCE: Duration = Duration::from_secs(120);
const STORY: &str = "sleep 0.3\n";

struct Place {
    shop: Shop,
    daemon: Option<Daemon>,
}

/// How it ended.
struct Life {
    workspace: Value,
    events: Vec<Value>,
    begun: usize,
    pushed: usize,
    value: String,
    /// Whether the fixer's end was known before the daemon died.
    ended_before: bool,
}

impl Place {
    async fn new() -> Self {
        let shop = Shop::wish().ratchet("grace_mins = 0.01").fixer(&format!("{STORY}{MENDS}")).prepare().await;
        Self { shop, daemon: None }
    }

    fn reached(&self) -> String {
        std::fs::read_to_string(self.shop.folder().join("reached")).unwrap_or_default()
    }

    fn has_died(&self) -> bool {
        self.reached().lines().any(|line| line.starts_with(DIED))
    }

    /// A daemon that runs: armed until it has died once, and never again.
    async fn daemon(&mut self, armed: &str) -> Option<String> {
        if self.daemon.as_mut().is_some_and(|daemon| !daemon.is_alive()) {
            self.daemon = None;
        }
        if self.daemon.is_none() {
            let armed = if self.has_died() { "" } else { armed };
            match Daemon::start(&self.shop.world.setup, armed, &self.shop.folder().join("reached")).await {
                Started::Running(daemon) => {
                    let hook = json!({ "webhook_url": format!("{}/webhook", daemon.url) });
                    self.shop.world.control(Method::PATCH, "/app", hook).await;
                    self.daemon = Some(daemon);
                }
                Started::Ended { log } => assert!(self.has_died(), "it ended at once:\n{log}"),
            }
        }
        self.daemon.as_ref().map(|daemon| daemon.url.clone())
    }

    async fn state(&self, url: &str) -> Option<Value> {
        let path = format!("{url}/api/v1/repos/{REPO}/state?events=1000");
        let response = http().get(path).bearer_auth(KEY).send().await.ok()?;
        (response.status() == 200).then_some(response)?.json().await.ok()
    }

    async fn live(&mut self, armed: &str) -> Life {
        self.daemon(armed).await;
        let pr = self.shop.pull("one", "main", "bad").await;
        let deadline = Instant::now() + PATIENCE;
        let mut ended_before = None;
        let state = loop {
            let log = self.daemon.as_ref().map(Daemon::log).unwrap_or_default();
            assert!(Instant::now() < deadline, "{armed}: it never ends\n{}\n{log}", self.reached());
            tokio::time::sleep(Duration::from_millis(20)).await;
            if ended_before.is_none() && self.has_died() {
                ended_before = Some(self.has_ended());
            }
            let Some(url) = self.daemon(armed).await else { continue };
            let Some(state) = self.state(&url).await else { continue };
            let workspace = &state["workspaces"][pr.to_string()];
            // The point may lie behind the end of the story.
            let is_over = workspace["status"] == "PAUSED_DONE" && (armed.is_empty() || self.has_died());
            if is_over && self.is_tidy() {
                break state;
            }
        };
        let commits =
            self.shop.world.call(Method::GET, &format!("/repos/{REPO}/pulls/{pr}/commits"), Value::Null).await;
        let pushed = commits.as_array().expect("a list").iter().filter(|it| it["commit"]["message"] == "Make it good");
        let script = self.shop.world.dir.path().join("fixer.sh").to_string_lossy().into_owned();
        assert_eq!(self.shop.processes(&script), 0, "{armed}: a process is left");
        let life = Life {
            workspace: state["workspaces"][pr.to_string()].clone(),
            events: state["recent_events"].as_array().expect("a list").clone(),
            begun: self.shop.begun(),
            pushed: pushed.count(),
            value: self.shop.read("one", "value-one.txt").await,
            ended_before: ended_before.unwrap_or_default(),
        };
        self.daemon.as_mut().expect("it runs").stop().await;
        life
    }

    fn runs(&self) -> Vec<std::path::PathBuf> {
        let folder = self.shop.world.dir.path().join("runs");
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|run| run.path()).collect()
    }

    fn has_ended(&self) -> bool {
        self.runs().iter().any(|run| run.join("ended.json").exists())
    }

    /// Whether nothing of the checkout is left.
    fn is_tidy(&self) -> bool {
        self.runs().iter().all(|run| !run.join("own").exists())
    }
}

fn is_meant(point: &str) -> bool {
    POINTS.iter().chain(&MORE_POINTS).any(|meant| point.starts_with(meant))
}

async fn one(armed: String) -> Result<(), String> {
    let mut place = Place::new().await;
    let life = place.live(&armed).await;
    let count = |kind: &str| life.events.iter().filter(|event| event["type"] == kind).count();
    let pushes =
        life.events.iter().filter(|event| event["type"] == "fix_settled" && event["outcome"] == "FIXER_PUSHED");
    let begins = life.events.iter().filter(|event| event["type"] == "fix_started").count();
    let holds = [
        ("the daemon died", place.has_died()),
        ("one fixer was sent", count("fix_dispatched") == 1),
        ("its push counted once", pushes.count() == 1 && count("fix_settled") == 1),
        ("its push arrived once", life.pushed == 1 && life.value == "good\n"),
        ("it was begun again only where it had not ended", life.begun <= if life.ended_before { 1 } else { 2 }),
        ("its begin was recorded", life.begun <= begins + 1),
        ("it is in order", life.workspace["status"] == "PAUSED_DONE" && life.workspace["fix"].is_null()),
    ];
    let broken: Vec<&str> = holds.iter().filter(|(_, is_so)| !is_so).map(|(what, _)| *what).collect();
    match broken.as_slice() {
        [] => Ok(()),
        broken => Err(format!("{armed}: not so: {}\nbegun {}, {:#}", broken.join(", "), life.begun, life.workspace)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_at_each_point_of_its_work_the_ratchet_sends_one_fixer_and_loses_no_push() {
    let mut whole = Place::new().await;
    let life = whole.live("").await;
    assert_eq!((life.begun, life.pushed), (1, 1));
    let passed: Vec<String> = whole.reached().lines().filter(|line| is_meant(line)).map(str::to_owned).collect();
    let mut armed: Vec<String> = Vec::new();
    for (index, point) in passed.iter().enumerate() {
        let before = passed[..index].iter().filter(|earlier| *earlier == point).count();
        // The first two times tell what later ones would.
        match before {
            0 => armed.push(format!("{point}=return")),
            1 => armed.push(format!("{point}=1*off->return")),
            _ => {}
        }
    }
    for needed in [
        "append.fix_dispatched",
        "fixer.start",
        "fixer.end",
        "append.fix_push_intended",
        "effect.push.middle",
        "effect.forward.end",
        "append.fix_settled",
    ] {
        assert!(armed.iter().any(|point| point.starts_with(needed)), "{needed} is not passed: {passed:?}");
    }
    let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let lives: Vec<_> = armed
        .iter()
        .map(|armed| {
            let (room, armed) = (room.clone(), armed.clone());
            tokio::spawn(async move {
                let _room = room.acquire().await.expect("it is never closed");
                one(armed).await
            })
        })
        .collect();
    let mut failed = Vec::new();
    for life in lives {
        match life.await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => failed.push(why),
            Err(panic) => failed.push(panic.to_string()),
        }
    }
    println!("killed at {} points", armed.len());
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), armed.len(), failed.join("\n"));
}
