//! The token by which an app proves who it is; good for minutes, and only for asking for better ones.

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;

use crate::config::ConfigError;
use merge_train_core::secret::Secret;

/// Issued a minute ago, as GitHub advises: its clock may be behind.
const BACKDATED_SECONDS: i64 = 60;
/// GitHub allows ten minutes from when it was issued.
const VALID_SECONDS: i64 = 9 * 60;

pub(super) struct AppKey {
    app_id: u64,
    key: EncodingKey,
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

impl AppKey {
    pub(super) fn new(app_id: u64, pem: &Secret) -> Result<Self, ConfigError> {
        let key = EncodingKey::from_rsa_pem(pem.expose().as_bytes()).map_err(|_| ConfigError::PrivateKey)?;
        let app_key = Self { app_id, key };
        // A PEM can be well formed and hold something else: better to know at start than at the first call.
        app_key.sign(Timestamp::now())?;
        Ok(app_key)
    }

    /// `now` is GitHub's present, not necessarily ours.
    pub(super) fn sign(&self, now: Timestamp) -> Result<Secret, ConfigError> {
        let now = now.as_second();
        let claims = Claims {
            iat: now - BACKDATED_SECONDS,
            exp: now + VALID_SECONDS - BACKDATED_SECONDS,
            iss: self.app_id.to_string(),
        };
        let token = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key);
        token.map(Secret::new).map_err(|_| ConfigError::PrivateKey)
    }
}
