//! Where the daemon meets git: the clones that the configuration asks for, with GitHub's tokens.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use git::repository::{Repository, Settings};
use git::signing::{self, Check, Fault};
use git::{Error, Git, Remote, TokenSource};
use github::Secret;
use merge_train_core::ids::RepoId;
use tokio::sync::Mutex;

/// The program, as it is found on the PATH.
pub const PROGRAM: &str = "git";

/// All clones that there are or can be.
pub struct Clones {
    git: Git,
    settings: Settings,
    /// What the addresses of repositories begin with.
    git_url: String,
    github: github::Client,
    /// Those in use. Whoever works on a clone shares what keeps its work apart from that of others.
    open: Mutex<BTreeMap<RepoId, Weak<Repository>>>,
}

impl Clones {
    pub fn new(git: Git, settings: Settings, git_url: String, github: github::Client) -> Self {
        Self { git, settings, git_url, github, open: Mutex::default() }
    }

    /// Whether the repository has been cloned.
    pub fn has(&self, repo: &RepoId) -> bool {
        Repository::exists(&self.settings.base, repo)
    }

    /// Whether commits can be signed as the configuration wants it, tried out.
    pub async fn try_signing(&self) -> Result<Check, Fault> {
        signing::check(&self.git, &self.settings.committer).await
    }

    /// The repository's clone; an empty one is made if there is none.
    pub async fn open(&self, repo: &RepoId) -> Result<Arc<Repository>, Error> {
        let mut open = self.open.lock().await;
        if let Some(repository) = open.get(repo).and_then(Weak::upgrade) {
            return Ok(repository);
        }
        let tokens = Arc::new(Tokens { github: self.github.clone(), repo: repo.clone() });
        let remote = Remote::on_server(&self.git_url, repo, tokens)?;
        let repository = Repository::open(self.git.clone(), &self.settings, repo, remote).await?;
        open.retain(|_, repository| repository.strong_count() > 0);
        open.insert(repo.clone(), Arc::downgrade(&repository));
        Ok(repository)
    }
}

/// The tokens for one repository, from the client that makes and renews them.
struct Tokens {
    github: github::Client,
    repo: RepoId,
}

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<Option<Secret>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Some(self.github.token_for(&self.repo).await?))
    }
}
