//! Refs and commits as GitHub has them, without a clone.

use merge_train_core::ids::{BranchName, Sha};
use reqwest::Method;
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;
use crate::governor::Effect;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub sha: Sha,
    pub tree: Sha,
    pub parents: Vec<Sha>,
    pub message: String,
}

/// What became of a branch that was to be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchDeletion {
    Deleted,
    /// There was none any more.
    Gone,
    /// Somebody pushed to it: it stays.
    Moved {
        head: Sha,
    },
}

#[derive(Deserialize)]
struct Named {
    sha: Sha,
}

impl Repo {
    /// What a branch points to; None if there is no such branch.
    pub async fn branch_head(&self, branch: &BranchName) -> Result<Option<Sha>, Error> {
        #[derive(Deserialize)]
        struct Reference {
            object: Named,
        }
        let found: Option<Reference> = self.find(&self.get(&under(["git", "ref"], branch))).await?;
        Ok(found.map(|reference| reference.object.sha))
    }

    /// Deletes a branch that still points to `head`. GitHub knows no condition: a push in the moment between is lost with it,
    /// but stays in `refs/pull/N/head` where the branch has a pull request that is open.
    pub async fn delete_branch(&self, branch: &BranchName, head: &Sha) -> Result<BranchDeletion, Error> {
        match self.branch_head(branch).await? {
            None => return Ok(BranchDeletion::Gone),
            Some(found) if found != *head => return Ok(BranchDeletion::Moved { head: found }),
            Some(_) => {}
        }
        let call = self.write(Method::DELETE, &under(["git", "refs"], branch), Effect::Write).expecting(&[404]);
        match self.send(&call).await {
            Ok(answer) if answer.status == 404 => Ok(BranchDeletion::Gone),
            Ok(_) => Ok(BranchDeletion::Deleted),
            // "Reference does not exist", or the branch is protected: only a look tells.
            Err(error @ Error::Unprocessable { .. }) => match self.branch_head(branch).await? {
                None => Ok(BranchDeletion::Gone),
                Some(_) => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// None if GitHub has no such commit.
    pub async fn commit(&self, sha: &Sha) -> Result<Option<Commit>, Error> {
        #[derive(Deserialize)]
        struct Raw {
            sha: Sha,
            tree: Named,
            parents: Vec<Named>,
            #[serde(default)]
            message: String,
        }
        let found: Option<Raw> = self.find(&self.get(&["git", "commits", sha.as_str()]).cached()).await?;
        Ok(found.map(|raw| Commit {
            sha: raw.sha,
            tree: raw.tree.sha,
            parents: raw.parents.into_iter().map(|parent| parent.sha).collect(),
            message: raw.message,
        }))
    }
}

/// The segments of a branch's address: GitHub wants the slashes in its name as they are.
fn under<'a>(root: [&'a str; 2], branch: &'a BranchName) -> Vec<&'a str> {
    root.into_iter().chain(["heads"]).chain(branch.as_str().split('/')).collect()
}
