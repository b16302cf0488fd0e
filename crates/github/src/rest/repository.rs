//! The settings of a repository.

use merge_train_core::ids::{BranchName, RepoId};
use merge_train_core::repo::trains::MergeMethods;
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;

/// The settings of a repository. GitHub leaves out those of merging when the token has not enough access.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RepoSettings {
    pub id: u64,
    /// As it is spelled, and called since it was renamed.
    pub full_name: RepoId,
    pub default_branch: BranchName,
    #[serde(default)]
    pub private: bool,
    #[serde(default)]
    pub archived: bool,
    pub allow_squash_merge: Option<bool>,
    pub allow_merge_commit: Option<bool>,
    pub allow_rebase_merge: Option<bool>,
    pub delete_branch_on_merge: Option<bool>,
    /// `PR_TITLE` or `COMMIT_OR_PR_TITLE`.
    pub squash_merge_commit_title: Option<String>,
    /// `PR_BODY`, `COMMIT_MESSAGES` or `BLANK`.
    pub squash_merge_commit_message: Option<String>,
}

impl RepoSettings {
    /// None where GitHub does not show them.
    pub fn merge_methods(&self) -> Option<MergeMethods> {
        Some(MergeMethods {
            allow_squash_merge: self.allow_squash_merge?,
            allow_merge_commit: self.allow_merge_commit?,
            allow_rebase_merge: self.allow_rebase_merge?,
        })
    }
}

impl Repo {
    pub async fn settings(&self) -> Result<RepoSettings, Error> {
        self.read(&self.get(&[]).cached()).await
    }
}
