//! What a crash left behind, and when it goes.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use merge_train_core::ids::PrNumber;

use super::folder;
use super::name::{ALL_REFS, Name};
use super::place::{Place, on_disk};
use crate::Error;

impl Place {
    pub(super) async fn sweep(
        &self,
        active: &BTreeSet<PrNumber>,
        max_age: Duration,
        now: SystemTime,
    ) -> Result<Vec<PrNumber>, Error> {
        let is_active = |name: &Name| matches!(name, Name::Stack(root) if active.contains(root));
        let worktrees = self.worktrees.clone();
        let found = on_disk("looking for worktrees", move || dated(&worktrees)).await?;
        let mut removed = Vec::new();
        for (name, modified) in found {
            let age = age(modified, now, max_age);
            if is_active(&name) || age <= max_age {
                continue;
            }
            let path = self.path(&name);
            tracing::info!(path = %path.display(), age_hours = age.as_secs() / 3600, "removing stale worktree");
            match (self.discard(&name).await, name) {
                (Ok(()), Name::Stack(root)) => removed.push(root),
                (Ok(()), Name::Plan(_)) => {}
                // One that cannot go must not keep the others.
                (Err(error), _) => {
                    tracing::warn!(path = %path.display(), %error, "a stale worktree could not be removed");
                }
            }
        }
        let base = self.base.clone();
        on_disk("removing half-made worktrees", move || sweep_in_between(&base, now, max_age)).await?;
        if self.clone.join("HEAD").exists() {
            self.git.on(&self.clone, ["worktree", "prune"]).run().await?;
            self.sweep_refs(is_active).await?;
        }
        Ok(removed)
    }

    /// Deletes refs whose worktree is gone. A worktree is made before its first ref, so that these are left over.
    async fn sweep_refs(&self, is_active: impl Fn(&Name) -> bool) -> Result<(), Error> {
        let mut refs = self.refs(ALL_REFS).await?;
        refs.retain(|name| {
            Name::of_ref(name).is_some_and(|name| !is_active(&name) && self.path(&name).symlink_metadata().is_err())
        });
        if !refs.is_empty() {
            tracing::info!(refs = refs.len(), "removing refs that no worktree owns");
        }
        self.delete_refs(&refs).await
    }
}

/// Removes what was on its way in or out when the process ended.
fn sweep_in_between(base: &Path, now: SystemTime, max_age: Duration) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(base) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let is_old = || Ok::<_, std::io::Error>(age(entry.metadata()?.modified()?, now, max_age) > max_age);
        if folder::is_in_between(&entry.file_name()) && is_old()? {
            folder::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// How old something is. What was changed since somebody looked at the clock is new; what lies further in the future
/// than anything may be in the past was not dated by a clock that can be trusted, and counts as old.
fn age(modified: SystemTime, now: SystemTime, max_age: Duration) -> Duration {
    match now.duration_since(modified) {
        Ok(age) => age,
        Err(ahead) if ahead.duration() <= max_age => Duration::ZERO,
        Err(_) => Duration::MAX,
    }
}

/// The worktrees in a folder and when each was last changed, in the order of their names.
fn dated(worktrees: &Path) -> std::io::Result<Vec<(Name, SystemTime)>> {
    let entries = match std::fs::read_dir(worktrees) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Some(name) = entry.file_name().to_str().and_then(Name::parse) else { continue };
        // One that has just gone needs no sweeping.
        if let Ok(metadata) = entry.metadata() {
            found.push((name, metadata.modified()?));
        }
    }
    found.sort();
    Ok(found)
}
