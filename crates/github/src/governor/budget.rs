//! GitHub's primary rate limit: so many points in a window, counted for REST and GraphQL apart.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::{Priority, Resource};

/// The `x-ratelimit-*` headers of one answer.
#[derive(Debug, Clone)]
pub(crate) struct Quota {
    pub resource: Resource,
    pub limit: u64,
    pub remaining: u64,
    /// When the window ends, in seconds since 1970: names the window.
    pub reset_epoch: u64,
    /// The same, from the server's own present: its clock and ours may differ.
    pub resets_in: Duration,
}

#[derive(Debug, Clone)]
pub(super) struct Window {
    pub limit: u64,
    pub remaining: u64,
    epoch: u64,
    pub resets_at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Budget {
    windows: HashMap<Resource, Window>,
    in_flight: HashMap<Resource, u64>,
}

impl Budget {
    /// When a call of this priority may spend a point: none means now.
    pub(super) fn available_at(&self, resource: Resource, priority: Priority, now: Instant) -> Option<Instant> {
        let window = self.windows.get(&resource)?;
        let reserve = window.limit * priority.reserve_per_mille() / 1000;
        (window.resets_at > now && window.remaining <= reserve).then_some(window.resets_at)
    }

    pub(super) fn spend(&mut self, resource: Resource, now: Instant) {
        *self.in_flight.entry(resource).or_default() += 1;
        if let Some(window) = self.windows.get_mut(&resource) {
            if window.resets_at <= now {
                window.remaining = window.limit;
            }
            window.remaining = window.remaining.saturating_sub(1);
        }
    }

    /// A call came back. What GitHub says is the truth, less what is still under way.
    pub(super) fn settle(&mut self, resource: Resource, quota: Option<&Quota>, now: Instant) {
        let in_flight = self.in_flight.entry(resource).or_default();
        *in_flight = in_flight.saturating_sub(1);
        let Some(quota) = quota else { return };
        // An answer of the window before, overtaken by one of the next.
        if self.windows.get(&quota.resource).is_some_and(|known| known.epoch > quota.reset_epoch) {
            return;
        }
        let under_way = self.in_flight.get(&quota.resource).copied().unwrap_or(0);
        let window = Window {
            limit: quota.limit,
            remaining: quota.remaining.saturating_sub(under_way),
            epoch: quota.reset_epoch,
            resets_at: now + quota.resets_in,
        };
        self.windows.insert(quota.resource, window);
    }

    pub(super) fn window(&self, resource: Resource) -> Option<&Window> {
        self.windows.get(&resource)
    }
}
