//! What a fixer is told: facts in, words out.

mod prompt;
mod signature;
mod size;
#[cfg(test)]
mod tests;
mod untrusted;

pub use prompt::prompt;
pub use signature::signature;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{BranchName, PrNumber, RepoId, Sha};

/// What a fixer is to fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FixIssue {
    FixCi,
    FixReview,
}

/// All that is known of what is to be fixed. Everything in it that people or programs wrote is data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixerBrief {
    pub issue: FixIssue,
    pub repo: RepoId,
    pub pr: PrNumber,
    pub title: String,
    pub branch: BranchName,
    pub base: BranchName,
    pub head: Sha,
    /// Whether it conflicts with its base.
    pub conflicts: bool,
    pub checks: Vec<FailedCheck>,
    pub threads: Vec<UnresolvedThread>,
    /// What was said to the whole of it, by reviewers who want something.
    pub reviews: Vec<BriefComment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCheck {
    pub name: String,
    /// `failure`, `timed_out`, …
    pub conclusion: String,
    pub url: Option<String>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub annotations: Vec<CheckAnnotation>,
    /// The end of its log.
    pub log: Option<LogExcerpt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAnnotation {
    pub path: String,
    pub line: u64,
    pub level: Option<String>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogExcerpt {
    pub text: String,
    /// The beginning was left out.
    pub truncated: bool,
}

/// An unresolved conversation at a line of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnresolvedThread {
    pub path: String,
    /// Where it is, or was: see `outdated`.
    pub line: Option<u64>,
    /// The lines have changed since.
    pub outdated: bool,
    pub said: Vec<BriefComment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BriefComment {
    /// Empty for a deleted account.
    pub by: String,
    pub at: Timestamp,
    pub body: String,
    pub url: Option<String>,
}
