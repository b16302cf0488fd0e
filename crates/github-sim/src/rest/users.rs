//! People and organizations.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::http::{self, ApiError, ApiResult, Caller, Page, Path, Query, iso};
use crate::world::{Account, AccountKind, Id, OrgRole, World};
use crate::{Sim, present};

pub fn routes() -> Router<Sim> {
    Router::new()
        .route("/user", get(current))
        .route("/user/emails", get(emails))
        .route("/user/orgs", get(own_orgs))
        .route("/user/memberships/orgs", get(memberships))
        .route("/users", get(list))
        .route("/users/{username}", get(show))
        .route("/users/{username}/orgs", get(orgs_of))
        .route("/orgs/{org}", get(show_org))
        .route("/orgs/{org}/members", get(members))
        .route("/orgs/{org}/members/{username}", get(is_member))
}

async fn current(State(sim): State<Sim>, caller: Caller) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?;
        let mut value = present::public_user(world, user);
        let private = world.repos.within(0).filter(|repo| repo.owner == user.id && repo.private).count();
        let more = json!({
            "private_gists": 0,
            "total_private_repos": private,
            "owned_private_repos": private,
            "disk_usage": 0,
            "collaborators": 0,
            "two_factor_authentication": true,
        });
        present::merge(&mut value, more);
        Ok(http::json(200, &value))
    })
}

async fn emails(State(sim): State<Sim>, caller: Caller, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?;
        let noreply = user.noreply_email();
        let primary = user.email.clone();
        let mut all = vec![json!({
            "email": noreply, "primary": primary.is_none(), "verified": true, "visibility": null,
        })];
        if let Some(email) = primary {
            all.insert(0, json!({ "email": email, "primary": true, "verified": true, "visibility": "public" }));
        }
        Ok(page.of(&all, Value::clone))
    })
}

fn orgs(world: &World, user: Id) -> Vec<&Account> {
    world.accounts.within(0).filter(|account| account.members.contains_key(&user)).collect()
}

async fn own_orgs(State(sim): State<Sim>, caller: Caller, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?.id;
        Ok(page.of(&orgs(world, user), |org| present::organization(world, org)))
    })
}

async fn orgs_of(State(sim): State<Sim>, Path(login): Path<String>, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = world.account_named(&login).ok_or_else(ApiError::not_found)?.id;
        Ok(page.of(&orgs(world, user), |org| present::organization(world, org)))
    })
}

async fn memberships(State(sim): State<Sim>, caller: Caller, page: Page) -> ApiResult {
    sim.read(|world| {
        let user = caller.user(world)?.id;
        Ok(page.of(&orgs(world, user), |org| {
            let organization = present::organization(world, org);
            json!({
                "url": world.urls.api(format!("/orgs/{}/memberships/{}", org.login, world.account(user).login)),
                "state": "active",
                "role": org.members[&user],
                "organization_url": organization["url"],
                "organization": organization,
                "user": present::simple_user(world, user),
            })
        }))
    })
}

#[derive(Deserialize)]
struct Since {
    since: Option<Id>,
}

async fn list(State(sim): State<Sim>, Query(from): Query<Since>, page: Page) -> ApiResult {
    sim.read(|world| {
        let after = from.since.unwrap_or(0);
        let all: Vec<&Account> =
            world.accounts.within(0).filter(|account| account.id > after && account.kind != AccountKind::Bot).collect();
        Ok(page.of(&all, |account| present::simple_user(world, account.id)))
    })
}

async fn show(State(sim): State<Sim>, Path(login): Path<String>) -> ApiResult {
    sim.read(|world| {
        let account = world.account_named(&login).ok_or_else(ApiError::not_found)?;
        Ok(http::json(200, &present::public_user(world, account)))
    })
}

fn org_named<'w>(world: &'w World, login: &str) -> Result<&'w Account, ApiError> {
    let account = world.account_named(login).filter(|account| account.kind == AccountKind::Organization);
    account.ok_or_else(ApiError::not_found)
}

async fn show_org(State(sim): State<Sim>, Path(login): Path<String>) -> ApiResult {
    sim.read(|world| {
        let org = org_named(world, &login)?;
        let repos = world.repos.within(0).filter(|repo| repo.owner == org.id && !repo.private).count();
        let mut value = present::organization(world, org);
        let more = json!({
            "name": org.display_name(),
            "html_url": world.urls.web(format!("/{}", org.login)),
            "has_organization_projects": false,
            "has_repository_projects": false,
            "public_repos": repos,
            "public_gists": 0,
            "followers": 0,
            "following": 0,
            "type": "Organization",
            "created_at": iso(org.created_at),
            "updated_at": iso(org.created_at),
            "archived_at": null,
        });
        present::merge(&mut value, more);
        Ok(http::json(200, &value))
    })
}

#[derive(Deserialize)]
struct MemberFilter {
    role: Option<String>,
}

async fn members(
    State(sim): State<Sim>,
    Path(login): Path<String>,
    Query(filter): Query<MemberFilter>,
    page: Page,
) -> ApiResult {
    let wanted = match filter.role.as_deref() {
        None | Some("all") => None,
        Some("admin") => Some(OrgRole::Admin),
        Some("member") => Some(OrgRole::Member),
        Some(_) => return Err(ApiError::validation("OrganizationMember", "role", "invalid")),
    };
    sim.read(|world| {
        let org = org_named(world, &login)?;
        let all: Vec<Id> = org
            .members
            .iter()
            .filter(|(_, role)| wanted.is_none_or(|wanted| wanted == **role))
            .map(|(id, _)| *id)
            .collect();
        Ok(page.of(&all, |id| present::simple_user(world, *id)))
    })
}

/// 204 for a member, 404 for anyone else.
async fn is_member(State(sim): State<Sim>, Path((login, user)): Path<(String, String)>) -> ApiResult {
    sim.read(|world| {
        let org = org_named(world, &login)?;
        let user = world.account_named(&user).ok_or_else(ApiError::not_found)?;
        if org.members.contains_key(&user.id) { Ok(http::no_content()) } else { Err(ApiError::not_found()) }
    })
}
