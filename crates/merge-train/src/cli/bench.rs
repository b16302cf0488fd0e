//! `merge-train bench`: how fast the durable parts are on this machine, without GitHub and without the commands of steps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{RepoId, TenantId};
use merge_train_core::inbox::{InboxPolicy, Key, RequestHash, Source};
use merge_train_core::repo::{Answer, Effect, EffectFailure, EffectFailureKind, Settings};
use merge_train_core::workflow::{
    CommandOutput, Program, RetryPolicy, StepKind, StepPlan, Trigger, TriggerSource, Workflow,
};
use serde_json::{Map, json};
use store::{Owner, Postgres, Retention, Sqlite, Store, postgres, sqlite};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::daemon::driver::{Driver, Link, Options, OutsideWorld, ProgressReports, RunOptions, StepRunner, StepTask};
use crate::daemon::run_orders::{NewRun, OrderOrigin, RunOrders};
use crate::telemetry;

/// As the daemon does it.
const COMMIT_GROUP: usize = 256;
const CONNECTIONS: u32 = 16;
const WORKFLOW: &str = "three";

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Runs of three steps that do nothing, from the order to the end, each checkpoint on disk before the next step.
    Runs {
        /// How many.
        #[arg(long, default_value_t = 2_000)]
        count: usize,
        /// How many orders are placed at once.
        #[arg(long, default_value_t = 64)]
        at_once: usize,
        /// A PostgreSQL database, which is left with the runs in it; without it, SQLite in a folder that is removed.
        #[arg(long, value_name = "URL")]
        database_url: Option<String>,
    },
}

pub async fn run(args: Args) -> anyhow::Result<()> {
    telemetry::init_plain();
    let Command::Runs { count, at_once, database_url } = args.command;
    let dir = tempfile::tempdir()?;
    let owner = Owner("bench".to_owned());
    let policy = InboxPolicy::default();
    let (name, store): (_, Arc<dyn Store>) = match database_url {
        Some(url) => {
            let options = postgres::Options { url, policy, owner: owner.clone(), connections: CONNECTIONS };
            ("postgresql", Arc::new(Postgres::connect(options).await?))
        }
        None => {
            let dir = dir.path().to_owned();
            let options = sqlite::Options { dir, group: COMMIT_GROUP, policy, max_bytes: None, owner: owner.clone() };
            ("sqlite", Arc::new(Sqlite::open(options).await?))
        }
    };
    let elapsed = runs(store.clone(), owner, count, at_once).await?;
    let seconds = elapsed.as_secs_f64();
    let told = json!({
        "benchmark": "runs",
        "database": name,
        "runs": count,
        "steps": 3,
        "seconds": seconds,
        "runs_per_second": count as f64 / seconds,
    });
    println!("{told}");
    store.close().await;
    Ok(())
}

async fn runs(store: Arc<dyn Store>, owner: Owner, count: usize, at_once: usize) -> anyhow::Result<Duration> {
    let link = Link::default();
    let options = Options {
        owner,
        settings: Settings::default(),
        idle: Duration::from_secs(60),
        compact_after_events: 1_000,
        compact_interval: SignedDuration::from_hours(1),
        retention: Retention::default(),
        runs: RunOptions::default(),
        link: link.clone(),
        workflows: Default::default(),
        web_url: String::new(),
        clock: Clock::default(),
    };
    let driver = Driver::new(store.clone(), Arc::new(NoGithub), Arc::new(InstantAgents), options);
    let driving = tokio::spawn({
        let driver = driver.clone();
        async move { driver.run().await }
    });
    let workflows = Arc::new([(WORKFLOW.to_owned(), workflow())].into());
    let orders = RunOrders { store: store.clone(), link, workflows, web_url: String::new() };
    // A database that was there before may hold runs of the same names.
    let batch = fastrand::u64(..);
    let began = Instant::now();
    stream::iter(0..count)
        .map(|number| order(&orders, format!("{batch:x}-{number}")))
        .buffer_unordered(at_once)
        .try_collect::<Vec<()>>()
        .await?;
    while !store.active_runs().await?.is_empty() || !is_worked_off(store.as_ref()).await? {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let elapsed = began.elapsed();
    driver.stop(Duration::from_secs(10)).await;
    driving.await?;
    Ok(elapsed)
}

/// Whether no order waits that has made no run yet.
async fn is_worked_off(store: &dyn Store) -> store::Result<bool> {
    Ok(store.waiting(Timestamp::MAX, 1).await?.is_empty())
}

async fn order(orders: &RunOrders, id: String) -> anyhow::Result<()> {
    let wanted = NewRun {
        workflow: WORKFLOW.to_owned(),
        inputs: Map::new(),
        tenant: TenantId::parse("bench")?,
        repo: None,
        pr: None,
        trigger: Trigger { source: TriggerSource::Cli, user_id: None, webhook_event_id: None },
    };
    let origin =
        OrderOrigin { source: Source::Api, key: Key::api("bench", &id)?, hash: RequestHash::of(id.as_bytes()) };
    orders.create(wanted, origin).await?;
    Ok(())
}

fn workflow() -> Workflow {
    let step = |id: &str| StepPlan {
        id: id.to_owned(),
        kind: StepKind::Agent(Program { command: vec!["nothing".to_owned()], timeout_ms: 60_000 }),
        resumable: true,
        idempotent: true,
        retry: RetryPolicy::default(),
        compensate: None,
    };
    let steps = ["one", "two", "three"].map(step).to_vec();
    Workflow { name: WORKFLOW.to_owned(), description: String::new(), on: Vec::new(), inputs: Map::new(), steps }
}

/// Steps that are done as soon as they are begun.
struct InstantAgents;

#[async_trait]
impl StepRunner for InstantAgents {
    async fn run(&self, task: StepTask, _stop: CancellationToken) -> Result<CommandOutput, String> {
        Ok(CommandOutput { value: json!({ "step": task.step }), tokens_used: None })
    }
}

/// No GitHub: runs of workflows need none.
struct NoGithub;

#[async_trait]
impl OutsideWorld for NoGithub {
    async fn perform(
        &self,
        _: &RepoId,
        _: Effect,
        _: Timestamp,
        _: CancellationToken,
        _: &ProgressReports,
    ) -> Result<Answer, EffectFailure> {
        let reason = "there is no GitHub here".to_owned();
        Err(EffectFailure { reason, kind: EffectFailureKind::Permanent, retry_at: None })
    }
}
