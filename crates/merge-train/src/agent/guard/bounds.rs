//! How much all that comes of a command takes.
//!
//! Looked at, and not left to the kernel: a limit on address space ends programs that reserve much and use little, one on
//! the processes of a user counts those of the daemon and does not bind the superuser, and a control group is not always there.

use std::fs;
use std::time::Duration;

use rustix::process::Pid;
use tokio::time::{Interval, MissedTickBehavior};

use super::super::order::{Excess, Order};
use super::tree;

const EVERY: Duration = Duration::from_millis(200);

/// The looks that are taken at a command, if it has bounds.
pub struct Looks {
    bounds: Bounds,
    times: Interval,
}

impl Looks {
    pub fn of(order: &Order) -> Self {
        let mut times = tokio::time::interval(EVERY);
        // A guard that was kept waiting does not make up for it when the machine has the least to spare.
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { bounds: Bounds { memory_bytes: order.memory_bytes, processes: order.processes }, times }
    }

    /// Waits until there is too much of something. It may be called off, and called again.
    pub async fn exceeded(&mut self) -> Excess {
        if self.bounds.memory_bytes.is_none() && self.bounds.processes.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.times.tick().await;
            if let Some(excess) = self.bounds.exceeded() {
                return excess;
            }
        }
    }
}

struct Bounds {
    memory_bytes: Option<u64>,
    processes: Option<u32>,
}

impl Bounds {
    /// Of what there is too much now, if of anything. The dead count as processes until they are buried.
    fn exceeded(&self) -> Option<Excess> {
        let most = self.processes.map_or(usize::MAX, |most| most as usize);
        // No more are looked for than tell that there are too many: there may be very many.
        let found = tree::descendants(most.saturating_add(1));
        if found.len() > most {
            return Some(Excess::Processes);
        }
        let most = self.memory_bytes?;
        let used = found.into_iter().map(memory).fold(0, u64::saturating_add);
        (used > most).then_some(Excess::Memory)
    }
}

/// What a process holds that is in no file. What several share counts for each of them. One that is gone holds nothing.
fn memory(process: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let held = status.lines().filter_map(|line| line.strip_prefix("RssAnon:").or(line.strip_prefix("RssShmem:")));
    let kib = held.filter_map(|held| held.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.sum::<u64>().saturating_mul(1 << 10)
}
