//! `/_sim/users`, `/_sim/orgs`: GitHub has no endpoint that makes people.

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Sim;
use crate::http::{self, ApiError, ApiResult, Body};
use crate::setup::{add_account, add_user_token};
use crate::world::{Account, AccountKind, Id, OrgRole, TokenHolder, World};

pub fn routes() -> Router<Sim> {
    Router::new().route("/users", get(list).post(create_user)).route("/orgs", post(create_org))
}

/// Users with their tokens, organizations with their members.
async fn list(State(sim): State<Sim>) -> ApiResult {
    let all: Vec<Value> = sim.read(|world| {
        let accounts = world.accounts.within(0).filter(|account| account.kind != AccountKind::Bot);
        accounts.map(|account| shown(world, account)).collect()
    });
    Ok(http::json(200, &all.into()))
}

fn shown(world: &World, account: &Account) -> Value {
    let mut value = json!({ "id": account.id, "login": account.login, "name": account.name, "email": account.email });
    if account.kind == AccountKind::Organization {
        let members = account.members.iter().map(|(id, role)| (world.account(*id).login.clone(), json!(role)));
        value["type"] = "Organization".into();
        value["members"] = members.collect();
    } else {
        value["type"] = "User".into();
        value["site_admin"] = account.site_admin.into();
        value["token"] = known_token(world, account.id).into();
    }
    value
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewUser {
    login: String,
    name: Option<String>,
    email: Option<String>,
    #[serde(default)]
    site_admin: bool,
}

/// Makes a user and a token for them. Asking again for the same login answers with the same user and token.
async fn create_user(State(sim): State<Sim>, Body(new): Body<NewUser>) -> ApiResult {
    check_login(&new.login)?;
    let answer = sim.write(|world| {
        let known = world.account_named(&new.login).map(|account| (account.id, account.kind));
        let id = match known {
            Some((id, AccountKind::User)) => id,
            Some(_) => return Err(ApiError::validation("User", "login", "already_exists")),
            None => add_account(world, &new.login, AccountKind::User),
        };
        let account = world.accounts.edit(0, id).expect("found or just added");
        account.name = new.name.or(account.name.take());
        account.email = new.email.or(account.email.take());
        account.site_admin |= new.site_admin;
        let token = token_of(world, id);
        let account = world.account(id);
        Ok(json!({ "id": id, "login": account.login, "token": token, "site_admin": account.site_admin }))
    })?;
    Ok(http::json(201, &answer))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewOrg {
    login: String,
    /// The owners' logins.
    #[serde(default)]
    admins: Vec<String>,
    #[serde(default)]
    members: Vec<String>,
}

async fn create_org(State(sim): State<Sim>, Body(new): Body<NewOrg>) -> ApiResult {
    check_login(&new.login)?;
    let answer = sim.write(|world| {
        if world.account_named(&new.login).is_some() {
            return Err(ApiError::validation("Organization", "login", "already_exists"));
        }
        let mut members = std::collections::BTreeMap::new();
        let people = new.members.iter().map(|login| (login, OrgRole::Member));
        for (login, role) in people.chain(new.admins.iter().map(|login| (login, OrgRole::Admin))) {
            let person =
                world.account_named(login).ok_or_else(|| ApiError::validation("Organization", "members", "invalid"))?;
            members.insert(person.id, role);
        }
        let id = add_account(world, &new.login, AccountKind::Organization);
        world.accounts.edit(0, id).expect("just added").members = members;
        Ok(json!({ "id": id, "login": new.login }))
    })?;
    Ok(http::json(201, &answer))
}

/// GitHub's rule for logins: letters, digits and single hyphens, 39 at most.
fn check_login(login: &str) -> Result<(), ApiError> {
    let fits = (1..=39).contains(&login.len())
        && login.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !login.starts_with('-')
        && !login.ends_with('-');
    if fits { Ok(()) } else { Err(ApiError::validation("User", "login", "invalid")) }
}

fn token_of(world: &mut World, user: Id) -> String {
    match known_token(world, user) {
        Some(secret) => secret.to_owned(),
        None => add_user_token(world, user),
    }
}

fn known_token(world: &World, user: Id) -> Option<&str> {
    let is_theirs = |holder: &TokenHolder| matches!(holder, TokenHolder::User { user: holder } if *holder == user);
    let known = world.tokens.within(0).find(|token| token.expires_at.is_none() && is_theirs(&token.holder));
    known.map(|token| token.secret.as_str())
}
