//! Where a clone fetches from and pushes to, and with whose token.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use merge_train_core::ids::RepoId;
use merge_train_core::secret::Secret;
use url::Url;

use crate::Error;

/// Where tokens come from. Asked before each exchange, since an app's token lives for an hour.
#[async_trait]
pub trait TokenSource: Send + Sync {
    /// None: the remote is spoken to without a token.
    async fn token(&self) -> Result<Option<Secret>, Box<dyn std::error::Error + Send + Sync>>;
}

/// For remotes that want no token: a folder of this machine.
pub struct NoToken;

#[async_trait]
impl TokenSource for NoToken {
    async fn token(&self) -> Result<Option<Secret>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(None)
    }
}

/// A repository that is fetched from and pushed to.
#[derive(Clone)]
pub struct Remote {
    url: Url,
    tokens: Arc<dyn TokenSource>,
}

impl Remote {
    /// `repo` on the server whose git addresses begin with `base`.
    pub fn on_server(base: &str, repo: &RepoId, tokens: Arc<dyn TokenSource>) -> Result<Self, Error> {
        let text = format!("{}/{}/{}.git", base.trim_end_matches('/'), repo.owner(), repo.name());
        let url = Url::parse(&text).map_err(|error| Error::Refused(format!("{text:?} is not an address: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Error::Refused(format!("{text:?} is not an address that git is spoken to over HTTP")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let host = url.host_str().unwrap_or_default();
            return Err(Error::Refused(format!("the address of git on {host} must not carry a name or a password")));
        }
        Ok(Self { url, tokens })
    }

    /// A repository in a folder of this machine.
    pub fn folder(path: &Path) -> Result<Self, Error> {
        let url = Url::from_file_path(path)
            .map_err(|()| Error::Refused(format!("{} is not an absolute path", path.display())))?;
        Ok(Self { url, tokens: Arc::new(NoToken) })
    }

    /// The address; it never holds a secret.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// What a token is good for: the scheme and the host. A redirect to elsewhere gets none.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    pub(crate) fn scheme(&self) -> &str {
        self.url.scheme()
    }

    pub(crate) async fn token(&self) -> Result<Option<Secret>, Error> {
        self.tokens.token().await.map_err(Error::Token)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Remote").field(&self.url()).finish()
    }
}
