//! How often each endpoint was called.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::Method;
use axum::routing::{get, post};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;

use crate::Sim;
use crate::http::{self, ApiResult, Query, repository_in};

#[derive(Default)]
pub struct Calls {
    /// By repository (in small letters, empty for calls about none) and `METHOD template`.
    counts: Mutex<BTreeMap<(String, String), u64>>,
    serial: AtomicU64,
}

impl Calls {
    /// `template` is the route with GitHub's parameter names; `path` what was asked for.
    pub fn count(&self, method: &Method, template: &str, path: &str) {
        tracing::debug!(%method, path, "call");
        self.serial.fetch_add(1, Ordering::Relaxed);
        let key = (repository_in(path).to_lowercase(), format!("{method} {template}"));
        *self.counts.lock().entry(key).or_default() += 1;
    }

    /// How many calls there were since the start.
    pub fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// By `METHOD template`; only those about one repository, if one is named.
    fn counts(&self, repository: Option<&str>) -> BTreeMap<String, u64> {
        let repository = repository.map(str::to_lowercase);
        let mut sums = BTreeMap::new();
        for ((about, call), count) in &*self.counts.lock() {
            if repository.as_ref().is_none_or(|wanted| wanted == about) {
                *sums.entry(call.clone()).or_default() += count;
            }
        }
        sums
    }

    fn reset(&self) {
        self.counts.lock().clear();
    }
}

pub fn routes() -> Router<Sim> {
    Router::new().route("/calls", get(show).delete(forget)).route("/rate_limit/reset", post(reset_rate_limits))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    repository: Option<String>,
}

async fn show(State(sim): State<Sim>, Query(filter): Query<Filter>) -> ApiResult {
    let counts = sim.calls().counts(filter.repository.as_deref());
    // What git itself fetches and pushes is no call of the API, and no rate limit counts it.
    let (git, calls): (BTreeMap<_, _>, BTreeMap<_, _>) =
        counts.into_iter().partition(|(call, _)| call.contains(".git/"));
    Ok(http::json(200, &json!({ "total": calls.values().sum::<u64>(), "calls": calls, "git": git })))
}

async fn forget(State(sim): State<Sim>) -> ApiResult {
    sim.calls().reset();
    Ok(http::no_content())
}

async fn reset_rate_limits(State(sim): State<Sim>) -> ApiResult {
    sim.rate_limits().reset();
    Ok(http::no_content())
}
