//! What ties those who take things in to the workers: who is to be woken, and who waits for the end of what.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use merge_train_core::ids::{StreamId, TenantId};
use merge_train_core::inbox::Key;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::workers::Urgency;

/// A request, and who made it.
type WaitingRequest = (TenantId, Key);
/// A worker to be woken, and how loudly.
type Wake = (StreamId, Urgency);

/// Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Link {
    wakes: UnboundedSender<Wake>,
    woken: Arc<Mutex<Option<UnboundedReceiver<Wake>>>>,
    waiting: Arc<Mutex<HashMap<WaitingRequest, Weak<Notify>>>>,
    stirred: Arc<Notify>,
}

impl Default for Link {
    fn default() -> Self {
        let (wakes, woken) = unbounded_channel();
        Self { wakes, woken: Arc::new(Mutex::new(Some(woken))), waiting: Arc::default(), stirred: Arc::default() }
    }
}

impl Link {
    /// Something waits for a worker.
    pub fn wake(&self, stream: &StreamId, urgency: Urgency) {
        // Where no driver runs, the next one looks for itself.
        let _ = self.wakes.send((stream.clone(), urgency));
    }

    /// What is woken, for the one driver that there is.
    pub(super) fn woken(&self) -> Option<UnboundedReceiver<Wake>> {
        self.woken.lock().take()
    }

    /// Hears of the end of a request from now on.
    pub fn listen(&self, request: WaitingRequest) -> Arc<Notify> {
        let mut waiting = self.waiting.lock();
        if let Some(bell) = waiting.get(&request).and_then(Weak::upgrade) {
            return bell;
        }
        waiting.retain(|_, bell| bell.strong_count() > 0);
        let bell = Arc::new(Notify::new());
        waiting.insert(request, Arc::downgrade(&bell));
        bell
    }

    /// Rings whenever a run changes in this process.
    pub fn stirred(&self) -> Arc<Notify> {
        self.stirred.clone()
    }

    /// A run has changed.
    pub(super) fn stir(&self) {
        self.stirred.notify_waiters();
    }

    /// A request has come to its end.
    pub(super) fn tell(&self, request: &WaitingRequest) {
        if let Some(bell) = self.waiting.lock().remove(request).and_then(|bell| bell.upgrade()) {
            bell.notify_waiters();
        }
    }
}
