//! Who is calling.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::Deserialize;

use super::ApiError;
use crate::world::{Account, App, Id, TokenHolder, World};

/// An app's token may live for ten minutes, as on GitHub, and its clock may be a minute off.
const LONGEST_APP_TOKEN_S: i64 = 600;
const CLOCK_DRIFT_S: i64 = 60;

#[derive(Clone, Debug)]
pub enum Caller {
    Anonymous,
    User {
        user: Id,
    },
    /// An app as itself, by a signed token.
    App {
        app: Id,
    },
    Installation {
        installation: Id,
        app: Id,
        bot: Id,
        account: Id,
        permissions: BTreeMap<String, String>,
        /// None: every repository of the installation.
        repositories: Option<BTreeSet<Id>>,
    },
}

impl Caller {
    /// The account that what this caller does is done by.
    pub fn actor(&self) -> Result<Id, ApiError> {
        match self {
            Self::Anonymous => Err(ApiError::requires_authentication()),
            Self::User { user } => Ok(*user),
            Self::Installation { bot, .. } => Ok(*bot),
            Self::App { .. } => Err(ApiError::forbidden("Resource not accessible by integration")),
        }
    }

    /// The person, for what only a person may do.
    pub fn user<'w>(&self, world: &'w World) -> Result<&'w Account, ApiError> {
        match self {
            Self::User { user } => Ok(world.account(*user)),
            Self::Anonymous => Err(ApiError::requires_authentication()),
            _ => Err(ApiError::forbidden("Resource not accessible by integration")),
        }
    }

    pub fn app<'w>(&self, world: &'w World) -> Result<&'w App, ApiError> {
        match self {
            Self::App { app } => world.apps.get(0, *app).ok_or_else(ApiError::not_found),
            Self::Anonymous => Err(ApiError::requires_authentication()),
            _ => Err(undecodable()),
        }
    }

    /// The app this caller writes through.
    pub fn via_app(&self) -> Option<Id> {
        match self {
            Self::Installation { app, .. } => Some(*app),
            _ => None,
        }
    }

    /// Whose rate limit it draws on.
    pub fn rate_key(&self) -> String {
        match self {
            Self::Anonymous => "anonymous".into(),
            Self::User { user } => format!("user ID {user}"),
            Self::App { app } => format!("app ID {app}"),
            Self::Installation { installation, .. } => format!("installation ID {installation}"),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or(Self::Anonymous))
    }
}

/// Reads the `Authorization` header: `token`, `Bearer`, or `Basic` with the token as user or password.
pub fn authenticate(world: &World, headers: &HeaderMap) -> Result<Caller, ApiError> {
    match presented_token(headers)? {
        None => Ok(Caller::Anonymous),
        Some(token) if token.matches('.').count() == 2 => by_app_token(world, &token),
        Some(token) => by_token(world, &token),
    }
}

/// The token in the `Authorization` header, whatever it is worth.
pub fn presented_token(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(header) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let header = header.to_str().map_err(|_| ApiError::bad_credentials())?;
    let (scheme, value) = header.split_once(' ').ok_or_else(ApiError::bad_credentials)?;
    let value = value.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "basic" => {
            let decoded = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let (user, password) =
                decoded.as_deref().and_then(|text| text.split_once(':')).ok_or_else(ApiError::bad_credentials)?;
            let token = if password.is_empty() || password == "x-oauth-basic" { user } else { password };
            Ok(Some(token.to_owned()))
        }
        "bearer" | "token" => Ok(Some(value.to_owned())),
        _ => Err(ApiError::bad_credentials()),
    }
}

fn by_token(world: &World, secret: &str) -> Result<Caller, ApiError> {
    let token = world.tokens.all().find(|token| token.secret == secret).ok_or_else(ApiError::bad_credentials)?;
    if token.expires_at.is_some_and(|at| at <= world.now) {
        return Err(ApiError::bad_credentials());
    }
    match &token.holder {
        TokenHolder::User { user } => Ok(Caller::User { user: *user }),
        TokenHolder::Installation { installation, permissions, repositories } => {
            let found = world.installations.get(0, *installation).ok_or_else(ApiError::bad_credentials)?;
            if found.suspended_at.is_some() {
                return Err(ApiError::forbidden("This installation has been suspended"));
            }
            let app = world.apps.get(0, found.app).ok_or_else(ApiError::bad_credentials)?;
            Ok(Caller::Installation {
                installation: found.id,
                app: app.id,
                bot: app.bot,
                account: found.account,
                permissions: permissions.clone(),
                repositories: repositories.clone(),
            })
        }
    }
}

#[derive(Deserialize)]
struct Claims {
    iss: serde_json::Value,
    iat: i64,
    exp: i64,
}

fn undecodable() -> ApiError {
    ApiError::new(axum::http::StatusCode::UNAUTHORIZED, "A JSON web token could not be decoded")
}

/// A JSON web token signed by the app's key (RS256).
fn by_app_token(world: &World, token: &str) -> Result<Caller, ApiError> {
    let (signed, signature) = token.rsplit_once('.').ok_or_else(undecodable)?;
    let (header, claims) = signed.split_once('.').ok_or_else(undecodable)?;
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    let algorithm = decode(header).and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    if algorithm.and_then(|header| header["alg"].as_str().map(str::to_owned)).as_deref() != Some("RS256") {
        return Err(undecodable());
    }
    let claims: Claims =
        decode(claims).and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(undecodable)?;
    let issuer = claims.iss.as_str().map_or_else(|| claims.iss.to_string(), str::to_owned);
    let app = world
        .apps
        .all()
        .find(|app| app.id.to_string() == issuer || app.client_id == issuer)
        .ok_or_else(|| ApiError::new(axum::http::StatusCode::NOT_FOUND, "Integration not found"))?;
    let key = STANDARD.decode(&app.public_key).map_err(|_| undecodable())?;
    let signature = decode(signature).ok_or_else(undecodable)?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key)
        .verify(signed.as_bytes(), &signature)
        .map_err(|_| undecodable())?;
    check_times(world.now, &claims)?;
    Ok(Caller::App { app: app.id })
}

fn check_times(now: Timestamp, claims: &Claims) -> Result<(), ApiError> {
    let unauthorized = |message: &str| ApiError::new(axum::http::StatusCode::UNAUTHORIZED, message);
    let now = now.as_second();
    if claims.exp <= now {
        return Err(unauthorized(
            "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
        ));
    }
    if claims.exp > now + LONGEST_APP_TOKEN_S + CLOCK_DRIFT_S {
        return Err(unauthorized("'Expiration time' claim ('exp') is too far in the future"));
    }
    if claims.iat > now + CLOCK_DRIFT_S {
        return Err(unauthorized(
            "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
        ));
    }
    Ok(())
}
