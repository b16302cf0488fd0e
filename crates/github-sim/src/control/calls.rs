//! How often each endpoint was called.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::Method;
use parking_lot::Mutex;

#[derive(Default)]
pub struct Calls {
    counts: Mutex<BTreeMap<String, u64>>,
    serial: AtomicU64,
}

impl Calls {
    /// `template` is the route with GitHub's parameter names; `path` what was asked for.
    pub fn count(&self, method: &Method, template: &str, path: &str) {
        tracing::debug!(%method, path, "call");
        self.serial.fetch_add(1, Ordering::Relaxed);
        *self.counts.lock().entry(format!("{method} {template}")).or_default() += 1;
    }

    /// How many calls there were since the start.
    pub fn serial(&self) -> u64 {
        self.serial.load(Ordering::Relaxed)
    }

    /// By `METHOD template`.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.lock().clone()
    }

    pub fn reset(&self) {
        self.counts.lock().clear();
    }
}
