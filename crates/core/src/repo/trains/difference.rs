//! Where the two ways to compute what lands do not agree, as a value that reads well in a comment.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::conflict::Conflict;
use super::work::AuthoredHead;
use crate::ids::Sha;
use crate::markdown::{code_span, introduced};

/// What the branch of a pull request would bring to the default branch is not its own change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Where the own change alone conflicts with the default branch; none if it merges to another tree.
    pub conflict: Option<Conflict>,
    /// The files in which the two trees differ, as far as they are named, and how many more there are.
    pub files: Vec<String>,
    pub unnamed: usize,
    /// The lines: a diff from the own change alone to what the branch would bring, cut where it is long.
    pub lines: String,
    /// The commits of the branch that are not on the default branch, the newest first, as far as they are named.
    pub commits: Vec<NamedCommit>,
    pub standing: AuthoredHead,
}

/// A commit, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCommit {
    pub sha: Sha,
    pub subject: String,
    pub author: String,
    /// Whether merge-train made it.
    pub by_merge_train: bool,
}

/// As Markdown, fit for a comment.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.conflict {
            Some(conflict) => write!(f, "Its own change alone conflicts:\n\n{conflict}")?,
            None => {
                f.write_str("What would land differs from the pull request's own change in:\n")?;
                for file in &self.files {
                    write!(f, "\n- {}", code_span(file))?;
                }
                match self.unnamed {
                    0 => {}
                    1 => f.write_str("\n- and 1 more file")?,
                    more => write!(f, "\n- and {more} more files")?,
                }
                if !self.lines.trim().is_empty() {
                    let lines = introduced("Diff from the pull request's own change to what would land:", &self.lines);
                    write!(f, "\n\n{lines}")?;
                }
            }
        }
        if !self.commits.is_empty() {
            write!(f, "\n\nThe branch has these commits:\n{}", CommitList(&self.commits))?;
        }
        Ok(())
    }
}

/// Commits as a list in Markdown.
pub struct CommitList<'a>(pub &'a [NamedCommit]);

impl fmt::Display for CommitList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for commit in self.0 {
            let who = if commit.by_merge_train { "merge-train".to_owned() } else { code_span(&commit.author) };
            write!(f, "\n- {} {} by {who}", commit.sha, code_span(&commit.subject))?;
        }
        Ok(())
    }
}
