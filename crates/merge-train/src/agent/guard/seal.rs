//! Sealing a command off from the daemon, with Landlock.
//!
//! A thread of the guard seals itself off and starts the command: what a thread starts is sealed off as it is, and the rest of
//! the guard is not. So the guard can look at the command and end it, and the command can do neither to the guard, nor to
//! anything else that it did not start.

use std::io;
use std::process::Child;

use super::super::order::Seal;

/// A command that was started.
pub struct Started {
    pub child: Child,
    pub sealing: Sealing,
}

pub enum Sealing {
    Sealed,
    /// This system cannot.
    Unavailable(String),
}

/// Has `start` called by a thread that is sealed off. `unsealed` is told before, where that cannot be.
pub fn start_sealed(
    seal: &Seal,
    start: impl FnOnce() -> io::Result<Child> + Send,
    unsealed: impl FnOnce(&str) + Send,
) -> io::Result<Started> {
    let sealed_start = || {
        let sealing = restrict_this_thread(seal)?;
        if let Sealing::Unavailable(why) = &sealing {
            unsealed(why);
        }
        Ok(Started { child: start()?, sealing })
    };
    std::thread::scope(|scope| scope.spawn(sealed_start).join())
        .unwrap_or_else(|_| Err(io::Error::other("its guard failed")))
}

#[cfg(target_os = "linux")]
fn restrict_this_thread(seal: &Seal) -> io::Result<Sealing> {
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetStatus, Scope,
    };

    // The kernel lets a superuser read of any process what Landlock would not.
    super::privileges::give_up().map_err(cannot)?;
    // Without the second version a file could not be moved from one folder to another, and git could not push.
    let needed =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(ABI::V2));
    let Ok(needed) = needed else {
        return Ok(Sealing::Unavailable(
            "this kernel has no Landlock, or an old one, or it is switched off".to_owned(),
        ));
    };
    let all = AccessFs::from_all(ABI::V9);
    let mut rules = needed
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::Signal))
        .and_then(Ruleset::create)
        .map_err(cannot)?;
    super::places::open(seal, |place, kind| {
        let access = match kind {
            super::places::Kind::Folder => all,
            super::places::Kind::File => all & AccessFs::from_file(ABI::V9),
        };
        (&mut rules).add_rule(PathBeneath::new(place, access)).map_err(cannot).map(drop)
    })?;
    let status = rules.restrict_self().map_err(cannot)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(cannot("the kernel did not do it"));
    }
    Ok(Sealing::Sealed)
}

#[cfg(not(target_os = "linux"))]
fn restrict_this_thread(_: &Seal) -> io::Result<Sealing> {
    Ok(Sealing::Unavailable("this system is not Linux".to_owned()))
}

#[cfg(target_os = "linux")]
fn cannot(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("it cannot be sealed off ({error})"))
}
