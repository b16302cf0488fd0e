//! What is left of a command whose guard was killed: everything that stayed in the guard's session.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long it may take until all that was killed is dead.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kills the processes of a session until none is left. Its number means no other session as long as one of them lives.
pub fn end(session: u32) {
    let began = Instant::now();
    loop {
        let left = members(session);
        if left.is_empty() || began.elapsed() > PATIENCE {
            return;
        }
        for process in left {
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::yield_now();
    }
}

fn members(session: u32) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = processes.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    ids.filter(|id| is_member(*id, session)).collect()
}

/// Whether a process is alive and in a session.
fn is_member(process: Pid, session: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    // State, parent, group and session stand behind the name, which may hold anything, a parenthesis as well.
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let is_alive = fields.next().is_some_and(|state| !matches!(state, "Z" | "X"));
    is_alive && fields.nth(2).and_then(|field| field.parse().ok()) == Some(session)
}
