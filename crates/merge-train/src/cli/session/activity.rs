//! Whether a program does anything, or waits for its person: seen by what CPU it and all that it started use.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// A program that waits for its person may still blink: less than this share of one CPU is nothing.
const NOTHING_PERCENT: u64 = 1;
/// In `/proc` the kernel counts in hundredths of a second, on every architecture.
const TICKS_PER_SECOND: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    Working,
    Nothing,
}

/// What a program was last seen doing.
pub struct ActivityMonitor {
    root: u32,
    idle_after: Duration,
    last_used: HashMap<Process, u64>,
    looked_at: Instant,
    active_at: Instant,
}

/// Numbers of processes come again; with the time of its start one is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Process {
    pid: u32,
    started: u64,
}

impl ActivityMonitor {
    pub fn of(root: Pid, idle_after: Duration) -> Self {
        let now = Instant::now();
        let root = root.as_raw_nonzero().get().unsigned_abs();
        Self { root, idle_after, last_used: HashMap::new(), looked_at: now, active_at: now }
    }

    /// Looks at what has happened since the last look.
    pub fn look(&mut self) -> ProgramState {
        let used = tree(&all(Path::new("/proc")), self.root);
        self.record(used, Instant::now())
    }

    fn record(&mut self, used: HashMap<Process, u64>, now: Instant) -> ProgramState {
        let passed = now.duration_since(self.looked_at);
        let spent: u64 =
            used.iter().map(|(it, ticks)| ticks - self.last_used.get(it).copied().unwrap_or(0).min(*ticks)).sum();
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let nothing = millis.saturating_mul(TICKS_PER_SECOND) / 1000 * NOTHING_PERCENT / 100;
        // One that has ended is not there to be asked any more.
        let has_changed = self.last_used.keys().any(|it| !used.contains_key(it));
        if spent > nothing || has_changed {
            self.active_at = now;
        }
        (self.last_used, self.looked_at) = (used, now);
        if now.duration_since(self.active_at) >= self.idle_after {
            ProgramState::Nothing
        } else {
            ProgramState::Working
        }
    }
}

/// A process as `/proc` shows it.
#[derive(Debug, PartialEq, Eq)]
struct ProcessSample {
    process: Process,
    parent: u32,
    ticks: u64,
}

fn all(proc: &Path) -> Vec<ProcessSample> {
    let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
    let numbers = entries.filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    numbers.filter_map(|entry| read(&std::fs::read_to_string(entry.path().join("stat")).ok()?)).collect()
}

/// Reads `/proc/PID/stat`. The name of the program, in parentheses, may have anything in it.
fn read(stat: &str) -> Option<ProcessSample> {
    let (before, after) = (stat.split_once(" (")?.0, stat.rsplit_once(')')?.1);
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let process = Process { pid: before.parse().ok()?, started: number(19)? };
    Some(ProcessSample { process, parent: u32::try_from(number(1)?).ok()?, ticks: number(11)? + number(12)? })
}

/// The CPU that a process and all that it started have used.
fn tree(all: &[ProcessSample], root: u32) -> HashMap<Process, u64> {
    let mut found = HashMap::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        let Some(sample) = all.iter().find(|sample| sample.process.pid == pid) else { continue };
        if found.insert(sample.process, sample.ticks).is_none() {
            waiting.extend(all.iter().filter(|sample| sample.parent == pid).map(|sample| sample.process.pid));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pid: u32, parent: u32, ticks: u64) -> ProcessSample {
        ProcessSample { process: Process { pid, started: 1 }, parent, ticks }
    }

    #[test]
    fn a_process_is_read_whatever_its_program_is_called() {
        let stat =
            "42 (a ) (b) c) S 7 42 42 0 -1 4194304 100 0 0 0 5 6 70 80 20 0 1 0 12345 1000 100 18446744073709551615";
        let expected = ProcessSample { process: Process { pid: 42, started: 12345 }, parent: 7, ticks: 11 };
        assert_eq!(read(stat), Some(expected));
        assert_eq!(read("42 (x"), None);
        assert!(
            all(Path::new("/proc")).iter().any(|sample| sample.process.pid == std::process::id()),
            "this very process"
        );
    }

    #[test]
    fn all_that_a_program_started_counts_and_nothing_else() {
        let all = [sample(1, 0, 9), sample(2, 1, 10), sample(3, 2, 20), sample(4, 3, 30), sample(5, 1, 40)];
        let mut used: Vec<u64> = tree(&all, 2).into_values().collect();
        used.sort_unstable();
        assert_eq!(used, [10, 20, 30]);
    }

    #[test]
    fn whoever_uses_no_cpu_for_long_enough_is_idle_and_whoever_stirs_is_not() {
        let mut activity = ActivityMonitor::of(Pid::from_raw(2).expect("a number"), Duration::from_secs(60));
        let begun = activity.looked_at;
        let mut at = |seconds: u64, processes: &[ProcessSample]| {
            let used = processes.iter().map(|sample| (sample.process, sample.ticks)).collect();
            activity.record(used, begun + Duration::from_secs(seconds))
        };
        assert_eq!(at(1, &[sample(2, 1, 50)]), ProgramState::Working);
        assert_eq!(at(59, &[sample(2, 1, 60)]), ProgramState::Working, "it did little");
        assert_eq!(at(62, &[sample(2, 1, 60)]), ProgramState::Nothing);
        assert_eq!(at(72, &[sample(2, 1, 70)]), ProgramState::Nothing, "it blinked");
        assert_eq!(at(73, &[sample(2, 1, 90)]), ProgramState::Working);
        assert_eq!(at(134, &[sample(2, 1, 90)]), ProgramState::Nothing);
        assert_eq!(at(135, &[sample(2, 1, 90), sample(3, 2, 2)]), ProgramState::Working, "it started another");
        assert_eq!(at(136, &[sample(2, 1, 90)]), ProgramState::Working);
        assert_eq!(at(195, &[sample(2, 1, 90)]), ProgramState::Working, "that one ended less than a minute ago");
        assert_eq!(at(197, &[sample(2, 1, 90)]), ProgramState::Nothing);
    }
}
