//! All that comes of a command, however it hides: in the background, in a session of its own, without a parent.

use std::collections::HashSet;
use std::fs;

use rustix::process::{
    Pid, Signal, getpgid, getpgrp, getpid, kill_process, kill_process_group, test_kill_process_group,
};

use super::seal::SealedProcessKiller;

/// How far a guard can see.
#[derive(Clone, Copy, PartialEq)]
pub enum TreeVisibility {
    /// Whoever loses its parent becomes a child of the guard: no child left means nothing left.
    Tree,
    /// Only the group of the command: this system knows no more.
    Group,
}

impl TreeVisibility {
    /// To be called before anything is started.
    pub fn claim() -> Self {
        if can_list_children() && becomes_reaper() { Self::Tree } else { Self::Group }
    }
}

#[cfg(target_os = "linux")]
fn becomes_reaper() -> bool {
    rustix::process::set_child_subreaper(Some(getpid())).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn becomes_reaper() -> bool {
    false
}

/// A kernel can be built without these lists, and a container can be without `/proc`.
fn can_list_children() -> bool {
    let id = getpid();
    fs::read_to_string(format!("/proc/{id}/task/{id}/children")).is_ok()
}

pub struct ProcessTree {
    reach: TreeVisibility,
    command: Pid,
    killer: Option<SealedProcessKiller>,
    /// Who was asked to end.
    asked: HashSet<Pid>,
}

impl ProcessTree {
    pub fn new(reach: TreeVisibility, command: Pid, killer: Option<SealedProcessKiller>) -> Self {
        Self { reach, command, killer, asked: HashSet::new() }
    }

    /// Asks every process to end.
    pub fn terminate(&mut self) {
        match self.reach {
            TreeVisibility::Group => drop(kill_process_group(self.command, Signal::TERM)),
            TreeVisibility::Tree => self.ask(descendants(usize::MAX)),
        }
    }

    /// Asks those to end whose parent died meanwhile, each once. What one starts that was asked and still lives is how it
    /// cleans up.
    pub fn terminate_orphans(&mut self) {
        if self.reach == TreeVisibility::Tree {
            self.ask(children(getpid()));
        }
    }

    fn ask(&mut self, processes: impl IntoIterator<Item = Pid>) {
        for process in processes.into_iter().filter(|process| self.asked.insert(*process)) {
            let _ = kill_process(process, Signal::TERM);
        }
    }

    /// Kills every child of the guard, with its group. What those had started become children by that: call it until none is
    /// left. Only children are killed, since only the number of a child cannot mean another process by now.
    pub fn kill(&self) {
        if let Some(killer) = &self.killer {
            killer.strike();
        }
        if self.reach == TreeVisibility::Group {
            let _ = kill_process_group(self.command, Signal::KILL);
            return;
        }
        for child in children(getpid()) {
            // The whole group at one stroke, so that none can fork away from it; never the group of the guard itself.
            if let Some(group) = getpgid(Some(child)).ok().filter(|group| *group != getpgrp()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = kill_process(child, Signal::KILL);
        }
    }

    /// Whether something of the command lives that is not a child of the guard.
    pub fn has_strays(&self) -> bool {
        self.reach == TreeVisibility::Group && test_kill_process_group(self.command).is_ok()
    }
}

/// What comes of this process, but no more than `most` of it.
pub fn descendants(most: usize) -> HashSet<Pid> {
    let mut found = HashSet::new();
    let mut unseen = children(getpid());
    while let Some(pid) = unseen.pop()
        && found.len() < most
    {
        if found.insert(pid) {
            unseen.extend(children(pid));
        }
    }
    found
}

/// What the threads of a process have started, or were given. A process that ends meanwhile has none.
fn children(parent: Pid) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(pid).collect::<Vec<_>>()).collect()
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}
