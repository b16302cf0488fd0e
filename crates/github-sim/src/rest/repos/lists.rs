//! Whose repositories there are.

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use crate::http::{self, ApiError, ApiResult, Caller, Page, Path, Query, role_of};
use crate::world::{AccountKind, Repo, World};
use crate::{Sim, present};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    visibility: Option<String>,
    affiliation: Option<String>,
    r#type: Option<String>,
    sort: Option<String>,
    direction: Option<String>,
}

/// `GET /user/repos`: those the caller has to do with, not everything that is public.
pub async fn of_caller(State(sim): State<Sim>, caller: Caller, Query(wanted): Query<Wanted>, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?.id;
        let affiliation = wanted.affiliation.as_deref().unwrap_or("owner,collaborator,organization_member");
        let affiliations: Vec<&str> = affiliation.split(',').map(str::trim).collect();
        let belongs = |repo: &&Repo| {
            let owner = world.account(repo.owner);
            let member = owner.kind == AccountKind::Organization && owner.members.contains_key(&user);
            affiliations.contains(&"owner") && repo.owner == user
                || affiliations.contains(&"collaborator") && repo.collaborators.contains_key(&user)
                || affiliations.contains(&"organization_member") && member
        };
        let repos = world.repos.all().filter(belongs).collect();
        Ok(show(world, &caller, repos, &wanted, &page))
    })
}

pub async fn of_user(
    State(sim): State<Sim>,
    caller: Caller,
    Path(username): Path<String>,
    Query(wanted): Query<Wanted>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let account = world.account_named(&username).ok_or_else(ApiError::not_found)?;
        let member = wanted.r#type.as_deref() == Some("member");
        let belongs = |repo: &&Repo| match member {
            true => repo.collaborators.contains_key(&account.id),
            false => repo.owner == account.id,
        };
        let repos = world.repos.all().filter(belongs).filter(|repo| is_visible(world, &caller, repo)).collect();
        Ok(show(world, &caller, repos, &wanted, &page))
    })
}

pub async fn of_org(
    State(sim): State<Sim>,
    caller: Caller,
    Path(org): Path<String>,
    Query(wanted): Query<Wanted>,
    page: Page,
) -> ApiResult {
    sim.read(|world| {
        let org = world
            .account_named(&org)
            .filter(|account| account.kind == AccountKind::Organization)
            .ok_or_else(ApiError::not_found)?;
        let repos = world.repos.all().filter(|repo| repo.owner == org.id && is_visible(world, &caller, repo)).collect();
        Ok(show(world, &caller, repos, &wanted, &page))
    })
}

fn is_visible(world: &World, caller: &Caller, repo: &Repo) -> bool {
    let owner = &world.account(repo.owner).login;
    let seen = http::readable_repo(world, caller, owner, &repo.name).is_ok();
    seen && match caller {
        Caller::User { user } => role_of(world, repo, *user).is_some(),
        _ => true,
    }
}

fn show(world: &World, caller: &Caller, mut repos: Vec<&Repo>, wanted: &Wanted, page: &Page) -> Response {
    let visibility = wanted.visibility.as_deref().or(wanted.r#type.as_deref());
    repos.retain(|repo| match visibility {
        Some("private") => repo.private,
        Some("public") => !repo.private,
        Some("forks") => repo.parent.is_some(),
        Some("sources") => repo.parent.is_none(),
        _ => true,
    });
    let sort = wanted.sort.as_deref().unwrap_or("full_name");
    match sort {
        "created" => repos.sort_by_key(|repo| (repo.created_at, repo.id)),
        "updated" => repos.sort_by_key(|repo| (repo.updated_at, repo.id)),
        "pushed" => repos.sort_by_key(|repo| (repo.pushed_at, repo.id)),
        _ => repos.sort_by_key(|repo| world.full_name(repo).to_lowercase()),
    }
    let ascending = match wanted.direction.as_deref() {
        Some(direction) => direction == "asc",
        None => sort == "full_name",
    };
    if !ascending {
        repos.reverse();
    }
    page.of(&repos, |repo| present::listed_repo(world, caller, repo))
}
