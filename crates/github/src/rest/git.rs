//! Refs and commits as GitHub has them, without a clone.

use merge_train_core::ids::{BranchName, Sha};
use serde::Deserialize;

use crate::client::Repo;
use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub sha: Sha,
    pub tree: Sha,
    pub parents: Vec<Sha>,
    pub message: String,
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
