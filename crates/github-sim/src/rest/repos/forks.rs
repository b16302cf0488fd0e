//! Forks: a repository of one's own with the same history.

use axum::extract::State;
use serde::Deserialize;

use super::create::{blank, checked_name, insert, refuse_taken};
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Page, Path, Query, Scope};
use crate::world::{Id, Repo, RepoRefs, World};
use crate::{Sim, present};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Order {
    sort: Option<String>,
}

pub async fn list(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Query(order): Query<Order>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let source = http::repo(world, &caller, &owner, &name, Scope::Metadata, Level::Read)?;
        let visible = |fork: &&Repo| {
            let owner = &world.account(fork.owner).login;
            fork.parent == Some(source.id) && http::readable_repo(world, &caller, owner, &fork.name).is_ok()
        };
        let mut forks: Vec<&Repo> = world.repos.all().filter(visible).collect();
        forks.sort_by_key(|fork| fork.id);
        if order.sort.as_deref() != Some("oldest") {
            forks.reverse();
        }
        Ok(page.of(&forks, |fork| present::listed_repo(world, &caller, fork)))
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct NewFork {
    organization: Option<String>,
    name: Option<String>,
    default_branch_only: bool,
}

/// Answers 202 as GitHub does, where the copying goes on in the background; here it is done.
pub async fn create(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(new): Body<NewFork>,
) -> ApiResult {
    let (source, target, actor) = sim.read(|world| {
        let source = http::repo(world, &caller, &owner, &name, Scope::Contents, Level::Read)?.clone();
        let actor = caller.actor()?;
        Ok::<_, ApiError>((source, target_of(world, &caller, actor, &new)?, actor))
    })?;
    if source.owner == target {
        return Err(ApiError::forbidden("You cannot fork a repository into the account that owns it."));
    }
    let known = sim.read(|world| {
        let fork = world.repos.all().find(|fork| fork.owner == target && fork.parent == Some(source.id));
        fork.map(|fork| present::full_repo(world, &caller, fork))
    });
    if let Some(fork) = known {
        return Ok(http::json(202, &fork));
    }
    let name = checked_name(new.name.as_deref().unwrap_or(&source.name))?;
    let fork = sim.write(|world| {
        refuse_taken(world, target, &name)?;
        let id = world.next_id();
        let mut fork = blank(world, id, target, name);
        fork.parent = Some(source.id);
        fork.private = source.private;
        fork.description.clone_from(&source.description);
        fork.default_branch.clone_from(&source.default_branch);
        // As on GitHub, where a fork's issues are off at first.
        fork.has_issues = false;
        Ok(fork)
    })?;
    let id = fork.id;
    let stored = store(&sim, &source, fork, actor, new.default_branch_only).await;
    if stored.is_err() {
        sim.git(id).delete().await?;
    }
    stored?;
    sim.read(|world| {
        let fork = world.repo(id).ok_or_else(ApiError::not_found)?;
        Ok(http::json(202, &present::full_repo(world, &caller, fork)))
    })
}

fn target_of(world: &World, caller: &Caller, actor: Id, new: &NewFork) -> Result<Id, ApiError> {
    let Some(organization) = &new.organization else { return caller.user(world).map(|user| user.id) };
    let org =
        world.account_named(organization).ok_or_else(|| ApiError::validation("Fork", "organization", "invalid"))?;
    if org.members.contains_key(&actor) {
        Ok(org.id)
    } else {
        Err(ApiError::forbidden("You need admin access to the organization before adding a repository to it."))
    }
}

async fn store(sim: &Sim, source: &Repo, fork: Repo, actor: Id, default_branch_only: bool) -> Result<(), ApiError> {
    let git = sim.git(fork.id);
    git.init(&fork.default_branch).await?;
    {
        let _unmoved = sim.lock(source.id).await;
        git.fork_from(&sim.git(source.id)).await?;
    }
    let mut refs = git.refs().await?;
    if default_branch_only {
        let kept = format!("refs/heads/{}", source.default_branch);
        let gone = refs.iter().filter(|(name, _)| **name != kept).map(|(name, sha)| crate::git::RefChange {
            name: name.clone(),
            old: Some(sha.clone()),
            new: None,
        });
        git.update_refs(&gone.collect::<Vec<_>>()).await?;
        refs.retain(|name, _| *name == kept);
    }
    sim.write(|world| {
        refuse_taken(world, fork.owner, &fork.name)?;
        let id = fork.id;
        insert(world, fork, actor);
        // What came with the fork was not pushed: nobody hears of it.
        world.refs.insert(RepoRefs { repo: id, refs });
        Ok(())
    })
}
