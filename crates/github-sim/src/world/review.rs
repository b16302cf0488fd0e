//! Reviews, review comments and their threads.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::table::{Doc, Key};
use super::{Id, Sha};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Review {
    pub repo: Id,
    pub id: Id,
    pub number: u64,
    pub author: Id,
    pub body: String,
    pub state: ReviewState,
    pub commit: Sha,
    /// None while pending.
    pub submitted_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When it was given another text, and by whom. A dismissal is no edit.
    #[serde(default)]
    pub edited: Option<(Timestamp, Id)>,
}

impl Doc for Review {
    const KIND: &'static str = "review";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReviewState {
    Pending,
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
}

impl ReviewState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReviewComment {
    pub repo: Id,
    pub id: Id,
    pub number: u64,
    pub review: Id,
    pub thread: Id,
    pub author: Id,
    pub body: String,
    pub path: String,
    pub diff_hunk: String,
    pub commit: Sha,
    pub original_commit: Sha,
    /// None when the line is gone from the diff (outdated) or the comment is on the file.
    pub line: Option<u64>,
    pub original_line: Option<u64>,
    pub start_line: Option<u64>,
    pub original_start_line: Option<u64>,
    /// Lines below the first `@@` of the file's diff.
    pub original_position: Option<u64>,
    pub side: Side,
    pub start_side: Option<Side>,
    /// `line` or `file`.
    pub subject_type: String,
    pub in_reply_to: Option<Id>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Doc for ReviewComment {
    const KIND: &'static str = "review_comment";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Side {
    Left,
    Right,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReviewThread {
    pub repo: Id,
    pub id: Id,
    pub number: u64,
    pub path: String,
    pub line: Option<u64>,
    pub original_line: Option<u64>,
    pub side: Side,
    pub outdated: bool,
    pub resolved_by: Option<Id>,
}

impl Doc for ReviewThread {
    const KIND: &'static str = "review_thread";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}
