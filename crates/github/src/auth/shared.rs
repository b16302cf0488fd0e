//! Values that cost a call to get: gotten once for all who ask at the same time, and kept while they are good.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::{Class, Error};

/// Something that may have to be gotten again.
pub(super) trait Perishable {
    /// Good enough not to get another.
    fn is_fresh(&self, now: Instant) -> bool;
    /// Good enough while no other can be gotten.
    fn is_usable(&self, now: Instant) -> bool;
}

pub(super) struct Shared<K, V> {
    slots: Mutex<HashMap<K, Arc<tokio::sync::Mutex<Slot<V>>>>>,
}

struct Slot<V> {
    value: Option<V>,
    failed: Option<(Instant, Error)>,
}

impl<V> Default for Slot<V> {
    fn default() -> Self {
        Self { value: None, failed: None }
    }
}

impl<K: Hash + Eq + Clone, V: Perishable + Clone> Shared<K, V> {
    pub(super) fn new() -> Self {
        Self { slots: Mutex::new(HashMap::new()) }
    }

    /// The value of `key`, by `get` if there is no fresh one. Whoever comes while it is being gotten waits for that.
    pub(super) async fn get<Fut>(&self, key: &K, get: impl FnOnce() -> Fut) -> Result<V, Error>
    where
        Fut: Future<Output = Result<V, Error>>,
    {
        let came = Instant::now();
        let slot = Arc::clone(self.slots.lock().entry(key.clone()).or_default());
        let mut slot = slot.lock().await;
        if let Some(value) = slot.value.as_ref().filter(|value| value.is_fresh(Instant::now())) {
            return Ok(value.clone());
        }
        if let Some((_, error)) = slot.failed.as_ref().filter(|(at, _)| *at > came) {
            return Err(error.clone());
        }
        match get().await {
            Ok(value) => {
                *slot = Slot { value: Some(value.clone()), failed: None };
                Ok(value)
            }
            Err(error) => {
                let usable = slot.value.as_ref().filter(|value| value.is_usable(Instant::now()));
                if let (Class::Transient, Some(value)) = (error.class(), usable) {
                    return Ok(value.clone());
                }
                *slot = Slot { value: None, failed: Some((Instant::now(), error.clone())) };
                Err(error)
            }
        }
    }

    /// Takes out a value that turned out to be bad, unless it was replaced already.
    pub(super) async fn spoiled(&self, key: &K, bad: impl Fn(&V) -> bool) {
        let slot = self.slots.lock().get(key).cloned();
        if let Some(slot) = slot {
            let mut slot = slot.lock().await;
            if slot.value.as_ref().is_some_and(bad) {
                slot.value = None;
            }
        }
    }

    pub(super) fn forget(&self, forgotten: impl Fn(&K) -> bool) {
        self.slots.lock().retain(|key, _| !forgotten(key));
    }
}
