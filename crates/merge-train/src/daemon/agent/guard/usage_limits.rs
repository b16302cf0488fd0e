//! How much all that comes of a command takes.
//!
//! Looked at, and not left to the kernel: a limit on address space ends programs that reserve much and use little, one on
//! the processes of a user counts those of the daemon and does not bind the superuser, and a control group is not always there.

use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use tokio::time::{Interval, MissedTickBehavior};

use super::super::guard_protocol::{ExceededLimit, GuardOrder};
use super::super::memory::in_bytes;
use super::process_tree;

const EVERY: Duration = Duration::from_millis(200);

/// The looks that are taken at a command, if it has bounds.
pub struct UsageChecks {
    bounds: UsageLimits,
    times: Interval,
}

impl UsageChecks {
    pub fn of(order: &GuardOrder) -> Self {
        let mut times = tokio::time::interval(EVERY);
        // A guard that was kept waiting does not make up for it when the machine has the least to spare.
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { bounds: UsageLimits { memory_bytes: order.memory_bytes, processes: order.processes }, times }
    }

    /// Waits until there is too much of something. It may be called off, and called again.
    pub async fn exceeded(&mut self) -> ExceededLimit {
        if self.bounds.memory_bytes.is_none() && self.bounds.processes.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.times.tick().await;
            if let Some(exceeded) = self.bounds.exceeded() {
                return exceeded;
            }
        }
    }
}

struct UsageLimits {
    memory_bytes: Option<u64>,
    processes: Option<u32>,
}

impl UsageLimits {
    /// Of what there is too much now, if of anything. The dead count as processes until they are buried.
    fn exceeded(&self) -> Option<ExceededLimit> {
        let most = self.processes.map_or(usize::MAX, |most| most as usize);
        // No more are looked for than tell that there are too many: there may be very many.
        let found = process_tree::descendants(most.saturating_add(1));
        if found.len() > most {
            return Some(ExceededLimit::Processes);
        }
        let most = self.memory_bytes?;
        let used = found.into_iter().map(memory).fold(0, u64::saturating_add);
        (used > most).then_some(ExceededLimit::Memory)
    }
}

/// What a process holds that is in no file. One that is gone holds nothing.
fn memory(process: Pid) -> u64 {
    held(&fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default())
}

/// What is swapped out is held as well: only elsewhere. What several share counts for each of them.
fn held(status: &str) -> u64 {
    let parts = ["RssAnon:", "RssShmem:", "VmSwap:"];
    parts.into_iter().filter_map(|part| in_bytes(status, part)).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_file_counts_wherever_it_is() {
        let status = "Name:\tsh\nVmRSS:\t     900 kB\nRssAnon:\t     300 kB\nRssFile:\t     500 kB\n\
                      RssShmem:\t     100 kB\nVmSwap:\t      50 kB\nThreads:\t1\n";
        assert_eq!(held(status), 450 << 10);
        assert_eq!(held(""), 0);
    }
}
