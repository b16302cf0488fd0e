//! Making an app from a manifest, as a person does it: look at what it asks for, agree, go back to the app's server
//! with a code.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::PageError;
use super::layout::page;
use crate::http::{ApiError, Path, Query};
use crate::world::{AccountKind, World};
use crate::{Sim, apps};

#[derive(Deserialize)]
pub struct Flow {
    /// Handed back with the code.
    state: Option<String>,
}

#[derive(Deserialize)]
pub struct Proposal {
    manifest: String,
    /// What the form of our own page adds; without it there is something to agree to first.
    agreed: Option<String>,
    name: Option<String>,
    owner: Option<String>,
}

pub async fn for_user(
    State(sim): State<Sim>,
    Query(flow): Query<Flow>,
    axum::Form(proposal): axum::Form<Proposal>,
) -> Result<Response, PageError> {
    answer(&sim, &flow, &proposal, None)
}

pub async fn for_organization(
    State(sim): State<Sim>,
    Path(org): Path<String>,
    Query(flow): Query<Flow>,
    axum::Form(proposal): axum::Form<Proposal>,
) -> Result<Response, PageError> {
    answer(&sim, &flow, &proposal, Some(&org))
}

fn answer(sim: &Sim, flow: &Flow, proposal: &Proposal, org: Option<&str>) -> Result<Response, PageError> {
    let mut manifest: Value = serde_json::from_str(&proposal.manifest)
        .map_err(|_| ApiError::unprocessable("The manifest is not a JSON object."))?;
    if !manifest.is_object() {
        return Err(ApiError::unprocessable("The manifest is not a JSON object.").into());
    }
    if let Some(name) = &proposal.name {
        manifest["name"] = name.as_str().into();
    }
    let back = manifest["redirect_url"].as_str().and_then(|url| reqwest::Url::parse(url).ok());
    let mut back = back.ok_or_else(|| ApiError::unprocessable("The manifest has no redirect_url."))?;
    if proposal.agreed.is_none() {
        return sim.read(|world| Ok(form(world, &manifest, org)?.into_response()));
    }
    let owner = org.or(proposal.owner.as_deref()).unwrap_or_default();
    let code = sim.write(|world| {
        let owner = world.account_named(owner).ok_or_else(ApiError::not_found)?.id;
        apps::propose(world, owner, manifest)
    })?;
    back.query_pairs_mut().append_pair("code", &code);
    if let Some(state) = &flow.state {
        back.query_pairs_mut().append_pair("state", state);
    }
    Ok(Redirect::to(back.as_str()).into_response())
}

fn form(world: &World, manifest: &Value, org: Option<&str>) -> Result<Markup, ApiError> {
    let owners: Vec<&str> = match org {
        Some(org) => vec![world.account_named(org).ok_or_else(ApiError::not_found)?.login.as_str()],
        None => {
            let people = world.accounts.within(0).filter(|account| account.kind == AccountKind::User);
            people.map(|account| account.login.as_str()).collect()
        }
    };
    let list = |value: &Value| -> Vec<String> {
        match value {
            Value::Object(members) => {
                members.iter().map(|(name, level)| format!("{name}: {}", level.as_str().unwrap_or_default())).collect()
            }
            Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    };
    let name = manifest["name"].as_str().unwrap_or_default();
    Ok(page(
        "Create GitHub App",
        html! {
            h1 { "Create GitHub App" }
            form method="post" {
                input type="hidden" name="manifest" value=(manifest.to_string());
                input type="hidden" name="agreed" value="yes";
                p { label { "Name " input name="name" required value=(name); } }
                p { label { "Owner " select name="owner" { @for owner in owners { option { (owner) } } } } }
                @for (title, items) in [("Permissions", list(&manifest["default_permissions"])), ("Events", list(&manifest["default_events"]))] {
                    @if !items.is_empty() {
                        h2 { (title) }
                        ul { @for item in items { li { (item) } } }
                    }
                }
                button type="submit" { "Create GitHub App" }
            }
        },
    ))
}
