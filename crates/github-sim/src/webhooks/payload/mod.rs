//! What webhooks say. Built from the presenters of the REST API; where a webhook's form of a thing is older or smaller,
//! what it does not know is taken out.

mod check;
mod complete;
mod installation;
mod pull;
mod push;
mod talk;

pub use check::{check_run, check_suite, status, workflow_run};
pub use complete::complete;
pub use installation::{app_ping, installation, installation_repositories, ping};
pub use pull::{pull_request, review, review_comment, review_thread};
pub use push::{push, ref_changed};
pub use talk::{issue_comment, issues, label_changed};

use serde_json::{Value, json};

use super::audience::Event;
use crate::present;
use crate::world::{Account, AccountKind, Repo, World};

/// The event's own members, between the action and what every payload has.
pub fn framed(world: &World, event: &Event, own: Value) -> Value {
    let mut payload = json!({});
    if let Some(action) = event.action {
        payload["action"] = action.into();
    }
    present::merge(&mut payload, own);
    if let Some(repo) = world.repo(event.repo) {
        // A push writes its repository differently.
        if payload.get("repository").is_none() {
            payload["repository"] = repository(world, repo);
        }
        if let Some(owner) = organization_of(world, repo) {
            payload["organization"] = present::organization(world, owner);
        }
    }
    payload["sender"] = present::simple_user(world, event.sender);
    payload
}

pub fn repository(world: &World, repo: &Repo) -> Value {
    let mut value = present::repo(world, repo);
    value["custom_properties"] = json!({});
    value
}

fn organization_of<'w>(world: &'w World, repo: &Repo) -> Option<&'w Account> {
    Some(world.account(repo.owner)).filter(|owner| owner.kind == AccountKind::Organization)
}

/// Takes out what the webhook's form of a thing does not have.
pub fn without(mut value: Value, names: &[&str]) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|name, _| !names.contains(&name.as_str()));
    }
    value
}

/// In a pull request, a repository also says how it merges.
fn merging_repository(world: &World, repo: &Repo) -> Value {
    let mut value = repository(world, repo);
    present::merge(&mut value, present::merge_settings(repo));
    value
}

/// Webhooks know less of an app.
fn old_app(app: &mut Value) {
    *app = without(app.take(), &["client_id"]);
}

/// The app through which something was said, in a thing that has one.
fn with_old_app(mut value: Value) -> Value {
    old_app(&mut value["performed_via_github_app"]);
    value
}
