//! Which repositories we can speak about at all.

use std::ops::ControlFlow;

use merge_train_core::ids::{InstallationId, RepoId};
use serde::Deserialize;

use crate::client::{Caller, Client};
use crate::error::Error;
use crate::governor::Priority;
use crate::http::Call;

/// A repository within reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reachable {
    pub id: RepoId,
    /// Whether anything in it can be under way: it has open issues or pull requests, and is not archived.
    pub is_busy: bool,
}

#[derive(Deserialize)]
struct Installed {
    repositories: Vec<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    open_issues_count: u64,
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

impl Client {
    /// Every repository that the app is installed on; with a personal token, those that its owner may push to.
    pub async fn repositories(&self) -> Result<Vec<Reachable>, Error> {
        let mut found = Vec::new();
        let Some(_) = self.app().await? else {
            let call = self.list_call(&["user", "repos"]);
            let take = |page: Vec<Repository>| {
                let may_push = |repo: &Repository| repo.permissions.as_ref().is_some_and(|may| may.push);
                found.extend(page.into_iter().filter(may_push));
                ControlFlow::Continue(())
            };
            self.pages(Caller::Ourselves, call, take).await?;
            return Ok(found.into_iter().filter_map(reachable).collect());
        };
        for installation in self.served().await? {
            let call = self.list_call(&["installation", "repositories"]);
            let take = |page: Installed| {
                found.extend(page.repositories);
                ControlFlow::Continue(())
            };
            self.pages(Caller::Installation(installation), call, take).await?;
        }
        Ok(found.into_iter().filter_map(reachable).collect())
    }

    /// The installations that are served.
    async fn served(&self) -> Result<Vec<InstallationId>, Error> {
        if let Some(fixed) = self.keyring().fixed_installation() {
            return Ok(vec![fixed]);
        }
        let all = self.installations().await?.into_iter();
        Ok(all.filter(|found| found.suspended_at.is_none()).map(|found| found.id).collect())
    }

    fn list_call(&self, segments: &[&str]) -> Call {
        Call::get(self.wire().urls.path(segments.iter().copied())).priority(Priority::Poll)
    }
}

/// None for a name that is none: GitHub has others than we can keep.
fn reachable(repo: Repository) -> Option<Reachable> {
    let id = repo.full_name.parse().ok()?;
    Some(Reachable { id, is_busy: repo.open_issues_count > 0 && !repo.archived && !repo.disabled })
}
