//! The door itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use merge_train_core::ids::{InstallationId, RepoId, UserId};
use reqwest::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use url::Url;

use crate::auth::Keyring;
use crate::config::{Config, ConfigError};
use crate::error::{CallName, Error};
use crate::governor::{Effect, GovernorStats, Priority};
use crate::graphql::Manners;
use crate::http::{Answer, Call, Wire};
use merge_train_core::secret::Secret;

/// A hundred entries each: far beyond any list that merge-train reads, and an end to one that leads back to itself.
const MOST_PAGES: usize = 1000;

/// GitHub, to one app or one person. Cheap to clone; all clones share tokens, budgets and cached answers.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    wire: Wire,
    keyring: Keyring,
    /// The one account of the app or of the token, whichever repository it is asked about.
    account: OnceCell<Account>,
    manners: Manners,
}

/// One repository at GitHub, and how urgent what is asked about it is.
#[derive(Clone)]
pub struct Repo {
    client: Client,
    id: RepoId,
    priority: Priority,
}

/// In whose name a list is asked for.
#[derive(Clone, Copy)]
pub(crate) enum Caller<'a> {
    /// Whoever may speak about the repository.
    About(&'a RepoId),
    Installation(InstallationId),
    /// The app, or the person whose token it is.
    Ourselves,
}

/// The account in whose name comments and merges are made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    pub id: UserId,
    pub login: String,
}

impl Client {
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let inner = Inner {
            wire: Wire::new(config)?,
            keyring: Keyring::new(config)?,
            account: OnceCell::new(),
            manners: Manners::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What can be asked about a repository, at [`Priority::Normal`].
    pub fn repo(&self, id: &RepoId) -> Repo {
        Repo { client: self.clone(), id: id.clone(), priority: Priority::Normal }
    }

    /// A token for git. It is good for at least five minutes, unless GitHub could not give a new one.
    pub async fn token_for(&self, repo: &RepoId) -> Result<Secret, Error> {
        self.inner.keyring.token(&self.inner.wire, repo).await
    }

    /// Looks again at the next call where the app is installed: it was moved, removed or given other repositories.
    pub fn forget_installation(&self, repo: &RepoId) {
        self.forget(|known| known == repo);
    }

    /// The same for all repositories of an account.
    pub fn forget_installations_of(&self, owner: &str) {
        self.forget(|known| known.owner().eq_ignore_ascii_case(owner));
    }

    fn forget(&self, forgotten: impl Fn(&RepoId) -> bool) {
        self.inner.keyring.forget_installation(&forgotten);
        self.inner.manners.forget(&forgotten);
    }

    /// In whose name we act on a repository. The app's bot is a user of its own. GitHub is asked once.
    pub async fn whoami(&self, repo: &RepoId) -> Result<Account, Error> {
        let ask = || async {
            let url = match self.app().await? {
                Some(app) => self.inner.wire.urls.path(["users", &format!("{}[bot]", app.slug)]),
                None => self.inner.wire.urls.path(["user"]),
            };
            self.send(repo, &Call::get(url)).await?.json()
        };
        self.inner.account.get_or_try_init(ask).await.cloned()
    }

    /// How it stands with each token: the app's own, and those of its installations.
    pub fn stats(&self) -> Vec<GovernorStats> {
        self.inner.keyring.stats()
    }

    pub(crate) fn manners(&self) -> &Manners {
        &self.inner.manners
    }

    pub(crate) fn wire(&self) -> &Wire {
        &self.inner.wire
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.inner.keyring
    }

    async fn send(&self, repo: &RepoId, call: &Call) -> Result<Answer, Error> {
        self.inner.keyring.send(&self.inner.wire, repo, call).await
    }

    /// Gives `take` page after page, until it has enough or there are no more.
    pub(crate) async fn pages<P: DeserializeOwned>(
        &self,
        caller: Caller<'_>,
        call: Call,
        mut take: impl FnMut(P) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut call = call.query(&[("per_page", "100")]);
        let name: CallName = call.name();
        for _ in 0..MOST_PAGES {
            let answer = match caller {
                Caller::About(repo) => self.send(repo, &call).await?,
                Caller::Ourselves => self.inner.keyring.send_as(self.wire(), None, &call).await?,
                Caller::Installation(id) => self.inner.keyring.send_as(self.wire(), Some(id), &call).await?,
            };
            if take(answer.json()?).is_break() {
                return Ok(());
            }
            let Some(next) = answer.next_page() else { return Ok(()) };
            // Whoever writes the header `Link` could otherwise send the token anywhere.
            self.wire().same_origin(&name, &next)?;
            call.url = next;
        }
        Err(Error::permanent(&name, format!("the list has more than {MOST_PAGES} pages")))
    }
}

impl Repo {
    pub fn id(&self) -> &RepoId {
        &self.id
    }

    /// The same repository, asked with another urgency.
    pub fn with_priority(&self, priority: Priority) -> Self {
        Self { priority, ..self.clone() }
    }

    /// The client that it is asked through.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The address of something in the repository.
    pub(crate) fn url(&self, segments: &[&str]) -> Url {
        let root = ["repos", self.id.owner(), self.id.name()];
        self.client.wire().urls.path(root.into_iter().chain(segments.iter().copied()))
    }

    pub(crate) fn get(&self, segments: &[&str]) -> Call {
        Call::get(self.url(segments)).priority(self.priority)
    }

    pub(crate) fn write(&self, method: Method, segments: &[&str], effect: Effect) -> Call {
        Call::write(method, self.url(segments), effect).priority(self.priority)
    }

    pub(crate) async fn send(&self, call: &Call) -> Result<Answer, Error> {
        self.client.send(&self.id, call).await
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, call: &Call) -> Result<T, Error> {
        self.send(call).await?.json()
    }

    /// None for what does not exist.
    pub(crate) async fn find<T: DeserializeOwned>(&self, call: &Call) -> Result<Option<T>, Error> {
        match self.read(call).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn graphql(&self, body: &impl serde::Serialize) -> Call {
        Call::graphql(self.client.wire().urls.graphql.clone(), body).priority(self.priority)
    }

    /// All entries of a list.
    pub(crate) async fn list<T: DeserializeOwned>(&self, call: Call) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        let take = |mut page: Vec<T>| {
            all.append(&mut page);
            ControlFlow::Continue(())
        };
        self.pages(call, take).await?;
        Ok(all)
    }

    /// Gives `take` page after page, until it has enough or there are no more.
    pub(crate) async fn pages<P: DeserializeOwned>(
        &self,
        call: Call,
        take: impl FnMut(P) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.client.pages(Caller::About(&self.id), call, take).await
    }
}
