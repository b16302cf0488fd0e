//! Whether pull requests can be merged, and what CI and reviewers say of them: fifty in one call.

use std::collections::HashMap;
use std::time::Duration;

use merge_train_core::facts::{CiFacts, MergeFacts, MergeState, ReviewDecision};
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::Instant;

use super::ci;
use super::query::about_pulls;
use crate::client::Repo;
use crate::error::Error;

const PULLS_PER_CALL: usize = 50;
/// For a server that finds fifty with all their checks too much for one question.
const PULLS_PER_SMALL_CALL: usize = 10;
/// What every server knows.
const PLAIN_FIELDS: &str = "number state headRefOid baseRefName mergeStateStatus isDraft";

/// The merge states of those pull requests that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeStates {
    /// In the order they were asked for.
    pub found: Vec<MergeFacts>,
    pub missing: Vec<PrNumber>,
}

/// How a repository is asked: the first way that its server did not refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    Full,
    /// Fewer at a time, since so much at once is refused.
    Small,
    /// Without reviews and checks: the server is older than they are, or the app may not see them.
    Plain,
}

/// For how long a repository is not asked in full. It may have been a mood of the server's.
const LEARNED_FOR: Duration = Duration::from_secs(60 * 60);

/// The repositories that are not asked in full, and since when.
#[derive(Default)]
pub(crate) struct Manners(Mutex<HashMap<RepoId, (Manner, Instant)>>);

impl Manners {
    /// So that the next question is a full one: the app may be allowed to see more by now.
    pub(crate) fn forget(&self, forgotten: impl Fn(&RepoId) -> bool) {
        self.0.lock().retain(|repo, _| !forgotten(repo));
    }

    pub(super) fn of(&self, repo: &RepoId) -> Manner {
        match self.0.lock().get(repo) {
            Some((manner, since)) if since.elapsed() < LEARNED_FOR => *manner,
            _ => Manner::Full,
        }
    }

    pub(super) fn learn(&self, repo: &RepoId, manner: Manner) {
        self.0.lock().insert(repo.clone(), (manner, Instant::now()));
    }
}

impl Manner {
    pub(super) fn pulls_per_call(self) -> usize {
        match self {
            Self::Full | Self::Plain => PULLS_PER_CALL,
            Self::Small => PULLS_PER_SMALL_CALL,
        }
    }

    pub(super) fn fields(self) -> String {
        match self {
            Self::Full | Self::Small => format!("{PLAIN_FIELDS} reviewDecision {}", ci::FIELDS),
            Self::Plain => PLAIN_FIELDS.to_owned(),
        }
    }

    /// What to try when the server refuses the question itself.
    pub(super) fn after(self, refusal: &Error) -> Option<Self> {
        match (self, refusal) {
            (Self::Full, Error::Unprocessable { .. }) => Some(Self::Small),
            (Self::Full, Error::Forbidden { .. })
            | (Self::Small, Error::Unprocessable { .. } | Error::Forbidden { .. }) => Some(Self::Plain),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Raw {
    number: PrNumber,
    state: String,
    head_ref_oid: Sha,
    base_ref_name: BranchName,
    merge_state_status: String,
    is_draft: bool,
    #[serde(default)]
    review_decision: Option<String>,
    #[serde(default)]
    commits: ci::Commits,
}

impl Repo {
    pub async fn merge_states(&self, numbers: &[PrNumber]) -> Result<MergeStates, Error> {
        let manners = self.client().manners();
        let mut manner = manners.of(self.id());
        loop {
            let refusal = match self.merge_states_by(manner, numbers).await {
                Ok(states) => return Ok(states),
                Err(error) => error,
            };
            let Some(next) = manner.after(&refusal) else { return Err(refusal) };
            tracing::debug!(repo = %self.id(), %refusal, ?next, "GitHub refuses to return that many pull requests at \
                 once");
            manners.learn(self.id(), next);
            manner = next;
        }
    }

    async fn merge_states_by(&self, manner: Manner, numbers: &[PrNumber]) -> Result<MergeStates, Error> {
        let mut states = MergeStates::default();
        for numbers in numbers.chunks(manner.pulls_per_call()) {
            let (query, variables) = about_pulls(numbers, &manner.fields());
            let mut answer = self.query(&query, variables).await?;
            for (index, number) in numbers.iter().enumerate() {
                match answer.take::<Raw>(&format!("p{index}"))? {
                    Some(raw) => states.found.push(facts(raw)),
                    None => states.missing.push(*number),
                }
            }
        }
        Ok(states)
    }
}

pub(super) fn facts(raw: Raw) -> MergeFacts {
    let state = match raw.merge_state_status.as_str() {
        "CLEAN" => MergeState::Clean,
        "UNSTABLE" => MergeState::Unstable,
        "BLOCKED" => MergeState::Blocked,
        "BEHIND" => MergeState::Behind,
        "DIRTY" => MergeState::Dirty,
        "HAS_HOOKS" => MergeState::HasHooks,
        "DRAFT" => MergeState::Draft,
        // Also what GitHub may come to say one day: not a reason to merge.
        _ => MergeState::Unknown,
    };
    let review = match raw.review_decision.as_deref() {
        None => None,
        Some("APPROVED") => Some(ReviewDecision::Approved),
        Some("CHANGES_REQUESTED") => Some(ReviewDecision::ChangesRequested),
        // Also what GitHub may come to say one day: not an approval.
        Some(_) => Some(ReviewDecision::ReviewRequired),
    };
    let own_file = raw.commits.own_file_of(&raw.head_ref_oid);
    let ci: CiFacts = raw.commits.ci_of(&raw.head_ref_oid);
    MergeFacts {
        number: raw.number,
        is_open: raw.state == "OPEN",
        head_sha: raw.head_ref_oid,
        base_ref: raw.base_ref_name,
        state,
        draft: raw.is_draft,
        review,
        ci,
        own_file,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_learned_of_a_server_is_forgotten_after_an_hour() {
        let (manners, repo) = (Manners::default(), RepoId::new("acme", "widgets").expect("a repository"));
        manners.learn(&repo, Manner::Plain);
        tokio::time::advance(LEARNED_FOR - Duration::from_secs(1)).await;
        assert_eq!(manners.of(&repo), Manner::Plain);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(manners.of(&repo), Manner::Full);
    }
}
