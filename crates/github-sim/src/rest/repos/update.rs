//! Changing and deleting a repository.

use axum::extract::State;
use serde::Deserialize;

use super::create::{checked_name, refuse_taken};
use super::settings::RepoSettings;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path, Scope};
use crate::world::{Repo, World};
use crate::{Sim, present};

#[derive(Deserialize)]
pub struct Changes {
    name: Option<String>,
    default_branch: Option<String>,
    archived: Option<bool>,
    #[serde(flatten)]
    settings: RepoSettings,
}

pub async fn update(
    State(sim): State<Sim>,
    caller: Caller,
    Path((owner, name)): Path<(String, String)>,
    Body(changes): Body<Changes>,
) -> ApiResult {
    let id = sim.read(|world| administered(world, &caller, &owner, &name).map(|repo| repo.id))?;
    // The default branch stands in git too: nobody may delete it meanwhile.
    let _guard = sim.lock(id).await;
    let default_branch = changes.default_branch.clone();
    let value = sim.write(|world| {
        let mut repo = administered(world, &caller, &owner, &name)?.clone();
        apply(world, &mut repo, changes)?;
        repo.updated_at = world.now;
        world.repos.insert(repo);
        let repo = world.repo(id).ok_or_else(ApiError::not_found)?;
        Ok(present::full_repo(world, &caller, repo))
    })?;
    if let Some(branch) = default_branch {
        sim.git(id).set_default_branch(&branch).await?;
    }
    Ok(http::json(200, &value))
}

fn apply(world: &World, repo: &mut Repo, changes: Changes) -> Result<(), ApiError> {
    if repo.archived && changes.archived != Some(false) {
        return Err(ApiError::forbidden("Repository was archived so is read-only."));
    }
    if let Some(archived) = changes.archived {
        repo.archived = archived;
    }
    if let Some(name) = changes.name {
        let name = checked_name(&name)?;
        if !name.eq_ignore_ascii_case(&repo.name) {
            refuse_taken(world, repo.owner, &name)?;
        }
        repo.name = name;
    }
    if let Some(branch) = changes.default_branch {
        // An empty repository's default branch is the one its first push will make.
        if world.branch(repo.id, &branch).is_none() && !world.refs(repo.id).refs.is_empty() {
            return Err(ApiError::validation_message(
                "Repository",
                format!(
                    "The branch {branch} was not found. Please push that ref first or create it via the Git Data API."
                ),
            ));
        }
        repo.default_branch = branch;
    }
    changes.settings.apply(repo)
}

pub async fn delete(State(sim): State<Sim>, caller: Caller, Path((owner, name)): Path<(String, String)>) -> ApiResult {
    let id = sim.read(|world| administered(world, &caller, &owner, &name).map(|repo| repo.id))?;
    let _guard = sim.lock(id).await;
    sim.write(|world| {
        administered(world, &caller, &owner, &name)?;
        world.remove_repo(id);
        Ok(())
    })?;
    sim.git(id).delete().await?;
    Ok(http::no_content())
}

/// The repository, archived or not, for someone who may change its settings.
fn administered<'w>(world: &'w World, caller: &Caller, owner: &str, name: &str) -> Result<&'w Repo, ApiError> {
    let repo = http::readable_repo(world, caller, owner, name)?;
    http::may(world, caller, repo, Scope::Administration, Level::Admin)?;
    Ok(repo)
}
