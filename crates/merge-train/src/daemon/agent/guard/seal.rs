//! Sealing a command off from the daemon: its files with mounts or with Landlock, its processes with Landlock, and what listens
//! on a UNIX socket with a filter for calls.
//!
//! A thread of the guard seals itself off and starts the command: what a thread starts is sealed off as it is, and the rest of
//! the guard is not. So the guard can look at the command and end it, and the command can do neither to the guard, nor to
//! anything else that it did not start.
//!
//! The thread stays, for what it alone can do: see [`SealedProcessKiller`].

use std::fmt::Display;
use std::io;
use std::process::Child;
use std::sync::mpsc;

use super::super::guard_protocol::Seal;
use super::system_calls::{self, FilterOutcome, RefusedCalls, SignalRefusal};

/// A command that was started.
pub struct StartedCommand {
    pub child: Child,
    pub sealing: Sealing,
    /// Why no call is refused to it, where that is so.
    pub unfiltered: Option<&'static str>,
}

pub enum Sealing {
    NotAskedFor,
    Sealed(Option<SealedProcessKiller>),
    /// This system cannot.
    Unavailable(String),
}

/// Kills all that comes of a sealed command at one stroke, however fast it multiplies: whoever kills one after the other, in
/// turn with all of them, may never be done.
///
/// The stroke is at everything that the thread may signal at all, and that is what is sealed off as it is.
pub struct SealedProcessKiller(mpsc::Sender<()>);

impl SealedProcessKiller {
    pub fn strike(&self) {
        let _ = self.0.send(());
    }
}

/// Has `start` called by a thread that is sealed off. `open` is told before of what cannot be sealed, and why.
pub fn start_sealed(
    seal: Seal,
    start: impl FnOnce() -> io::Result<Child> + Send + 'static,
    open: fn(&str, &str),
) -> io::Result<StartedCommand> {
    let (strokes, ordered) = mpsc::channel();
    let (result, started) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let sealing = restrict_this_thread(&seal);
        let strikes = matches!(&sealing, Ok((Sealed::Fully, _)));
        let _ = result.send(sealing.and_then(|(sealing, unfiltered)| {
            if let Sealed::Not(why) = &sealing {
                open("this command is not sandboxed", why);
            }
            if let Some(why) = unfiltered {
                open("this command can connect to whatever of the daemon's user listens on a UNIX socket", why);
            }
            Ok((start()?, sealing, unfiltered))
        }));
        if strikes {
            ordered.into_iter().for_each(|()| landlock::strike());
        }
    })?;
    let (child, sealed, unfiltered) = started.recv().map_err(|_| io::Error::other("its guard failed"))??;
    let sealing = match sealed {
        Sealed::Fully => Sealing::Sealed(Some(SealedProcessKiller(strokes))),
        Sealed::FilesOnly => Sealing::Sealed(None),
        Sealed::Not(why) => Sealing::Unavailable(why),
    };
    Ok(StartedCommand { child, sealing, unfiltered })
}

/// How far it is sealed off, and why no call is refused to it, where that is so.
fn restrict_this_thread(seal: &Seal) -> io::Result<(Sealed, Option<&'static str>)> {
    let sealed = landlock::restrict_this_thread(seal)?;
    let signals = match sealed {
        Sealed::Fully => SignalRefusal::BoundOtherwise,
        Sealed::FilesOnly | Sealed::Not(_) => SignalRefusal::ToThisProcess,
    };
    let unfiltered = match system_calls::refuse(&RefusedCalls { sockets: seal.unix_sockets, signals }) {
        Ok(FilterOutcome::Refuses) => None,
        Ok(FilterOutcome::Unavailable(why)) => Some(why),
        Err(error) => return Err(cannot(error)),
    };
    Ok((sealed, unfiltered))
}

fn cannot(error: impl Display) -> io::Error {
    io::Error::other(format!("it cannot be sandboxed ({error})"))
}

/// How far a thread is sealed off.
enum Sealed {
    /// It can signal nothing that it did not start.
    Fully,
    /// It may be able to.
    FilesOnly,
    Not(String),
}

#[cfg(target_os = "linux")]
mod landlock {
    use std::io;

    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetStatus, Scope,
    };
    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, getppid, kill_process_group, test_kill_process};

    use super::super::sealed_paths::{PathKind, SealedPaths};
    use super::super::{cover, privileges};
    use super::{Seal, Sealed, cannot};

    pub fn restrict_this_thread(seal: &Seal) -> io::Result<Sealed> {
        let places = SealedPaths::of(seal).and_then(cover::cover).map_err(cannot)?;
        // The kernel lets a superuser read of any process what Landlock would not; and what is covered could be uncovered.
        privileges::give_up().map_err(cannot)?;
        // Without the second version a file could not be moved from one folder to another, and git could not push.
        let needed = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V2));
        let Ok(needed) = needed else {
            let why = "this kernel has no Landlock, or an old one, or it is switched off";
            let but = if places.sealed.is_empty() { "; only the daemon's files are hidden from it" } else { "" };
            return Ok(Sealed::Not(format!("{why}{but}")));
        };
        let bounds_signals =
            Ruleset::default().set_compatibility(CompatLevel::HardRequirement).scope(Scope::Signal).is_ok();
        let all = AccessFs::from_all(ABI::V9);
        let mut rules = needed
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(all)
            // Of the sockets that have a name and no place, if it may have any, it reaches its own.
            .and_then(|rules| rules.scope(Scope::Signal | Scope::AbstractUnixSocket))
            .and_then(Ruleset::create)
            .map_err(cannot)?;
        // What is covered needs no rules. All the same there are some: without any the kernel would let it mount.
        let allow = |place, kind| {
            let access = match kind {
                PathKind::Folder => all,
                PathKind::File => all & AccessFs::from_file(ABI::V9),
            };
            (&mut rules).add_rule(PathBeneath::new(place, access)).map_err(io::Error::other).map(drop)
        };
        places.open(allow).map_err(cannot)?;
        let daemon = getppid();
        let could_signal_it = daemon.is_some_and(|daemon| test_kill_process(daemon).is_ok());
        if rules.restrict_self().map_err(cannot)?.ruleset == RulesetStatus::NotEnforced {
            return Err(cannot("the kernel did not do it"));
        }
        let can_signal_it = daemon.is_none_or(|daemon| test_kill_process(daemon) != Err(Errno::PERM));
        let is_bound = bounds_signals && could_signal_it && !can_signal_it;
        Ok(if is_bound { Sealed::Fully } else { Sealed::FilesOnly })
    }

    /// Kills all that this thread may signal.
    ///
    /// **Invariant:** only a thread calls it that could signal the daemon, which started this process, before it was sealed off,
    /// and could not afterwards: seen, and not only concluded from what the kernel says it can do. Any other would kill all that the user runs.
    pub fn strike() {
        // Group 1 stands for all processes, but for the first, and for this one with all its threads.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
    }
}

#[cfg(not(target_os = "linux"))]
mod landlock {
    use super::{Seal, Sealed};

    pub fn restrict_this_thread(_: &Seal) -> std::io::Result<Sealed> {
        Ok(Sealed::Not("this system is not Linux".to_owned()))
    }

    pub fn strike() {}
}
