//! What people say: issues (a pull request is one too), comments, reactions, labels and the timeline.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Id;
use super::table::{Doc, Key};

/// The conversation side of an issue or a pull request; its number is its key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Issue {
    pub repo: Id,
    pub number: u64,
    pub id: Id,
    pub title: String,
    pub body: Option<String>,
    pub author: Id,
    pub state: IssueState,
    /// `completed`, `not_planned`, `reopened`; issues only.
    pub state_reason: Option<String>,
    /// Label ids, in the order they were added.
    pub labels: Vec<Id>,
    pub assignees: Vec<Id>,
    pub locked: bool,
    pub is_pull: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    pub closed_by: Option<Id>,
}

impl Doc for Issue {
    const KIND: &'static str = "issue";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.number }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssueState {
    Open,
    Closed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comment {
    pub repo: Id,
    pub id: Id,
    /// The issue or pull request.
    pub number: u64,
    pub author: Id,
    /// The app it was written through.
    pub via_app: Option<Id>,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Who made the last edit.
    #[serde(default)]
    pub editor: Option<Id>,
}

impl Doc for Comment {
    const KIND: &'static str = "comment";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reaction {
    pub repo: Id,
    pub id: Id,
    pub subject: ReactionSubject,
    /// `+1`, `-1`, `laugh`, `confused`, `heart`, `hooray`, `rocket`, `eyes`.
    pub content: String,
    pub user: Id,
    pub created_at: Timestamp,
}

impl Doc for Reaction {
    const KIND: &'static str = "reaction";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReactionSubject {
    /// An issue or pull request, by number.
    Issue(u64),
    Comment(Id),
    ReviewComment(Id),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Label {
    pub repo: Id,
    pub id: Id,
    pub name: String,
    pub color: String,
    pub description: Option<String>,
}

impl Doc for Label {
    const KIND: &'static str = "label";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

/// A line of the timeline: `merged`, `closed`, `reopened`, `renamed`, `base_ref_changed`, `head_ref_deleted`, …
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IssueEvent {
    pub repo: Id,
    pub id: Id,
    pub number: u64,
    pub actor: Id,
    pub event: String,
    /// What the event carries besides, as GitHub names it (`commit_id`, `rename`, `label`, …).
    pub details: Value,
    pub created_at: Timestamp,
}

impl Doc for IssueEvent {
    const KIND: &'static str = "issue_event";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}
