//! Branch protection: the whole of it, and its parts.

mod parts;
mod settings;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::Value;

use super::branches::branch_not_found;
use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body, Caller, Level, Path, Scope};
use crate::policy;
use crate::present;
use crate::world::{Protection, Repo, World};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/repos/{owner}/{repo}/branches/{branch}/protection", get(show).put(set).delete(remove))
        .merge(parts::routes())
}

type Place = Path<(String, String, String)>;

fn not_protected() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "Branch not protected")
}

/// The repository and the branch's protection, for someone who may look at it.
fn protected<'w>(
    world: &'w World,
    caller: &Caller,
    Path((owner, name, branch)): &Place,
) -> Result<(&'w Repo, &'w Protection), ApiError> {
    let repo = http::repo(world, caller, owner, name, Scope::Administration, Level::Read)?;
    world.branch(repo.id, branch).ok_or_else(branch_not_found)?;
    Ok((repo, policy::protection_of(repo, branch).ok_or_else(not_protected)?))
}

/// Changes an existing protection, and shows what `look` shows of it.
fn change(
    sim: &Sim,
    caller: &Caller,
    place: &Place,
    change: impl FnOnce(&World, &mut Protection) -> Result<(), ApiError>,
    look: impl FnOnce(&World, &Repo, &Protection) -> Result<Value, ApiError>,
) -> ApiResult {
    let Path((owner, name, branch)) = place;
    sim.write(|world| {
        let mut repo = http::repo(world, caller, owner, name, Scope::Administration, Level::Admin)?.clone();
        world.branch(repo.id, branch).ok_or_else(branch_not_found)?;
        let mut protection = policy::protection_of(&repo, branch).ok_or_else(not_protected)?.clone();
        change(world, &mut protection)?;
        let value = look(world, &repo, &protection)?;
        let pattern = if repo.protections.contains_key(branch) {
            branch.clone()
        } else {
            let matching = repo.protections.keys().find(|pattern| policy::fnmatch(pattern, branch));
            matching.ok_or_else(not_protected)?.clone()
        };
        repo.protections.insert(pattern, protection);
        world.repos.insert(repo);
        Ok(if value.is_null() { http::no_content() } else { http::json(200, &value) })
    })
}

async fn show(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    sim.read(|world| {
        let (repo, protection) = protected(world, &caller, &place)?;
        Ok(http::json(200, &present::protection(world, repo, &place.0.2, protection)))
    })
}

async fn set(State(sim): State<Sim>, caller: Caller, place: Place, Body(body): Body<Value>) -> ApiResult {
    let Path((owner, name, branch)) = &place;
    sim.write(|world| {
        let repo = http::repo(world, &caller, owner, name, Scope::Administration, Level::Admin)?.clone();
        world.branch(repo.id, branch).ok_or_else(branch_not_found)?;
        let protection = settings::whole(world, &body)?;
        let value = present::protection(world, &repo, branch, &protection);
        let doc = world.repos.edit(0, repo.id).expect("found in this transaction");
        doc.protections.insert(branch.clone(), protection);
        Ok(http::json(200, &value))
    })
}

async fn remove(State(sim): State<Sim>, caller: Caller, place: Place) -> ApiResult {
    let Path((owner, name, branch)) = &place;
    sim.write(|world| {
        let id = http::repo(world, &caller, owner, name, Scope::Administration, Level::Admin)?.id;
        world.branch(id, branch).ok_or_else(branch_not_found)?;
        let doc = world.repos.edit(0, id).expect("found in this transaction");
        doc.protections.remove(branch).ok_or_else(not_protected)?;
        Ok(http::no_content())
    })
}
