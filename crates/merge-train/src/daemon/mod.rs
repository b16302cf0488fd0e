//! The daemon, from its first log line to its last.

pub mod account;
pub mod agent;
pub mod clones;
mod commands;
mod discovery;
pub mod driver;
pub mod failpoint;
mod fixers;
mod heartbeat;
pub mod notify;
pub mod run_orders;
pub mod schedules;
pub mod server;
pub mod storage;
pub mod stored_request;
mod upkeep;
pub mod workflow;

use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::FutureExt as _;
use jiff::SignedDuration;
use merge_train_core::repo;
use store::{Owner, Retention};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::{ApiKey, Config, ServeRequirements};
use crate::telemetry;
use clones::Clones;
use commands::Commands;
use discovery::Discovery;
use driver::{Driver, Link};
use fixers::Fixers;
use heartbeat::{Heartbeat, LastHeartbeats};
use notify::Notifier;
use run_orders::RunOrders;
use schedules::Schedules;
use server::{App, BodyMemoryBudget, Health, SlackIntegration};
use upkeep::Upkeep;

const MIB: usize = 1 << 20;
/// What visitors of the dashboard are called who have not signed in.
const VISITORS: &str = "(visitors)";

/// The daemon itself, from its start until `stop` says who wants it to end. It tells where it listens.
pub async fn run(
    config: Config,
    file: Option<&Path>,
    listening: impl FnOnce(SocketAddr),
    stop: impl Future<Output = anyhow::Result<&'static str>>,
) -> anyhow::Result<()> {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let needs = config.check_for_serve()?;
    let metrics = telemetry::metrics::install()?;
    let stopping = CancellationToken::new();

    let git = git::Git::find(clones::PROGRAM).await.context("merge-train does not work without git")?;
    let owner = this_process();
    let store = storage::open(&config, &needs.storage, &owner).await?;
    let github = account::client(&config, &needs.credentials)?;
    let clones = Clones::new(git, needs.clones.clone(), config.github.git_url.clone(), github.clone());
    let clones = Arc::new(clones);
    let agents = Arc::new(Commands::new(&config.runs));
    let options = driver_options(&config, owner);
    let (settings, link) = (options.settings.clone(), options.link.clone());
    let orders = RunOrders {
        store: store.clone(),
        link: options.link.clone(),
        workflows: options.workflows.clone(),
        web_url: config.github.git_url.clone(),
    };
    let fixers = Fixers::new(&config, file).map(Arc::new);
    let outside = driver::GithubOutside::new(github.clone(), clones.clone(), Some(orders.clone()));
    let outside = outside.with_fixers(fixers);
    let driver = Driver::new(store.clone(), Arc::new(outside), agents, options);
    let schedules = Schedules::new(orders.clone(), &config.schedules, Clock::default());
    let health = Arc::new(Health::new(stopping.clone()));
    let checked = Arc::new(LastHeartbeats::default());
    let slack = SlackIntegration::new(&config.slack, &config.slack_workspaces, stopping.clone())?.map(Arc::new);
    let visitors = config.server.anonymous.role().map(|role| ApiKey::of_nobody(VISITORS, role));
    let app = Arc::new(App {
        store: store.clone(),
        driver: driver.clone(),
        secrets: secrets(&needs)?,
        budget: BodyMemoryBudget::new(
            usize::try_from(config.server.body_budget_mb)? * MIB,
            usize::try_from(config.server.max_body_mb)? * MIB,
        ),
        api_keys: config.api_keys.iter().cloned().chain(visitors.clone()).collect(),
        public_url: config.server.public_url.clone(),
        anonymous: visitors.map(|key| key.name),
        health: health.clone(),
        metrics: metrics.clone(),
        github: github.clone(),
        web_url: config.github.git_url.clone(),
        orders,
        settings,
        checked: checked.clone(),
        run_folders: config.runs.work_dir.clone(),
        slack: slack.clone(),
    });

    let listener = TcpListener::bind(config.server.bind_address)
        .await
        .with_context(|| format!("server.bind_address: cannot listen on {}", config.server.bind_address))?;
    let address = listener.local_addr()?;
    let watch = tokio::spawn({
        let (health, store) = (health.clone(), store.clone());
        async move { health.watch(store.as_ref()).await }
    });
    let schedules = tokio::spawn(schedules.run(stopping.clone()));
    let notifier = Notifier::new(&config, store.clone(), link)?;
    let notifier = tokio::spawn({
        let stopping = stopping.clone();
        async move {
            if let Some(notifier) = notifier {
                notifier.run(stopping).await;
            }
        }
    });
    let upkeep = tokio::spawn(
        Upkeep {
            store: store.clone(),
            clones,
            worktree_max_age: worktree_max_age(&config),
            run_folders: config.runs.work_dir.clone(),
        }
        .run(stopping.clone()),
    );
    let counting = tokio::spawn(telemetry::metrics::run_upkeep(metrics));
    let heartbeat = Heartbeat {
        store: store.clone(),
        driver: driver.clone(),
        github: github.clone(),
        every: Duration::from_secs(config.ratchet.heartbeat_secs),
        checked,
    };
    let heartbeat = tokio::spawn(heartbeat.run(stopping.clone()));
    let discovery = Discovery { store: store.clone(), driver: driver.clone(), github };
    let discovery = tokio::spawn(discovery.run(stopping.clone()));
    let drive = tokio::spawn({
        let driver = driver.clone();
        async move { driver.run().await }
    });
    let serving = tokio::spawn({
        let stopping = stopping.clone();
        let served = axum::serve(listener, server::router(app));
        async move { served.with_graceful_shutdown(stopping.cancelled_owned()).await }
    });
    tracing::info!(%address, "merge-train is listening");
    // Whoever hears where it listens may ask it to stop at once.
    let mut stop = pin!(stop);
    let asked = stop.as_mut().now_or_never();
    listening(address);

    let asked_by = match asked {
        Some(asked) => asked?,
        None => stop.await?,
    };
    let deadline = Instant::now() + Duration::from_secs(config.server.shutdown_deadline_secs);
    tracing::info!(asked_by, "shutting down: nothing more is taken in");
    stopping.cancel();
    let _ = tokio::time::timeout_at(deadline, serving).await;
    driver.stop(deadline.saturating_duration_since(Instant::now())).await;
    let _ = tokio::time::timeout(Duration::from_secs(1), async {
        if let Some(slack) = &slack {
            slack.finish().await;
        }
        (watch.await, drive.await, upkeep.await, discovery.await, schedules.await, heartbeat.await, notifier.await)
    })
    .await;
    counting.abort();
    store.close().await;
    tracing::info!("all is stored; goodbye");
    Ok(())
}

/// Unique to each start, and readable by whoever wonders who has the lease.
fn this_process() -> Owner {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Owner(format!("{host}/{}/{:08x}", std::process::id(), fastrand::u32(..)))
}

fn secrets(needs: &ServeRequirements) -> anyhow::Result<github::webhook::Secrets> {
    let secrets = needs.webhook_secrets.iter().map(|secret| secret.expose().to_owned()).collect();
    Ok(github::webhook::Secrets::new(secrets)?)
}

/// What the configuration comes to for the driver.
pub fn driver_options(config: &Config, owner: Owner) -> driver::Options {
    let (behavior, keeping) = (&config.behavior, &config.housekeeping);
    let hours = |hours: u64| SignedDuration::from_hours(i64::try_from(hours).unwrap_or(i64::MAX / 3600));
    driver::Options {
        owner,
        settings: repo::Settings {
            resync_interval: behavior.resync_interval_mins.signed(),
            staleness_threshold: keeping.staleness_threshold_mins.signed(),
            dedupe_ttl: hours(keeping.dedupe_ttl_hours),
            pr_retention: hours(keeping.pr_retention_days.saturating_mul(24)),
            max_prs_in_snapshot: keeping.max_prs_in_snapshot,
            max_stack_size: behavior.max_stack_size,
            wait_timeout: behavior.wait_timeout_mins.signed(),
            policy_ttl: behavior.branch_protection_cache_ttl_mins.signed(),
            poll_interval: keeping.poll_interval_mins.signed(),
            // Each session has its repository's own.
            stagger: 0,
            auto_start: behavior.auto_start,
            delete_branches: behavior.delete_branches,
            merge_in_background: config.merge.background,
            wording: config.merge.wording(),
            ratchet: config.ratchet.settings(),
        },
        idle: behavior.idle_worker_mins.duration(),
        compact_after_events: keeping.compact_after_events,
        compact_interval: keeping.compact_interval_mins.signed(),
        retention: Retention {
            history: hours(keeping.history_retention_days.saturating_mul(24)),
            body_grace: keeping.spool_grace_mins.signed(),
            runs: hours(config.runs.retention_days.saturating_mul(24)),
        },
        runs: driver::RunOptions {
            heartbeat: Duration::from_secs(config.runs.heartbeat_secs),
            orphaned_after: Duration::from_secs(config.runs.orphaned_after_secs),
        },
        link: Link::default(),
        workflows: Arc::new(config.workflows.iter().map(|it| (it.name.clone(), it.definition())).collect()),
        web_url: config.github.git_url.clone(),
        clock: Clock::default(),
    }
}

/// From when on a worktree that no train needs is taken for forgotten.
pub fn worktree_max_age(config: &Config) -> Duration {
    Duration::from_secs(config.housekeeping.worktree_max_age_hours.saturating_mul(60 * 60))
}

/// Waits for whoever wants the daemon to end.
pub async fn asked_to_stop() -> anyhow::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    })
}
