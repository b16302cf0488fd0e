//! An app from a manifest: someone agrees to it and gets a code, the app's server turns the code into the app.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use crate::http::ApiError;
use crate::setup::{AppKey, add_account, new_app};
use crate::webhooks::{Config, emit};
use crate::world::{AccountKind, App, AppManifest, AppWebhook, Id, World};

/// How long a code is good for, as on GitHub.
const CODE_LIFETIME: SignedDuration = SignedDuration::from_hours(1);

#[derive(Debug, Deserialize)]
struct Manifest {
    name: Option<String>,
    url: String,
    description: Option<String>,
    hook_attributes: Option<HookAttributes>,
    #[serde(default)]
    default_events: Vec<String>,
    #[serde(default)]
    default_permissions: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct HookAttributes {
    url: Option<String>,
    active: Option<bool>,
}

/// Keeps a manifest; the code that stands for it.
pub fn propose(world: &mut World, owner: Id, manifest: Value) -> Result<String, ApiError> {
    let read = read(&manifest)?;
    let name = read.name.unwrap_or_default();
    let slug = slug_of(&name);
    if slug.is_empty() {
        return Err(refused("name", "is missing"));
    }
    if world.apps.within(0).any(|app| app.slug == slug) || world.account_named(&format!("{slug}[bot]")).is_some() {
        return Err(refused("name", "is already taken"));
    }
    let (id, code, created_at) = (world.next_id(), world.random_alphanumeric(40).to_lowercase(), world.now);
    world.app_manifests.insert(AppManifest { id, code: code.clone(), owner, manifest, created_at });
    Ok(code)
}

/// Makes the app that the code stands for.
pub fn convert(world: &mut World, code: &str, key: &AppKey) -> Result<App, ApiError> {
    let found = world.app_manifests.within(0).find(|found| found.code == code).cloned();
    let found = found.ok_or_else(ApiError::not_found)?;
    if found.created_at.checked_add(CODE_LIFETIME).is_ok_and(|end| end <= world.now) {
        return Err(ApiError::not_found());
    }
    world.app_manifests.remove(0, found.id);
    let manifest = read(&found.manifest)?;
    let name = manifest.name.unwrap_or_default();
    let slug = slug_of(&name);
    let login = format!("{slug}[bot]");
    if world.account_named(&login).is_some() {
        return Err(ApiError::validation("Integration", "name", "already_exists"));
    }
    let bot = add_account(world, &login, AccountKind::Bot);
    let mut app = new_app(world, &slug, &name, found.owner, bot, key);
    app.description = manifest.description;
    app.external_url = manifest.url;
    app.events = manifest.default_events;
    app.permissions = manifest.default_permissions;
    app.permissions.entry("metadata".to_owned()).or_insert_with(|| "read".to_owned());
    let hook = manifest.hook_attributes.filter(|hook| hook.active != Some(false));
    app.webhook = AppWebhook {
        url: hook.and_then(|hook| hook.url),
        secret: Some(world.random_alphanumeric(40).to_lowercase()),
        content_type: "json".to_owned(),
        insecure_ssl: "0".to_owned(),
    };
    world.apps.insert(app.clone());
    emit::ping_app(world, app.id);
    Ok(app)
}

fn read(manifest: &Value) -> Result<Manifest, ApiError> {
    let read: Manifest =
        serde_json::from_value(manifest.clone()).map_err(|error| refused("manifest", &error.to_string()))?;
    if reqwest::Url::parse(&read.url).is_err() {
        return Err(refused("url", "must be a URL"));
    }
    let hook = read.hook_attributes.as_ref().and_then(|hook| hook.url.clone());
    Config { url: hook, ..Config::default() }.checked()?;
    for (name, level) in &read.default_permissions {
        if !matches!(level.as_str(), "read" | "write" | "admin") {
            return Err(refused("default_permissions", &format!("{name} cannot be {level}")));
        }
    }
    Ok(read)
}

fn refused(field: &str, reason: &str) -> ApiError {
    ApiError::validation_message("Integration", format!("{field} {reason}"))
}

/// `My App!` becomes `my-app`.
fn slug_of(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::slug_of;

    #[test]
    fn a_slug_is_the_name_in_small_letters_and_hyphens() {
        assert_eq!(slug_of("My App!"), "my-app");
        assert_eq!(slug_of("  a__b  "), "a-b");
        assert_eq!(slug_of("é"), "");
    }
}
