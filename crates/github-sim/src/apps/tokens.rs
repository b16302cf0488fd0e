//! Installation tokens: as much as the installation may, or less.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::covered;
use crate::http::ApiError;
use crate::world::{Id, Token, TokenHolder, World};

/// GitHub narrows a token to no more repositories.
const MOST_REPOSITORIES: usize = 500;

/// What a token is asked to be narrowed to. What is left out is not narrowed.
#[derive(Debug, Default, Deserialize)]
pub struct TokenRequest {
    repositories: Option<Vec<String>>,
    repository_ids: Option<Vec<Id>>,
    permissions: Option<BTreeMap<String, String>>,
}

pub struct NewToken {
    pub secret: String,
    pub expires_at: Timestamp,
    pub permissions: BTreeMap<String, String>,
    /// The repositories it was narrowed to.
    pub repositories: Option<BTreeSet<Id>>,
}

pub fn create_token(world: &mut World, installation: Id, request: TokenRequest) -> Result<NewToken, ApiError> {
    let found = world.installations.get(0, installation).ok_or_else(ApiError::not_found)?;
    if found.suspended_at.is_some() {
        return Err(ApiError::forbidden("This installation has been suspended"));
    }
    let repositories = narrow_repositories(world, installation, &request)?;
    let permissions = match request.permissions {
        Some(wanted) if !wanted.is_empty() => narrow_permissions(&found.permissions, wanted)?,
        // PyGithub always sends an object, and GitHub takes an empty one for no wish.
        _ => found.permissions.clone(),
    };
    forget_expired(world);
    let secret = format!("ghs_{}", world.random_alphanumeric(36));
    let ttl = i64::try_from(world.settings().installation_token_ttl_s).unwrap_or(i64::MAX);
    let expires_at = world.now.checked_add(SignedDuration::from_secs(ttl)).unwrap_or(Timestamp::MAX);
    let (permissions_held, repositories_held) = (permissions.clone(), repositories.clone());
    let holder =
        TokenHolder::Installation { installation, permissions: permissions_held, repositories: repositories_held };
    let id = world.next_id();
    world.tokens.insert(Token { id, secret: secret.clone(), holder, expires_at: Some(expires_at) });
    Ok(NewToken { secret, expires_at, permissions, repositories })
}

fn narrow_repositories(
    world: &World,
    installation: Id,
    request: &TokenRequest,
) -> Result<Option<BTreeSet<Id>>, ApiError> {
    if request.repositories.is_none() && request.repository_ids.is_none() {
        return Ok(None);
    }
    let installation = world.installations.get(0, installation).ok_or_else(ApiError::not_found)?;
    let names = request.repositories.as_deref().unwrap_or_default();
    let ids = request.repository_ids.as_deref().unwrap_or_default();
    if names.len() + ids.len() > MOST_REPOSITORIES {
        return Err(ApiError::unprocessable(format!(
            "Tokens can be narrowed to at most {MOST_REPOSITORIES} repositories."
        )));
    }
    let mut narrowed = BTreeSet::new();
    let by_name =
        names.iter().map(|name| covered(world, installation).find(|repo| repo.name.eq_ignore_ascii_case(name)));
    let by_id = ids.iter().map(|id| covered(world, installation).find(|repo| repo.id == *id));
    for repo in by_name.chain(by_id) {
        let repo = repo.ok_or_else(|| {
            ApiError::unprocessable(
                "There is at least one repository that does not exist or is not accessible to the parent installation.",
            )
        })?;
        narrowed.insert(repo.id);
    }
    Ok(Some(narrowed))
}

fn narrow_permissions(
    granted: &BTreeMap<String, String>,
    mut wanted: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ApiError> {
    for (name, level) in &wanted {
        let asked = rank(level).ok_or_else(|| {
            ApiError::unprocessable(format!(
                "Invalid request.\n\n\"{level}\" is not a permission level for \"{name}\"."
            ))
        })?;
        if granted.get(name).and_then(|level| rank(level)).is_none_or(|held| asked > held) {
            return Err(ApiError::unprocessable("The permissions requested are not granted to this installation."));
        }
    }
    // Every token may at least see what there is.
    wanted.entry("metadata".to_owned()).or_insert_with(|| "read".to_owned());
    Ok(wanted)
}

fn rank(level: &str) -> Option<u8> {
    match level {
        "read" => Some(1),
        "write" => Some(2),
        "admin" => Some(3),
        _ => None,
    }
}

fn forget_expired(world: &mut World) {
    let expired: Vec<Id> = world
        .tokens
        .within(0)
        .filter(|token| token.expires_at.is_some_and(|at| at <= world.now))
        .map(|token| token.id)
        .collect();
    for id in expired {
        world.tokens.remove(0, id);
    }
}
