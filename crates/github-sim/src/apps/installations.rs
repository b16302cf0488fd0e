//! Where an app is installed. Whoever changes that does it here, so that the app is told.

use std::collections::BTreeSet;

use crate::http::ApiError;
use crate::setup;
use crate::webhooks::emit::{self, InstallationAction};
use crate::world::{Id, Installation, Repo, Selection, TokenHolder, World};

/// Installs an app; it can be installed once on an account.
pub fn add(world: &mut World, app: Id, account: Id, selection: Selection, sender: Id) -> Result<Id, ApiError> {
    if world.installations.within(0).any(|found| found.app == app && found.account == account) {
        return Err(ApiError::validation("Installation", "account", "already_exists"));
    }
    let id = setup::install(world, app, account, selection);
    emit::installation(world, id, sender, InstallationAction::Created);
    Ok(id)
}

/// Takes an app off an account; its tokens are worth nothing from then on.
pub fn remove(world: &mut World, id: Id, sender: Id) -> Result<(), ApiError> {
    world.installations.get(0, id).ok_or_else(ApiError::not_found)?;
    emit::installation(world, id, sender, InstallationAction::Deleted);
    world.installations.remove(0, id);
    let tokens = world
        .tokens
        .within(0)
        .filter(|token| matches!(&token.holder, TokenHolder::Installation { installation, .. } if *installation == id));
    for token in tokens.map(|token| token.id).collect::<Vec<_>>() {
        world.tokens.remove(0, token);
    }
    Ok(())
}

pub fn suspend(world: &mut World, id: Id, sender: Id) -> Result<(), ApiError> {
    let now = world.now;
    let installation = world.installations.edit(0, id).ok_or_else(ApiError::not_found)?;
    if installation.suspended_at.is_none() {
        installation.suspended_at = Some(now);
        installation.updated_at = now;
        emit::installation(world, id, sender, InstallationAction::Suspend);
    }
    Ok(())
}

pub fn unsuspend(world: &mut World, id: Id, sender: Id) -> Result<(), ApiError> {
    let now = world.now;
    let installation = world.installations.edit(0, id).ok_or_else(ApiError::not_found)?;
    if installation.suspended_at.take().is_some() {
        installation.updated_at = now;
        emit::installation(world, id, sender, InstallationAction::Unsuspend);
    }
    Ok(())
}

/// Changes which repositories an installation covers.
pub fn select(world: &mut World, id: Id, selection: Selection, sender: Id) -> Result<(), ApiError> {
    let installation = world.installations.get(0, id).ok_or_else(ApiError::not_found)?;
    let before: BTreeSet<Id> = covered(world, installation).map(|repo| repo.id).collect();
    let now = world.now;
    let installation = world.installations.edit(0, id).expect("found a moment ago");
    installation.selection = selection;
    installation.updated_at = now;
    let installation = world.installations.get(0, id).expect("found a moment ago");
    let after: BTreeSet<Id> = covered(world, installation).map(|repo| repo.id).collect();
    let added: Vec<Id> = after.difference(&before).copied().collect();
    let removed: Vec<Id> = before.difference(&after).copied().collect();
    emit::installation_repositories(world, id, sender, &added, &removed);
    Ok(())
}

/// The repositories an installation covers.
pub fn covered<'w>(world: &'w World, installation: &'w Installation) -> impl Iterator<Item = &'w Repo> {
    world.repos.within(0).filter(|repo| repo.owner == installation.account && installation.covers(repo.id))
}

/// The installation through which an app reaches a repository.
pub fn on_repo<'w>(world: &'w World, app: Id, repo: &Repo) -> Option<&'w Installation> {
    let installed = |found: &&Installation| found.app == app && found.account == repo.owner && found.covers(repo.id);
    world.installations.within(0).find(installed)
}
