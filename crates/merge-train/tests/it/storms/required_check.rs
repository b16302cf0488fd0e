//! Nothing lands whose head has not passed what is required, whatever CI and GitHub do when.
//!
//! The simulator would let it through: the daemon's app may bypass the rules. What was known of a commit when it landed is
//! read from the simulator's own record of events.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::storms::support::{Ci, Edit, Repo, Yard, seeds, within};

const SEEDS: u64 = 3;
const SEEDS_WITH_TIME: u64 = 16;
const SIDE_BY_SIDE: usize = 6;
/// Long enough for a machine under load; nothing takes this long unless something is wrong.
const PATIENCE: Duration = Duration::from_secs(300);
/// The simulator remembers so many webhooks of one receiver.
const REMEMBERED: usize = 1000;

/// A check, and how CI reports it.
#[derive(Clone)]
struct Context {
    name: &'static str,
    report: &'static str,
    required: bool,
}

/// One world: which checks there are, and how GitHub behaves.
struct Setting {
    seed: u64,
    contexts: Vec<Context>,
    count: usize,
    lag_ms: u64,
}

impl Setting {
    fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let all = [("build", "check_run"), ("lint", "status"), ("audit", "check_run"), ("docs", "status")];
        let some = rng.usize(1..=all.len());
        let context = |(at, (name, report)): (usize, &(&'static str, &'static str))| {
            // There is always one that is required.
            Context { name, report, required: at == 0 || rng.bool() }
        };
        let contexts = all[..some].iter().enumerate().map(context).collect();
        Self { seed, contexts, count: rng.usize(2..=3), lag_ms: rng.u64(500..4_000) }
    }

    fn required(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.contexts.iter().filter(|context| context.required).map(|context| context.name)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_lands_whose_head_has_not_passed_the_required_checks() {
    let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
    let tasks: Vec<_> =
        seeds(SEEDS, SEEDS_WITH_TIME).into_iter().map(|seed| (seed, tokio::spawn(one(room.clone(), seed)))).collect();
    let mut failed = Vec::new();
    for (seed, task) in tasks {
        match task.await {
            Ok(told) => println!("{told}"),
            Err(panic) => failed.push(format!("seed {seed}: {panic}")),
        }
    }
    assert!(failed.is_empty(), "MERGE_TRAIN_TEST_SEED=… tries one of them alone:\n{}", failed.join("\n"));
}

async fn one(room: Arc<Semaphore>, seed: u64) -> String {
    let _room = room.acquire().await.expect("it is never closed");
    let (setting, begun) = (Setting::of(seed), Instant::now());
    let yard = Yard::new(seed).await;
    let repo = Arc::new(Repo::new(&yard, &format!("checked-{seed}")).await);
    require(&repo, &setting).await;
    confuse(&repo, &setting).await;
    let mut rng = Rng::with_seed(seed);
    let contexts = setting.contexts.clone();
    let _ci = Ci::by(&repo, move |repo, _, sha| {
        for context in contexts.clone() {
            tokio::spawn(run(repo.clone(), context, sha.clone(), rng.fork()));
        }
    });
    let numbers = stack(&repo, setting.count).await;
    land(&repo, &numbers).await;
    let landed = expect_passed_before_landing(&yard, &setting).await;
    assert_eq!(landed, numbers.len(), "the simulator told of each landing");
    let required: Vec<&str> = setting.required().collect();
    let lag_ms = setting.lag_ms;
    let took = begun.elapsed();
    format!("seed {seed:>3}: {landed} landed, {required:?} required, merge state {lag_ms} ms behind, took {took:.1?}")
}

/// A ruleset that demands the checks of everybody but the daemon.
async fn require(repo: &Repo, setting: &Setting) {
    let checks: Vec<Value> = setting.required().map(|context| json!({ "context": context })).collect();
    let parameters = json!({ "strict_required_status_checks_policy": false, "required_status_checks": checks });
    let body = json!({
        "name": "checked", "target": "branch", "enforcement": "active",
        "conditions": { "ref_name": { "include": ["~DEFAULT_BRANCH"], "exclude": [] } },
        "bypass_actors": [{ "actor_id": repo.yard.app(), "actor_type": "Integration", "bypass_mode": "always" }],
        "rules": [{ "type": "required_status_checks", "parameters": parameters }],
    });
    repo.call(Method::POST, "/rulesets", body).await;
}

/// What GitHub says of a new head is what it said of the one before, and its webhooks come in any order.
async fn confuse(repo: &Repo, setting: &Setting) {
    let lag = json!({ "merge_state_lag_ms": setting.lag_ms, "merge_state_lag_mode": "stale" });
    repo.yard.control(Method::PATCH, "/settings", lag).await;
    let often = |fault: Value, share: f64| {
        let mut fault = fault;
        fault["count"] = Value::Null;
        fault["match"] = json!({ "repository": repo.name(), "probability": share });
        fault
    };
    let faults = json!([
        often(json!({ "kind": "reorder_webhook" }), 0.2),
        often(json!({ "kind": "delay_webhook", "ms": 1_000 }), 0.2),
        often(json!({ "kind": "duplicate_webhook" }), 0.1),
        often(json!({ "kind": "drop_webhook" }), 0.05),
    ]);
    repo.yard.control(Method::POST, "/faults", faults).await;
}

/// One check on one head: begins late, may fail and be run again, passes in the end, unless nobody demands that it does.
async fn run(repo: Arc<Repo>, context: Context, sha: String, mut rng: Rng) {
    let said = |what: Value| {
        let mut what = what;
        what["report"] = json!(context.report);
        what
    };
    let pause = |rng: &mut Rng, most_ms: u64| tokio::time::sleep(Duration::from_millis(rng.u64(50..most_ms)));
    pause(&mut rng, 1_500).await;
    for _ in 0..rng.u8(0..3) {
        repo.check(&sha, context.name, said(json!({ "status": "in_progress" }))).await;
        pause(&mut rng, 600).await;
        repo.check(&sha, context.name, said(json!({ "conclusion": "failure" }))).await;
        pause(&mut rng, 600).await;
    }
    if context.required || rng.bool() {
        repo.check(&sha, context.name, said(json!({ "status": "in_progress" }))).await;
        pause(&mut rng, 900).await;
        repo.check(&sha, context.name, said(json!({ "conclusion": "success" }))).await;
    }
}

/// A line of pull requests, of which the lower ones grew since.
async fn stack(repo: &Repo, count: usize) -> Vec<u64> {
    let branch = |at: usize| if at == 0 { "main".to_owned() } else { format!("change-{at}") };
    let mut numbers: Vec<u64> = Vec::new();
    for at in 1..=count {
        let number = repo.open(&branch(at), &branch(at - 1), &[Edit::File(format!("{}.txt", branch(at)))]).await;
        if let Some(below) = numbers.last() {
            repo.declares(number, *below).await;
        }
        numbers.push(number);
    }
    for at in 1..count {
        repo.commit(&branch(at), &Edit::File(format!("{}-more.txt", branch(at)))).await;
    }
    numbers
}

/// Starts the train, again where the word of it was lost, and waits until everything has landed.
async fn land(repo: &Repo, numbers: &[u64]) {
    let begun = Instant::now();
    for number in numbers {
        let what = format!("#{number} lands");
        let mut asked: Option<Instant> = None;
        while !repo.is_merged(*number).await {
            assert!(begun.elapsed() < PATIENCE, "in vain: {what}\n{:#?}\n{}", repo.trains().await, repo.log());
            let is_waited_for = asked.is_some_and(|asked| asked.elapsed() < Duration::from_secs(8));
            if repo.trains().await.is_empty() && !is_waited_for {
                repo.start(*number).await;
                asked = Some(Instant::now());
            }
            let soon = Duration::from_millis(500);
            let _ = within(soon, &what, async || repo.is_merged(*number).await.then_some(())).await;
        }
    }
}

/// Goes through everything that happened, in order; each landing's head must have passed by then. How many landed.
async fn expect_passed_before_landing(yard: &Yard, setting: &Setting) -> usize {
    let all = yard.control(Method::GET, "/deliveries", Value::Null).await;
    let all = all.as_array().expect("a list");
    assert!(all.len() < REMEMBERED, "the record is not whole");
    let mut verdicts: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut landed = 0;
    for delivery in all.iter().filter(|delivery| delivery["redelivery"] != true) {
        let payload = &delivery["payload"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        match delivery["event"].as_str().unwrap_or_default() {
            "check_run" => {
                let run = &payload["check_run"];
                verdicts.insert((text(&run["head_sha"]), text(&run["name"])), text(&run["conclusion"]));
            }
            "status" => {
                verdicts.insert((text(&payload["sha"]), text(&payload["context"])), text(&payload["state"]));
            }
            "pull_request" if payload["action"] == "closed" && payload["pull_request"]["merged"] == true => {
                landed += 1;
                let head = text(&payload["pull_request"]["head"]["sha"]);
                for name in setting.required() {
                    let verdict = verdicts.get(&(head.clone(), name.to_owned()));
                    let number = &payload["number"];
                    let seed = setting.seed;
                    assert_eq!(
                        verdict.map(String::as_str),
                        Some("success"),
                        "seed {seed}: #{number} landed at {head} before {name} had passed"
                    );
                }
            }
            _ => {}
        }
    }
    landed
}
