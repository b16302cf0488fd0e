//! GitHub's JSON of an issue comment.

use jiff::Timestamp;
use merge_train_core::facts::CommentFacts;
use merge_train_core::ids::{CommentId, PrNumber};
use serde::Deserialize;

use super::{Actor, id_of, login_of};

/// A comment in the conversation of an issue or of a pull request.
#[derive(Debug, Deserialize)]
pub(crate) struct Comment {
    pub id: CommentId,
    pub user: Option<Actor>,
    pub body: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Only REST tells; a webhook has the whole issue beside the comment.
    pub issue_url: Option<String>,
}

impl Comment {
    pub(crate) fn into_facts(self, pr: PrNumber) -> CommentFacts {
        CommentFacts {
            id: self.id,
            pr,
            author: id_of(self.user.as_ref()),
            login: login_of(self.user.as_ref()),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// The number at the end of `issue_url`.
    pub(crate) fn issue(&self) -> Option<PrNumber> {
        self.issue_url.as_deref()?.rsplit('/').next()?.parse().ok().map(PrNumber::new)
    }
}
