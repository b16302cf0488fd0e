//! The running simulator: state, git, locks. Every module works through a [`Sim`].

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedMutexGuard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::control::Calls;
use crate::git::{Git, GitRepo};
use crate::http::{ApiError, RateLimits, Recorder, Urls};
use crate::world::{Disk, Id, World};

/// Whatever is spawned stops where it awaits next; longer than this and it hangs.
const WIND_DOWN: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Sim(Arc<Inner>);

pub(crate) struct Inner {
    pub store: Mutex<Store>,
    pub urls: Urls,
    pub data: PathBuf,
    pub git: Git,
    pub locks: Mutex<HashMap<Id, Arc<tokio::sync::Mutex<()>>>>,
    pub calls: Calls,
    pub rate_limits: RateLimits,
    pub recorder: Option<Recorder>,
    pub wake: Notify,
    pub stopping: CancellationToken,
    /// What runs beside the requests.
    pub tasks: TaskTracker,
}

pub(crate) struct Store {
    pub world: World,
    pub disk: Disk,
}

/// The right to move this repository's refs; there is one at a time, and it is given back with the last copy.
#[derive(Clone)]
pub struct RepoGuard {
    repo: Id,
    _held: Arc<OwnedMutexGuard<()>>,
}

impl RepoGuard {
    pub fn repo(&self) -> Id {
        self.repo
    }
}

impl Sim {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Looks at the state. Keep it short: everyone else waits.
    pub fn read<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        let mut store = self.0.store.lock();
        store.world.now = store.world.clock();
        look(&store.world)
    }

    /// Changes the state: all of what `change` did is stored before this returns, or, on an error or a panic, none of
    /// it has happened. Deliveries stored by it are sent afterwards.
    pub fn write<R>(&self, change: impl FnOnce(&mut World) -> Result<R, ApiError>) -> Result<R, ApiError> {
        let mut store = self.0.store.lock();
        let store = &mut *store;
        store.world.now = store.world.clock();
        match catch_unwind(AssertUnwindSafe(|| change(&mut store.world))) {
            Ok(Ok(value)) => {
                if let Err(error) = store.disk.save(store.world.touched()) {
                    store.world.roll_back();
                    tracing::error!(error = &error as &dyn std::error::Error, "the state could not be stored");
                    return Err(ApiError::internal());
                }
                store.world.commit();
                self.0.wake.notify_waiters();
                Ok(value)
            }
            Ok(Err(error)) => {
                store.world.roll_back();
                Err(error)
            }
            Err(panic) => {
                store.world.roll_back();
                resume_unwind(panic)
            }
        }
    }

    /// Waits for the right to move a repository's refs.
    pub async fn lock(&self, repo: Id) -> RepoGuard {
        let lock = self.0.locks.lock().entry(repo).or_default().clone();
        RepoGuard { repo, _held: Arc::new(lock.lock_owned().await) }
    }

    pub fn git(&self, repo: Id) -> GitRepo {
        self.0.git.repo(repo)
    }

    pub fn urls(&self) -> &Urls {
        &self.0.urls
    }

    pub fn calls(&self) -> &Calls {
        &self.0.calls
    }

    pub fn rate_limits(&self) -> &RateLimits {
        &self.0.rate_limits
    }

    pub fn recorder(&self) -> Option<&Recorder> {
        self.0.recorder.as_ref()
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.0.data
    }

    /// Where the log of a check run (a job) is kept.
    pub fn log_path(&self, check_run: Id) -> PathBuf {
        self.0.data.join("logs").join(format!("{check_run}.log"))
    }

    /// Resolves after the next change to the state. Take it before looking, so that no change is missed.
    pub fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.0.wake.notified()
    }

    /// Sleeps, or less when the simulator stops. For requests, which are to finish then; what is spawned sleeps as it
    /// likes, since it ends then.
    pub async fn pause(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.0.stopping.cancelled() => {}
        }
    }

    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }

    /// Runs beside the requests until the simulator stops.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let stopping = self.0.stopping.clone();
        self.0.tasks.spawn(async move {
            tokio::select! {
                () = work => {}
                () = stopping.cancelled() => {}
            }
        });
    }
}

impl Sim {
    /// Carries work to its end, even if whoever asked for it hangs up meanwhile.
    pub async fn finish<R: Send + 'static>(&self, work: impl Future<Output = R> + Send + 'static) -> R {
        match self.0.tasks.spawn(work).await {
            Ok(value) => value,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // Only a runtime that shuts down ends it otherwise, and nobody waits any more.
                Err(_) => std::future::pending().await,
            },
        }
    }

    /// Waits, once the simulator stops, until nothing that was spawned can change the state any more.
    pub(crate) async fn wind_down(&self) {
        self.0.tasks.close();
        if tokio::time::timeout(WIND_DOWN, self.0.tasks.wait()).await.is_err() {
            tracing::warn!("something still runs beside the requests; the simulator stops without it");
        }
    }
}

impl World {
    fn clock(&self) -> Timestamp {
        let ahead = self.meta.get(0, 0).map_or(0, |meta| meta.clock_offset_ms);
        let machine = self.stopped_at.unwrap_or_else(Timestamp::now);
        machine.checked_add(SignedDuration::from_millis(ahead)).unwrap_or(machine)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::extract::{Request, State};
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use tower::ServiceExt;

    use super::*;
    use crate::http::{ApiResult, api_pipeline};
    use crate::setup::{self, add_account};
    use crate::world::AccountKind;

    fn open(folder: &Path) -> Sim {
        let urls = Urls { web: "http://localhost".into() };
        let disk = Disk::open(&folder.join("sim.sqlite")).unwrap();
        let world = World::load(&disk, urls.clone()).unwrap();
        let sim = Sim::new(Inner {
            store: Mutex::new(Store { world, disk }),
            urls,
            data: folder.to_owned(),
            git: Git::new(folder.join("repositories")),
            locks: Mutex::default(),
            calls: Calls::default(),
            rate_limits: RateLimits::default(),
            recorder: None,
            wake: Notify::new(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        setup::prepare(&sim, &crate::Options::new(folder)).unwrap();
        sim
    }

    fn exists(sim: &Sim, login: &str) -> bool {
        sim.read(|world| world.account_named(login).is_some())
    }

    async fn add_and_panic(State(sim): State<Sim>) -> ApiResult {
        sim.write(|world| {
            add_account(world, "half-made", AccountKind::User);
            panic!("a mistake in a handler")
        })
    }

    #[tokio::test]
    async fn a_panic_in_a_handler_is_a_500_and_leaves_the_state_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let sim = open(folder.path());
        let router = Router::new()
            .route("/panic", post(add_and_panic))
            .layer(from_fn_with_state(sim.clone(), api_pipeline))
            .with_state(sim.clone());
        let response = router.oneshot(Request::post("/panic").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 500);
        assert!(!exists(&sim, "half-made"));

        // It goes on working, and on disk nothing of it is found either.
        sim.write(|world| Ok(add_account(world, "whole", AccountKind::User))).unwrap();
        drop(sim);
        let again = open(folder.path());
        assert!(exists(&again, "whole") && !exists(&again, "half-made"));
    }

    #[tokio::test]
    async fn an_error_in_a_change_undoes_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let sim = open(folder.path());
        let before = sim.read(|world| world.meta().last_id);
        let refused: Result<(), _> = sim.write(|world| {
            add_account(world, "half-made", AccountKind::User);
            Err(ApiError::not_found())
        });
        assert!(refused.is_err());
        assert!(!exists(&sim, "half-made"));
        assert_eq!(sim.read(|world| world.meta().last_id), before);
    }
}
