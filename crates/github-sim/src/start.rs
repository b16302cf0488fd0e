//! Starting and stopping a simulator.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::control::Calls;
use crate::git::Git;
use crate::http::{ApiError, RateLimits, Recorder, Urls, api_pipeline};
use crate::sim::{Inner, Sim, Store};
use crate::world::{Disk, DiskError, World};
use crate::{ci, control, git, graphql, http, pages, pulls, push, rest, setup, webhooks};

/// How to start one.
#[derive(Clone, Debug)]
pub struct Options {
    /// Everything the simulator keeps: `sim.json`, the database, repositories, logs, the app's key.
    pub data: PathBuf,
    pub listen: SocketAddr,
    /// The URL prefix of links in answers, if it differs from the listening address.
    pub public_url: Option<String>,
    /// Makes tokens, ids and everything random repeatable. Only used when the data directory is new.
    pub seed: Option<u64>,
    /// The app's webhook URL.
    pub webhook_url: Option<String>,
    /// An RSA private key (PEM) for the app, instead of a new one. Only used when the data directory is new.
    pub app_key: Option<PathBuf>,
    /// Append every request and response to this file, one JSON object per line.
    pub record: Option<PathBuf>,
    /// The clock stands at this time and moves only when it is told to (`POST /_sim/clock`), so that with a seed a whole
    /// run can be repeated.
    pub stopped_at: Option<Timestamp>,
}

impl Options {
    /// On a free port of the loopback interface.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            public_url: None,
            seed: None,
            webhook_url: None,
            app_key: None,
            record: None,
            stopped_at: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot use the data directory {path}")]
    Data { path: PathBuf, source: std::io::Error },
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("another simulator uses {path}; give each its own data directory")]
    InUse { path: PathBuf },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error("cannot make or read the app's private key: {reason}")]
    Key { reason: String },
    #[error("cannot set the simulator up: {reason}")]
    Setup { reason: String },
}

/// A simulator that runs until it is stopped.
pub struct Running {
    sim: Sim,
    address: SocketAddr,
    stopping: CancellationToken,
    server: JoinHandle<()>,
    /// Held while it runs, so that two simulators never share a data directory.
    _exclusive: std::fs::File,
}

impl Running {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn urls(&self) -> &Urls {
        self.sim.urls()
    }

    /// What `sim.json` says: addresses, users and their tokens, the app.
    pub fn description(&self) -> serde_json::Value {
        setup::description(&self.sim)
    }

    /// Finishes the requests under way and stops.
    pub async fn stop(self) {
        self.stopping.cancel();
        let _ = self.server.await;
        self.sim.wind_down().await;
    }
}

pub async fn start(options: Options) -> Result<Running, StartError> {
    let data = |source| StartError::Data { path: options.data.clone(), source };
    for folder in ["repositories", "logs"] {
        std::fs::create_dir_all(options.data.join(folder)).map_err(data)?;
    }
    // git is told of repositories by path, and works in them: a relative path would mean something else there.
    let folder = std::fs::canonicalize(&options.data).map_err(data)?;
    let exclusive = take_exclusively(&folder)?;
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| StartError::Listen { address: options.listen, source })?;
    let address = listener.local_addr().map_err(data)?;
    let urls = Urls {
        web: options.public_url.clone().unwrap_or_else(|| format!("http://{address}")).trim_end_matches('/').to_owned(),
    };
    let disk = Disk::open(&folder.join("sim.sqlite"))?;
    let mut world = World::load(&disk, urls.clone())?;
    world.stopped_at = options.stopped_at;
    let recorder = options.record.as_deref().map(Recorder::create).transpose().map_err(data)?;
    let stopping = CancellationToken::new();
    let sim = Sim::new(Inner {
        store: Mutex::new(Store { world, disk }),
        urls,
        git: Git::new(folder.join("repositories")),
        data: folder,
        locks: Mutex::default(),
        calls: Calls::default(),
        rate_limits: RateLimits::default(),
        recorder,
        wake: tokio::sync::Notify::new(),
        stopping: stopping.clone(),
        tasks: tokio_util::task::TaskTracker::new(),
    });
    setup::prepare(&sim, &options)?;
    push::take_in_all(&sim).await?;
    webhooks::start_delivering(&sim);
    ci::start(&sim);
    pulls::start_async_merges(&sim);
    let description = setup::description(&sim);
    write_description(sim.data(), &description).map_err(data)?;
    let router = router(&sim);
    let server = {
        let stopping = stopping.clone();
        tokio::spawn(async move { http::serve(listener, router, stopping.cancelled_owned()).await })
    };
    Ok(Running { sim, address, stopping, server, _exclusive: exclusive })
}

fn router(sim: &Sim) -> Router {
    // GitHub does not say which methods a path has: one that it has not is a path that does not exist.
    let api = rest::routes()
        .fallback(not_found)
        .method_not_allowed_fallback(not_found)
        .layer(from_fn_with_state(sim.clone(), api_pipeline));
    let graphql = |path: &str| {
        graphql::routes(path)
            .method_not_allowed_fallback(not_found)
            .layer(from_fn_with_state(sim.clone(), api_pipeline))
    };
    Router::new()
        .nest("/api/v3", api.clone())
        .merge(api)
        .merge(graphql("/graphql"))
        .merge(graphql("/api/graphql"))
        .merge(http::git_routes().layer(from_fn(http::catch_panics)))
        .merge(pages::routes().layer(from_fn(http::catch_panics)))
        .nest("/_sim", control::routes())
        .with_state(sim.clone())
}

async fn not_found() -> ApiError {
    ApiError::not_found()
}

fn take_exclusively(folder: &Path) -> Result<std::fs::File, StartError> {
    let path = folder.join("sim.lock");
    let source = |source| StartError::Data { path: path.clone(), source };
    let file = std::fs::File::options().create(true).truncate(false).write(true).open(&path).map_err(source)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StartError::InUse { path: folder.to_owned() }),
        Err(std::fs::TryLockError::Error(error)) => Err(source(error)),
    }
}

/// Whoever waits for `sim.json` sees all of it or nothing.
fn write_description(folder: &Path, description: &serde_json::Value) -> std::io::Result<()> {
    let text = serde_json::to_string_pretty(&json!(description))?;
    let new = folder.join("sim.json.new");
    std::fs::write(&new, text + "\n")?;
    std::fs::rename(new, folder.join("sim.json"))
}
