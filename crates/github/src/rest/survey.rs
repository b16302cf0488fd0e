//! A full look at a repository, to start from or to check what is remembered.

use jiff::Timestamp;
use merge_train_core::facts::{CommentFacts, PullState, RepoFacts, RepoListing};
use merge_train_core::ids::PrNumber;

use crate::client::Repo;
use crate::error::Error;

impl Repo {
    /// The open pull requests, those closed since `cutoff`, and as whom GitHub knows the caller.
    pub async fn listing(&self, cutoff: Timestamp) -> Result<RepoListing, Error> {
        let (settings, open, closed, bot) = tokio::try_join!(
            self.settings(),
            self.open_pulls(),
            self.closed_pulls(cutoff),
            Box::pin(self.client().whoami(self.id()))
        )?;
        let mut pulls = open;
        // One that closed between the two lists is in both; the list of the closed ones is the later word.
        pulls.retain(|pull| !closed.iter().any(|other| other.number == pull.number));
        pulls.extend(closed);
        Ok(RepoListing { default_branch: settings.default_branch, pulls, bot: bot.id })
    }

    /// The same, with what was said to the bot under the open ones.
    pub async fn survey(&self, cutoff: Timestamp) -> Result<RepoFacts, Error> {
        let RepoListing { default_branch, pulls, bot } = self.listing(cutoff).await?;
        let open = pulls.iter().filter(|pull| pull.state == PullState::Open);
        let numbers: Vec<PrNumber> = open.map(|pull| pull.number).collect();
        let conversations = self.conversations(&numbers).await?;
        let mut comments: Vec<CommentFacts> = conversations.into_iter().flat_map(|heard| heard.comments).collect();
        comments.sort_by_key(|comment| (comment.created_at, comment.id));
        Ok(RepoFacts { default_branch, pulls, comments, bot })
    }
}
