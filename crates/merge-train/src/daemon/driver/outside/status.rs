//! The status comment, wherever it is.

use github::{Class, Error};
use merge_train_core::facts::CommentFacts;
use merge_train_core::ids::{CommentId, PrNumber, UserId};
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::status::{self, Unreadable};

use super::EffectRun;
use super::failure::of_github;

impl EffectRun<'_> {
    /// Makes the comment say `body`, and tells which comment that is. One that is gone, or is not ours to change, is replaced.
    pub(super) async fn write_status(
        &self,
        root: PrNumber,
        comment: Option<CommentId>,
        body: &str,
    ) -> Result<CommentId, EffectFailure> {
        if let Some(known) = comment {
            match self.update(known, body).await.map_err(of_github)? {
                Updated::Yes => return Ok(known),
                Updated::Gone => {}
            }
        }
        // One may have been written although its answer was lost.
        let bot = self.github.client.whoami(self.name).await.map_err(of_github)?.id;
        let comments = self.repo.comments(root).await.map_err(of_github)?;
        let ours = comments.iter().rev().find(|found| Some(found.id) != comment && is_status(found, bot, body));
        if let Some(found) = ours
            && let Updated::Yes = self.update(found.id, body).await.map_err(of_github)?
        {
            return Ok(found.id);
        }
        Ok(self.repo.create_comment(root, body).await.map_err(of_github)?.id)
    }

    /// What the comment shows, and by whom; none if it is gone.
    pub(super) async fn read_status(
        &self,
        root: PrNumber,
        comment: CommentId,
    ) -> Result<Option<CommentFacts>, EffectFailure> {
        // As part of the conversation: only there GitHub tells who wrote what it shows now.
        let conversations = self.urgent().conversations(&[root]).await.map_err(of_github)?;
        let mut comments = conversations.into_iter().flat_map(|heard| heard.comments);
        Ok(comments.find(|found| found.id == comment))
    }

    async fn update(&self, comment: CommentId, body: &str) -> Result<Updated, Error> {
        match self.repo.update_comment(comment, body).await {
            Ok(_) => Ok(Updated::Yes),
            Err(error) if matches!(error.class(), Class::NotFound | Class::Forbidden) => Ok(Updated::Gone),
            Err(error) => Err(error),
        }
    }
}

enum Updated {
    Yes,
    /// Deleted, or written by whoever the bot was before.
    Gone,
}

/// Whether it is the bot's own comment about a train. Anybody can write one that looks like it.
fn is_status(comment: &CommentFacts, bot: UserId, body: &str) -> bool {
    match status::parse(&comment.body, comment.author, bot) {
        Ok(_) | Err(Unreadable::Broken(_)) => true,
        // The last word on a train holds no record.
        Err(Unreadable::NoState) => comment.body == body,
        Err(Unreadable::NotOurs) => false,
    }
}
