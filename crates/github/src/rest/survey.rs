//! A full look at a repository, to start from or to check what is remembered.

use jiff::Timestamp;
use merge_train_core::facts::{CommentFacts, RepoFacts};
use merge_train_core::ids::PrNumber;

use crate::client::Repo;
use crate::error::Error;

/// How a comment addresses the bot.
const MENTION: &str = "@merge-train";

impl Repo {
    /// The open pull requests, those closed since `cutoff`, and what was said to the bot under the open ones.
    pub async fn survey(&self, cutoff: Timestamp) -> Result<RepoFacts, Error> {
        let (settings, open, closed, bot) = tokio::try_join!(
            self.settings(),
            self.open_pulls(),
            self.closed_pulls(cutoff),
            Box::pin(self.client().whoami(self.id()))
        )?;
        let numbers: Vec<PrNumber> = open.iter().map(|pull| pull.number).collect();
        let mut comments: Vec<CommentFacts> = self.conversations(&numbers).await?;
        comments.retain(|comment| addresses_the_bot(&comment.body));
        comments.sort_by_key(|comment| (comment.created_at, comment.id));
        let mut pulls = open;
        // One that closed between the two lists is in both; the list of the closed ones is the later word.
        pulls.retain(|pull| !closed.iter().any(|other| other.number == pull.number));
        pulls.extend(closed);
        Ok(RepoFacts { default_branch: settings.default_branch, pulls, comments, bot: bot.id })
    }
}

fn addresses_the_bot(body: &str) -> bool {
    body.as_bytes().windows(MENTION.len()).any(|window| window.eq_ignore_ascii_case(MENTION.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::addresses_the_bot;

    #[test]
    fn the_bot_is_addressed_in_any_case() {
        for (body, expected) in
            [("hi @Merge-Train start", true), ("merge-train", false), ("", false), ("é@merge-train", true)]
        {
            assert_eq!(addresses_the_bot(body), expected, "{body}");
        }
    }
}
