//! Reactions to comments: giving and listing them.

use merge_train_core::ids::{CommentId, UserId};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::Repo;
use crate::error::Error;
use crate::governor::Effect;
use crate::wire::{self, id_of};

/// What can be put under a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reaction {
    #[serde(rename = "+1")]
    ThumbsUp,
    #[serde(rename = "-1")]
    ThumbsDown,
    Laugh,
    Confused,
    Heart,
    Hooray,
    Rocket,
    Eyes,
}

/// A reaction that somebody gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenReaction {
    pub by: UserId,
    pub reaction: Reaction,
}

#[derive(Deserialize)]
struct Given {
    user: Option<wire::Actor>,
    content: Reaction,
}

impl Repo {
    pub async fn reactions(&self, comment: CommentId) -> Result<Vec<GivenReaction>, Error> {
        let given: Vec<Given> =
            self.list(self.get(&["issues", "comments", &comment.to_string(), "reactions"]).cached()).await?;
        let facts = |given: Given| GivenReaction { by: id_of(given.user.as_ref()), reaction: given.content };
        Ok(given.into_iter().map(facts).collect())
    }

    /// Doing it twice leaves one.
    pub async fn react(&self, comment: CommentId, reaction: Reaction) -> Result<(), Error> {
        let call = self
            .write(Method::POST, &["issues", "comments", &comment.to_string(), "reactions"], Effect::Content)
            .json(&json!({ "content": reaction }));
        self.send(&call).await?;
        Ok(())
    }
}
