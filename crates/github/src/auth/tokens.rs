//! The tokens at hand, and how to get those that are not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use merge_train_core::ids::{InstallationId, RepoId};
use parking_lot::Mutex;
use reqwest::Method;
use serde::Deserialize;
use tokio::time::Instant;

use super::jwt::AppKey;
use super::shared::{Perishable, Shared};
use crate::config::{Auth, Config, ConfigError};
use crate::error::Error;
use crate::governor::{Effect, Governor, GovernorStats, Limits};
use crate::http::{Answer, Bearer, Call, Wire};
use merge_train_core::secret::Secret;

/// A token is renewed while it still works: a call that sets out with it must not find it expired.
const RENEWED_BEFORE: Duration = Duration::from_secs(5 * 60);
/// A difference between the clocks that can be why GitHub refuses what the app signed.
const NOTABLE_SKEW_SECONDS: i64 = 5;

pub(crate) struct Keyring {
    identity: Identity,
    installations: Shared<RepoId, InstallationId>,
    tokens: Shared<InstallationId, Token>,
    governors: Mutex<BTreeMap<String, Arc<Governor>>>,
    limits: Limits,
}

enum Identity {
    App { key: AppKey, installation: Option<InstallationId> },
    Person(Secret),
}

#[derive(Clone)]
struct Token {
    secret: Secret,
    expires_at: Instant,
}

impl Perishable for Token {
    fn is_fresh(&self, now: Instant) -> bool {
        now + RENEWED_BEFORE < self.expires_at
    }

    fn is_usable(&self, now: Instant) -> bool {
        now < self.expires_at
    }
}

impl Perishable for InstallationId {
    fn is_fresh(&self, _: Instant) -> bool {
        true
    }

    fn is_usable(&self, _: Instant) -> bool {
        true
    }
}

impl Keyring {
    pub(crate) fn new(config: &Config) -> Result<Self, ConfigError> {
        let identity = match &config.auth {
            Auth::App { app_id, private_key_pem, installation_id } => {
                Identity::App { key: AppKey::new(*app_id, private_key_pem)?, installation: *installation_id }
            }
            Auth::Token(token) => {
                let sendable = |byte: u8| byte.is_ascii_graphic();
                if token.expose().is_empty() || !token.expose().bytes().all(sendable) {
                    return Err(ConfigError::Token);
                }
                Identity::Person(token.clone())
            }
        };
        Ok(Self {
            identity,
            installations: Shared::new(),
            tokens: Shared::new(),
            governors: Mutex::default(),
            limits: config.limits.clone(),
        })
    }

    /// Makes a call in the name that may speak about a repository. A token that GitHub refuses is replaced, once.
    pub(crate) async fn send(&self, wire: &Wire, repo: &RepoId, call: &Call) -> Result<Answer, Error> {
        let (bearer, installation) = self.bearer(wire, repo).await?;
        let first = wire.send(&bearer, call).await;
        let (Err(Error::Unauthorized { .. }), Some(installation)) = (&first, installation) else { return first };
        self.tokens.spoiled(&installation, |token| token.secret == bearer.token).await;
        let (bearer, _) = self.bearer(wire, repo).await?;
        wire.send(&bearer, call).await
    }

    /// A token that works for a repository for some minutes at least.
    pub(crate) async fn token(&self, wire: &Wire, repo: &RepoId) -> Result<Secret, Error> {
        Ok(self.bearer(wire, repo).await?.0.token)
    }

    /// Makes a call in the app's own name; None when we are not an app.
    pub(crate) async fn send_as_app(&self, wire: &Wire, call: &Call) -> Option<Result<Answer, Error>> {
        match &self.identity {
            Identity::App { key, .. } => Some(self.app_call(wire, key, call).await),
            Identity::Person(_) => None,
        }
    }

    /// The installation that the configuration names, if it names one.
    pub(crate) fn fixed_installation(&self) -> Option<InstallationId> {
        match &self.identity {
            Identity::App { installation, .. } => *installation,
            Identity::Person(_) => None,
        }
    }

    /// Makes a call in the name of an installation; for a person, in theirs.
    pub(crate) async fn send_as(
        &self,
        wire: &Wire,
        installation: Option<InstallationId>,
        call: &Call,
    ) -> Result<Answer, Error> {
        let bearer = match (&self.identity, installation) {
            (Identity::App { key, .. }, Some(installation)) => {
                self.of(installation, self.installation_token(wire, key, installation).await?).0
            }
            (Identity::App { key, .. }, None) => return self.app_call(wire, key, call).await,
            (Identity::Person(token), _) => self.named("token".to_owned(), token.clone()),
        };
        wire.send(&bearer, call).await
    }

    /// So that the next call looks again where the app is installed.
    pub(crate) fn forget_installation(&self, forgotten: impl Fn(&RepoId) -> bool) {
        self.installations.forget(forgotten);
    }

    pub(crate) fn stats(&self) -> Vec<GovernorStats> {
        let governors: Vec<_> = self.governors.lock().values().cloned().collect();
        governors.iter().map(|governor| governor.stats()).collect()
    }

    async fn bearer(&self, wire: &Wire, repo: &RepoId) -> Result<(Bearer, Option<InstallationId>), Error> {
        let (key, fixed) = match &self.identity {
            Identity::Person(token) => return Ok((self.named("token".to_owned(), token.clone()), None)),
            Identity::App { key, installation } => (key, *installation),
        };
        let installation = match fixed {
            Some(installation) => installation,
            None => self.installation(wire, key, repo).await?,
        };
        let token = match self.installation_token(wire, key, installation).await {
            // It was installed again since: look again, once.
            Err(Error::NotFound { .. }) if fixed.is_none() => {
                self.installations.forget(|known| known == repo);
                let installation = self.installation(wire, key, repo).await?;
                return Ok(self.of(installation, self.installation_token(wire, key, installation).await?));
            }
            other => other?,
        };
        Ok(self.of(installation, token))
    }

    fn of(&self, installation: InstallationId, token: Token) -> (Bearer, Option<InstallationId>) {
        (self.named(format!("installation {installation}"), token.secret), Some(installation))
    }

    fn named(&self, name: String, token: Secret) -> Bearer {
        let mut governors = self.governors.lock();
        let governor = match governors.get(&name) {
            Some(governor) => Arc::clone(governor),
            None => {
                let governor = Governor::new(name.clone(), self.limits.clone());
                governors.insert(name.clone(), Arc::clone(&governor));
                governor
            }
        };
        Bearer { token, governor, name }
    }

    async fn installation(&self, wire: &Wire, key: &AppKey, repo: &RepoId) -> Result<InstallationId, Error> {
        #[derive(Deserialize)]
        struct Installation {
            id: InstallationId,
        }
        let look_up = || async {
            let url = wire.urls.path(["repos", repo.owner(), repo.name(), "installation"]);
            let found: Installation = self.app_call(wire, key, &Call::get(url)).await?.json()?;
            Ok(found.id)
        };
        self.installations.get(repo, look_up).await
    }

    async fn installation_token(
        &self,
        wire: &Wire,
        key: &AppKey,
        installation: InstallationId,
    ) -> Result<Token, Error> {
        #[derive(Deserialize)]
        struct Minted {
            token: String,
            expires_at: Timestamp,
        }
        let mint = || async {
            let id = installation.to_string();
            let url = wire.urls.path(["app", "installations", &id, "access_tokens"]);
            // A token too many does no harm, so asking again after a lost answer is safe.
            let call = Call::write(Method::POST, url, Effect::Read);
            let minted: Minted = self.app_call(wire, key, &call).await?.json()?;
            let left = minted.expires_at.duration_since(github_now(wire)).max(SignedDuration::ZERO).unsigned_abs();
            Ok(Token { secret: Secret::new(minted.token), expires_at: Instant::now() + left })
        };
        self.tokens.get(&installation, mint).await
    }

    async fn app_call(&self, wire: &Wire, key: &AppKey, call: &Call) -> Result<Answer, Error> {
        let sign = || key.sign(github_now(wire)).map_err(|error| Error::permanent(&call.name(), error.to_string()));
        let assumed = wire.clock_ahead();
        let first = wire.send(&self.named("app".to_owned(), sign()?), call).await;
        let skewed = (wire.clock_ahead() - assumed).abs() > NOTABLE_SKEW_SECONDS;
        match first {
            // Signed for another time than GitHub's; its answer has told what time it is there.
            Err(Error::Unauthorized { .. }) if skewed => wire.send(&self.named("app".to_owned(), sign()?), call).await,
            other => other,
        }
    }
}

fn github_now(wire: &Wire) -> Timestamp {
    Timestamp::now().checked_add(SignedDuration::from_secs(wire.clock_ahead())).unwrap_or(Timestamp::MAX)
}
