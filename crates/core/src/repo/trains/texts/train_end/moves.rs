//! The commands that bring a branch into order, for people to copy.
//!
//! To merge the default branch is right only as long as nothing that the branch is stacked on was squashed: otherwise the
//! predecessor's own commits are still in the branch, and git would bring back what the pull request deleted of them. Then its
//! own commits are moved, and nothing else.

use crate::ids::{BranchName, Sha};
use crate::repo::trains::texts::shell;
use crate::repo::trains::work::AuthoredHead;

/// A branch that a person is to merge another into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualMerge {
    branch: BranchName,
    from: BranchName,
}

impl ManualMerge {
    pub fn new(branch: &BranchName, from: &BranchName) -> Self {
        Self { branch: branch.clone(), from: from.clone() }
    }

    /// As a block of Markdown that can be copied to a shell.
    pub fn commands(&self) -> String {
        let Self { branch, from } = self;
        let (remote, from) = (shell::word(&format!("origin/{branch}")), shell::word(&format!("origin/{from}")));
        shell::block(&[
            "git fetch origin".to_owned(),
            format!("git checkout -B {} {remote}", shell::word(branch.as_str())),
            format!("git merge {from}"),
            "# Resolve the conflicts, `git add` the files, `git commit`, then run the last command.".to_owned(),
            format!("git push origin {}", pushed_to(branch)),
        ])
    }
}

/// A branch that a person is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualBranchMove {
    branch: BranchName,
    /// What of the branch counts; none: all of it.
    head: Option<Sha>,
    /// Where the branch must still be when it is pushed to.
    lease: Option<Sha>,
    /// Whether what counts has merges in it.
    has_merges: bool,
    /// Whether a merge driver would bring back what the change takes away.
    by_driver: bool,
    /// The commits up to this one are left behind.
    after: Sha,
    onto: BranchName,
}

impl ManualBranchMove {
    /// What people wrote, without what that was written on.
    pub fn of(branch: &BranchName, standing: &AuthoredHead, onto: &BranchName) -> Self {
        let AuthoredHead { people_head, stands_on, head: lease, has_merges, by_driver } = standing.clone();
        let (branch, onto) = (branch.clone(), onto.clone());
        Self { branch, head: Some(people_head), lease, has_merges, by_driver, after: stands_on, onto }
    }

    /// All of the branch without these commits.
    pub fn without(branch: &BranchName, after: &Sha, onto: &BranchName) -> Self {
        let (branch, after, onto) = (branch.clone(), after.clone(), onto.clone());
        Self { branch, head: None, lease: None, has_merges: false, by_driver: false, after, onto }
    }

    /// As a block of Markdown that can be copied to a shell.
    pub fn commands(&self) -> String {
        let Self { branch, head, lease, has_merges, by_driver, after, onto } = self;
        let remote = shell::word(&format!("origin/{branch}"));
        let head = head.as_ref().map_or(remote, Sha::to_string);
        let (name, onto) = (shell::word(branch.as_str()), shell::word(&format!("origin/{onto}")));
        let mut lines = vec!["git fetch origin".to_owned()];
        let git = if *by_driver { WITHOUT_UNION } else { "git" };
        if *has_merges {
            // A rebase leaves merges out, and whatever was written in them: all of the change as one commit.
            lines.push(format!("git checkout -B {name} {onto}"));
            lines.push(format!("{git} cherry-pick $(git commit-tree {head}^{{tree}} -p {after} -m 'Own change')"));
            lines.push(resolved(git, "cherry-pick"));
        } else {
            lines.push(format!("git checkout -B {name} {head}"));
            lines.push(format!("{git} rebase --onto {onto} {after}"));
            lines.push(resolved(git, "rebase"));
        }
        let lease = lease.as_ref().map_or(String::new(), |head| format!("={branch}:{head}"));
        lines.push(format!(
            "git push {} origin {}",
            shell::word(&format!("--force-with-lease{lease}")),
            pushed_to(branch)
        ));
        shell::block(&lines)
    }
}

/// Has git show both sides of a conflict where `.gitattributes` says `merge=union`, and not keep both.
const WITHOUT_UNION: &str = "git -c 'merge.union.driver=git merge-file --marker-size=%L %A %O %B'";

fn resolved(git: &str, command: &str) -> String {
    format!(
        "# If it stops at conflicts: resolve them, `git add` the files, `{git} {command} --continue`, then run the last command."
    )
}

/// In full, because a tag may have the branch's name.
fn pushed_to(branch: &BranchName) -> String {
    shell::word(&format!("HEAD:refs/heads/{branch}"))
}
