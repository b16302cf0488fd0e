//! A repository: its settings, its people, its refs, its CI definition.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::protection::Protection;
use super::table::{Doc, Key};
use super::{Id, Sha};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repo {
    pub id: Id,
    pub owner: Id,
    pub name: String,
    pub description: Option<String>,
    pub homepage: Option<String>,
    #[serde(default)]
    pub topics: Vec<String>,
    pub private: bool,
    pub archived: bool,
    pub default_branch: String,
    /// The repository this one was forked from.
    pub parent: Option<Id>,
    pub collaborators: BTreeMap<Id, RepoRole>,
    pub last_number: u64,
    pub allow_merge_commit: bool,
    pub allow_squash_merge: bool,
    pub allow_rebase_merge: bool,
    pub allow_auto_merge: bool,
    pub allow_update_branch: bool,
    pub delete_branch_on_merge: bool,
    pub squash_merge_commit_title: SquashTitle,
    pub squash_merge_commit_message: SquashMessage,
    pub merge_commit_title: MergeTitle,
    pub merge_commit_message: MergeMessage,
    pub web_commit_signoff_required: bool,
    pub has_issues: bool,
    /// A pre-receive hook stands guard (GitHub Enterprise Server): a clean pull request shows `HAS_HOOKS`.
    pub has_pre_receive_hook: bool,
    /// By branch name or `fnmatch` pattern.
    pub protections: BTreeMap<String, Protection>,
    pub ci: Option<CiDefinition>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub pushed_at: Timestamp,
}

impl Doc for Repo {
    const KIND: &'static str = "repo";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.id }
    }
}

/// What git's refs were when they were last looked at. A push is whatever git holds beyond this.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RepoRefs {
    pub repo: Id,
    /// Full names (`refs/heads/main`, `refs/tags/v1`). `refs/pull/*` is not among them: it is derived.
    pub refs: BTreeMap<String, Sha>,
}

impl Doc for RepoRefs {
    const KIND: &'static str = "refs";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.repo }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepoRole {
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl RepoRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// GitHub's names, old (`pull`, `push`) and new.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "read" | "pull" => Self::Read,
            "triage" => Self::Triage,
            "write" | "push" => Self::Write,
            "maintain" => Self::Maintain,
            "admin" => Self::Admin,
            _ => return None,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SquashTitle {
    PrTitle,
    CommitOrPrTitle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SquashMessage {
    PrBody,
    CommitMessages,
    Blank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MergeTitle {
    PrTitle,
    MergeMessage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MergeMessage {
    PrBody,
    PrTitle,
    Blank,
}

/// The checks that run for every pushed commit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CiDefinition {
    /// The workflow's name, as `workflow_run` shows it.
    pub name: Option<String>,
    pub checks: Vec<CiCheck>,
    /// Branches that get no CI unless a pull request has them as head; `fnmatch` patterns.
    pub ignore_branches: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CiCheck {
    pub name: String,
    /// Run by `sh -c` in a checkout of the commit. Without one the check waits to be set by hand.
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub report: CheckReport,
    /// How long the check stays queued.
    #[serde(default)]
    pub delay_ms: u64,
    #[serde(default = "default_ci_timeout_ms")]
    pub timeout_ms: u64,
}

fn default_ci_timeout_ms() -> u64 {
    600_000
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckReport {
    #[default]
    CheckRun,
    Status,
    Both,
}
