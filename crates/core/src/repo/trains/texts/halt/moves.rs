//! The commands that bring a branch into order, for people to copy.
//!
//! To merge the default branch is right only as long as nothing that the branch is stacked on was squashed: otherwise the
//! predecessor's own commits are still in the branch, and git would bring back what the pull request deleted of them. Then its
//! own commits are moved, and nothing else.

use crate::ids::{BranchName, Sha};
use crate::repo::trains::texts::shell;
use crate::repo::trains::work::Standing;

/// A branch that a person is to merge another into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeIn {
    branch: BranchName,
    from: BranchName,
}

impl MergeIn {
    pub fn new(branch: &BranchName, from: &BranchName) -> Self {
        Self { branch: branch.clone(), from: from.clone() }
    }

    /// As a block of Markdown that can be copied to a shell.
    pub fn commands(&self) -> String {
        let Self { branch, from } = self;
        let (remote, from) = (shell::word(&format!("origin/{branch}")), shell::word(&format!("origin/{from}")));
        let branch = shell::word(branch.as_str());
        shell::block(&[
            "git fetch origin".to_owned(),
            format!("git checkout -B {branch} {remote}"),
            format!("git merge {from}"),
            "# Resolve the conflicts, `git add` the files, `git commit`.".to_owned(),
            format!("git push origin {branch}"),
        ])
    }
}

/// A branch that a person is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    branch: BranchName,
    /// What of the branch counts; none: all of it.
    head: Option<Sha>,
    /// The commits up to this one are left behind.
    after: Sha,
    onto: BranchName,
}

impl Move {
    /// What people wrote, without what that was written on.
    pub fn of(branch: &BranchName, standing: &Standing, onto: &BranchName) -> Self {
        let Standing { people_head, stands_on } = standing.clone();
        Self { branch: branch.clone(), head: Some(people_head), after: stands_on, onto: onto.clone() }
    }

    /// All of the branch without these commits.
    pub fn without(branch: &BranchName, after: &Sha, onto: &BranchName) -> Self {
        Self { branch: branch.clone(), head: None, after: after.clone(), onto: onto.clone() }
    }

    /// As a block of Markdown that can be copied to a shell.
    pub fn commands(&self) -> String {
        let Self { branch, head, after, onto } = self;
        let remote = shell::word(&format!("origin/{branch}"));
        let head = head.as_ref().map_or(remote, Sha::to_string);
        let (branch, onto) = (shell::word(branch.as_str()), shell::word(&format!("origin/{onto}")));
        shell::block(&[
            "git fetch origin".to_owned(),
            format!("git checkout -B {branch} {head}"),
            format!("git rebase --onto {onto} {after}"),
            "# If there are conflicts: resolve them, `git add` the files, `git rebase --continue`.".to_owned(),
            format!("git push --force-with-lease origin {branch}"),
        ])
    }
}
