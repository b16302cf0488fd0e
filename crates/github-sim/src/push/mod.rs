//! What follows from refs having moved, however they moved: by a push, by the API, by a merge.
//!
//! Every way leads through [`carry_out`]: git first says what there is to know ([`prepare`]), then one transaction
//! draws all consequences ([`consequences`]).

mod consequences;
mod prepare;
mod reviews;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::git::RefChange;
use crate::http::ApiError;
use crate::world::{Doc, Id, Key, MergeMethod, Sha};
use crate::{RepoGuard, Sim};

/// Why refs move, beyond the moving itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The pull requests that land by this.
    pub landings: Vec<Landing>,
    /// The pull requests that get another base by this.
    pub retargets: Vec<Retarget>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Landing {
    pub number: u64,
    /// What its base branch held.
    pub onto: Sha,
    /// The commit it landed as.
    pub sha: Sha,
    pub method: MergeMethod,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retarget {
    pub number: u64,
    pub base: String,
}

/// A movement that is not only a push, written down before git carries it out: after a crash it is known what it was.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intent {
    pub repo: Id,
    pub actor: Id,
    pub changes: Vec<RefChange>,
    pub cause: Cause,
}

impl Doc for Intent {
    const KIND: &'static str = "intent";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.repo }
    }
}

/// Compares git's refs with what is known of them and draws the consequences of every difference.
pub async fn take_in(sim: &Sim, guard: &RepoGuard, actor: Id) -> Result<(), ApiError> {
    let found = sim.git(guard.repo()).refs().await?;
    let changes = sim.read(|world| differences(&world.refs(guard.repo()).refs, &found));
    draw(sim, guard, actor, changes, Cause::default()).await
}

/// The same for every repository, at the start: a push may have been cut off after git had taken it.
pub async fn take_in_all(sim: &Sim) -> Result<(), crate::git::Error> {
    let repos: Vec<(Id, Id)> = sim.read(|world| world.repos.all().map(|repo| (repo.id, repo.owner)).collect());
    for (repo, owner) in repos {
        if !sim.git(repo).dir().exists() {
            continue;
        }
        let guard = sim.lock(repo).await;
        let found = sim.git(repo).refs().await?;
        let (changes, intent) =
            sim.read(|world| (differences(&world.refs(repo).refs, &found), world.intents.get(0, repo).cloned()));
        // git changes all refs of an intent or none, so one of them tells of all.
        let happened = intent.filter(|intent| intent.changes.iter().any(|change| changes.contains(change)));
        let (actor, cause) = happened.map_or((owner, Cause::default()), |intent| (intent.actor, intent.cause));
        if let Err(error) = draw(sim, &guard, actor, changes, cause).await {
            tracing::error!(repo, message = error.message, "what was pushed before the stop could not be taken in");
        }
    }
    Ok(())
}

/// Moves refs, all or none, and draws the consequences. A ref that does not hold its `old` value is a conflict (409).
pub async fn update(sim: &Sim, guard: &RepoGuard, actor: Id, changes: Vec<RefChange>) -> Result<(), ApiError> {
    carry_out(sim, guard, actor, changes, Cause::default()).await
}

/// As [`update`], with what else the movement means. Once begun it is carried to its end.
pub async fn carry_out(
    sim: &Sim,
    guard: &RepoGuard,
    actor: Id,
    changes: Vec<RefChange>,
    cause: Cause,
) -> Result<(), ApiError> {
    let (worker, guard) = (sim.clone(), guard.clone());
    sim.finish(async move { move_refs(&worker, &guard, actor, changes, cause).await }).await
}

async fn move_refs(
    sim: &Sim,
    guard: &RepoGuard,
    actor: Id,
    changes: Vec<RefChange>,
    cause: Cause,
) -> Result<(), ApiError> {
    let repo = guard.repo();
    let current = sim.read(|world| {
        let refs = &world.refs(repo).refs;
        changes.iter().all(|change| refs.get(&change.name) == change.old.as_ref())
    });
    if !current {
        return Err(ApiError::conflict("Reference was updated by someone else. Review and try again."));
    }
    if cause != Cause::default() {
        sim.write(|world| {
            world.intents.insert(Intent { repo, actor, changes: changes.clone(), cause: cause.clone() });
            Ok(())
        })?;
    }
    sim.git(repo).update_refs(&changes).await?;
    draw(sim, guard, actor, changes, cause).await
}

async fn draw(sim: &Sim, guard: &RepoGuard, actor: Id, changes: Vec<RefChange>, cause: Cause) -> Result<(), ApiError> {
    let changes: Vec<RefChange> = changes.into_iter().filter(|change| change.old != change.new).collect();
    let prepared = prepare::prepare(sim, guard, changes, &cause).await?;
    sim.write(|world| {
        world.intents.remove(0, guard.repo());
        consequences::draw(world, guard.repo(), actor, &prepared, &cause);
        Ok(())
    })
}

fn differences(known: &BTreeMap<String, Sha>, found: &BTreeMap<String, Sha>) -> Vec<RefChange> {
    let changed = found.iter().filter(|(name, sha)| known.get(*name) != Some(sha)).map(|(name, sha)| RefChange {
        name: name.clone(),
        old: known.get(name).cloned(),
        new: Some(sha.clone()),
    });
    let gone = known.iter().filter(|(name, _)| !found.contains_key(*name)).map(|(name, sha)| RefChange {
        name: name.clone(),
        old: Some(sha.clone()),
        new: None,
    });
    changed.chain(gone).collect()
}
