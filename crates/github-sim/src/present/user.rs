//! Accounts.

use serde_json::{Value, json};

use crate::http::{encode, iso};
use crate::world::{Account, AccountKind, Id, NodeKind, World, node_id};

/// `simple-user`.
pub fn simple_user(world: &World, id: Id) -> Value {
    user(world, world.account(id))
}

fn user(world: &World, account: &Account) -> Value {
    let Account { id, login, kind, .. } = account;
    let api = |path: &str| world.urls.api(format!("/users/{}{path}", encode(login)));
    let (node, kind) = match kind {
        AccountKind::User => (NodeKind::User, "User"),
        AccountKind::Organization => (NodeKind::Organization, "Organization"),
        AccountKind::Bot => (NodeKind::Bot, "Bot"),
    };
    let html = match login.strip_suffix("[bot]") {
        Some(slug) => world.urls.web(format!("/apps/{slug}")),
        None => world.urls.web(format!("/{login}")),
    };
    json!({
        "login": login,
        "id": id,
        "node_id": node_id(node, 0, *id),
        "avatar_url": world.urls.web(format!("/avatars/u/{id}?v=4")),
        "gravatar_id": "",
        "url": api(""),
        "html_url": html,
        "followers_url": api("/followers"),
        "following_url": api("/following{/other_user}"),
        "gists_url": api("/gists{/gist_id}"),
        "starred_url": api("/starred{/owner}{/repo}"),
        "subscriptions_url": api("/subscriptions"),
        "organizations_url": api("/orgs"),
        "repos_url": api("/repos"),
        "events_url": api("/events{/privacy}"),
        "received_events_url": api("/received_events"),
        "type": kind,
        "site_admin": account.site_admin,
    })
}

/// GitHub's account for what is committed in the browser or by a merge. Nobody can be it, so it is in no table.
pub fn web_flow(world: &World) -> Value {
    let account = Account {
        id: 19_864_447,
        login: "web-flow".into(),
        kind: AccountKind::User,
        name: Some("GitHub".into()),
        email: None,
        site_admin: false,
        members: std::collections::BTreeMap::new(),
        created_at: jiff::Timestamp::UNIX_EPOCH,
    };
    user(world, &account)
}

/// `public-user`, what `GET /user` and `GET /users/{username}` answer.
pub fn public_user(world: &World, account: &Account) -> Value {
    let repos = world.repos.all().filter(|repo| repo.owner == account.id && !repo.private).count();
    let mut value = user(world, account);
    let more = json!({
        "name": account.name,
        "company": null,
        "blog": "",
        "location": null,
        "email": account.email,
        "hireable": null,
        "bio": null,
        "public_repos": repos,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": iso(account.created_at),
        "updated_at": iso(account.created_at),
    });
    merge(&mut value, more);
    value
}

/// `organization-simple`.
pub fn organization(world: &World, account: &Account) -> Value {
    let api = |path: &str| world.urls.api(format!("/orgs/{}{path}", account.login));
    json!({
        "login": account.login,
        "id": account.id,
        "node_id": node_id(NodeKind::Organization, 0, account.id),
        "url": api(""),
        "repos_url": api("/repos"),
        "events_url": api("/events"),
        "hooks_url": api("/hooks"),
        "issues_url": api("/issues"),
        "members_url": api("/members{/member}"),
        "public_members_url": api("/public_members{/member}"),
        "avatar_url": world.urls.web(format!("/avatars/u/{}?v=4", account.id)),
        "description": null,
    })
}

/// Adds the members of one object to another.
pub fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}
