//! The diff that a review is about.

use crate::Sim;
use crate::git::FileChange;
use crate::http::ApiError;
use crate::world::{IssueState, Pull};

/// The files of a pull request as they are at one of its commits.
pub struct ReviewedDiff {
    pub files: Vec<FileChange>,
}

impl ReviewedDiff {
    /// None if the commit is not part of the pull request.
    pub async fn of(sim: &Sim, pull: &Pull, commit: &str) -> Result<Option<Self>, ApiError> {
        let is_sha = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        let git = sim.git(pull.repo);
        if !is_sha || !git.has_commit(commit).await? || !git.is_ancestor(commit, &pull.head_sha).await? {
            return Ok(None);
        }
        let base = sim.read(|world| {
            let open = world.issues.get(pull.repo, pull.number).is_some_and(|issue| issue.state == IssueState::Open);
            let tip = open.then(|| world.branch(pull.repo, &pull.base_ref)).flatten();
            tip.unwrap_or(&pull.base_sha).clone()
        });
        if git.is_ancestor(commit, &base).await? {
            return Ok(None);
        }
        let merge_base = git.merge_base(&base, commit).await?;
        Ok(Some(Self { files: git.changed_files(merge_base.as_deref(), commit).await? }))
    }
}
