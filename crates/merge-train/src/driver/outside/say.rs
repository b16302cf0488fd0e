//! Saying what is owed, once.

use github::{Class, Reaction};
use merge_train_core::facts::PullState;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::{Failure, FailureKind, Say, Tried};
use merge_train_core::train::texts::answer;

use super::Errand;
use super::failure::of_github;

/// Where something is said, and how it is known again.
pub(super) struct Saying {
    pub pr: PrNumber,
    pub mark: String,
    pub tried: Tried,
}

impl Errand<'_> {
    pub(super) async fn say(&self, saying: &Saying, say: Say) -> Result<(), Failure> {
        match say {
            Say::Acknowledge { comment } => self.repo.react(comment, Reaction::ThumbsUp).await.map_err(of_github),
            Say::Close {} => self.close(saying.pr).await,
            Say::Comment { body } => self.comment(saying, async || Ok(body)).await,
            Say::Plan { members, default } => {
                let told = async || match self.plan(&members, &default).await {
                    Ok(plan) => Ok(answer::plan(&plan)),
                    Err(failure) if failure.kind == FailureKind::Transient => Err(failure),
                    // That it cannot be told is an answer too.
                    Err(failure) => Ok(format!("The plan could not be computed: {}", failure.reason)),
                };
                self.comment(saying, told).await
            }
        }
    }

    /// Writes a comment, unless one with its mark is there already.
    async fn comment(
        &self,
        saying: &Saying,
        body: impl AsyncFnOnce() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        let Saying { pr, mark, tried } = saying;
        if *tried == Tried::Perhaps {
            let comments = self.repo.comments(*pr).await.map_err(of_github)?;
            if comments.iter().any(|found| found.body.contains(mark)) {
                return Ok(());
            }
        }
        let body = body().await?;
        self.repo.create_comment(*pr, &format!("{body}\n\n{mark}")).await.map(drop).map_err(of_github)
    }

    async fn close(&self, pr: PrNumber) -> Result<(), Failure> {
        let Err(refusal) = self.repo.close(pr).await else { return Ok(()) };
        if refusal.class() == Class::Permanent
            && let Ok(pull) = self.repo.pull(pr).await
            && pull.facts.state != PullState::Open
        {
            return Ok(());
        }
        Err(of_github(refusal))
    }
}
