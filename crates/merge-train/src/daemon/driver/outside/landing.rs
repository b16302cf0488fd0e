//! What is asked of GitHub for a train: to squash, to retarget, and what became of that.

use std::time::Duration;

use github::{Class, MergeOutcome, MergeProgress, SquashMerge};
use merge_train_core::backoff::ExponentialBackoff;
use merge_train_core::facts::PullState;
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::message::SquashMessageTemplates;
use merge_train_core::repo::trains::work::{MergeEndpoint, ObservedSquash, RetargetOutcome, SquashOutcome};
use tokio::time::Instant;

use super::EffectRun;
use super::failure::{of_github, transient};

/// How soon a merge in the background is asked about again.
const ASK_AGAIN: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_millis(250), Duration::from_secs(8));
/// After so long the train looks at the pull request instead.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is to be squashed, and how.
pub(super) struct SquashRequest<'a> {
    pub pull: PrNumber,
    pub head: &'a Sha,
    pub base: &'a BranchName,
    pub via: MergeEndpoint,
    pub wording: &'a SquashMessageTemplates,
}

impl EffectRun<'_> {
    /// GitHub guards the head, and nothing guards the base: it is looked at just before.
    pub(super) async fn squash(&self, order: &SquashRequest<'_>) -> Result<SquashOutcome, EffectFailure> {
        let SquashRequest { pull, head, base, via, wording } = *order;
        let now = self.urgent().pull(pull).await.map_err(of_github)?.facts;
        match now.state {
            PullState::Merged { merge_commit_sha: Some(commit), .. } => return Ok(SquashOutcome::Merged { commit }),
            PullState::Open if now.base_ref != *base => return Ok(SquashOutcome::BaseChanged { base: now.base_ref }),
            PullState::Open | PullState::Closed { .. } | PullState::Merged { .. } => {}
        }
        let message = self.squash_message(pull, wording).await?;
        let merge = SquashMerge { head, title: message.title.as_deref(), message: message.body.as_deref() };
        match via {
            MergeEndpoint::Now => {
                let outcome = self.urgent().squash_merge(pull, &merge).await.map_err(of_github)?;
                Ok(match outcome {
                    MergeOutcome::Merged { sha } => SquashOutcome::Merged { commit: sha },
                    MergeOutcome::HeadChanged { .. } => SquashOutcome::HeadChanged,
                    MergeOutcome::NotMergeable { message } => SquashOutcome::Refused { message },
                })
            }
            MergeEndpoint::Background => self.squash_in_background(pull, &merge).await,
        }
    }

    async fn squash_in_background(
        &self,
        pull: PrNumber,
        merge: &SquashMerge<'_>,
    ) -> Result<SquashOutcome, EffectFailure> {
        let repo = self.urgent();
        let deadline = Instant::now() + PATIENCE;
        let mut asked = 0;
        let mut progress = repo.request_squash(pull, merge).await.map_err(of_github)?;
        loop {
            let ticket = match progress {
                MergeProgress::Merged { sha } => return Ok(SquashOutcome::Merged { commit: sha }),
                MergeProgress::HeadChanged { .. } => return Ok(SquashOutcome::HeadChanged),
                MergeProgress::Failed { message } => return Ok(SquashOutcome::Refused { message }),
                MergeProgress::Queued { message } => {
                    let message = format!("GitHub put #{pull} into a merge queue ({message})");
                    return Ok(SquashOutcome::Refused { message });
                }
                MergeProgress::Pending { head: Some(other), .. } if other != *merge.head => {
                    let message =
                        format!("GitHub was already asked to merge #{pull}, at {other} and not at {}", merge.head);
                    return Ok(SquashOutcome::Refused { message });
                }
                MergeProgress::Pending { ticket, .. } => ticket,
            };
            let wait = ASK_AGAIN.delay(asked);
            if Instant::now() + wait > deadline {
                let patience = PATIENCE.as_secs();
                return Err(transient(format!("GitHub has neither merged nor refused #{pull} within {patience} s")));
            }
            tokio::time::sleep(wait).await;
            asked += 1;
            progress = repo.merge_progress(pull, &ticket).await.map_err(of_github)?;
        }
    }

    pub(super) async fn look(&self, pull: PrNumber) -> Result<ObservedSquash, EffectFailure> {
        let facts = self.urgent().pull(pull).await.map_err(of_github)?.facts;
        Ok(match facts.state {
            PullState::Open => ObservedSquash::Open { head: facts.head_sha },
            PullState::Closed { .. } => ObservedSquash::Closed,
            PullState::Merged { merge_commit_sha, .. } => ObservedSquash::Merged { commit: merge_commit_sha },
        })
    }

    pub(super) async fn retarget(&self, pull: PrNumber, base: &BranchName) -> Result<RetargetOutcome, EffectFailure> {
        let repo = self.urgent();
        let Err(refusal) = repo.retarget(pull, base).await else { return Ok(RetargetOutcome::Done) };
        if refusal.class() != Class::Permanent {
            return Err(of_github(refusal));
        }
        // Whether it is refused because it is closed, or done already, is told by the pull request and not by the words.
        let facts = repo.pull(pull).await.map_err(of_github)?.facts;
        match facts.state {
            PullState::Open if facts.base_ref == *base => Ok(RetargetOutcome::Done),
            PullState::Open => Err(of_github(refusal)),
            PullState::Closed { .. } | PullState::Merged { .. } => Ok(RetargetOutcome::NotOpen),
        }
    }
}
