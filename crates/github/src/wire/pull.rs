//! GitHub's JSON of a pull request, and of the shorter form in review events.

use jiff::Timestamp;
use merge_train_core::facts::{HeadRepo, PullFacts, PullState};
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use serde::Deserialize;

use super::{Actor, id_of};

/// A pull request, from a `pull_request` event, from the list or by itself: the shorter forms lack `merged`.
#[derive(Debug, Deserialize)]
pub(crate) struct Pull {
    pub number: PrNumber,
    pub state: State,
    #[serde(default)]
    pub draft: Option<bool>,
    #[serde(default)]
    pub merged: Option<bool>,
    pub merged_at: Option<Timestamp>,
    pub closed_at: Option<Timestamp>,
    pub updated_at: Timestamp,
    pub merge_commit_sha: Option<Sha>,
    #[serde(default)]
    pub title: String,
    pub user: Option<Actor>,
    pub head: Side,
    pub base: Side,
    /// Set where the pull request is part of one of GitHub's own stacks.
    #[serde(default)]
    pub stack: Option<Stacked>,
    #[serde(default)]
    pub labels: Vec<Label>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Label {
    pub name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Stacked {
    pub position: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Open,
    Closed,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Side {
    #[serde(rename = "ref")]
    pub branch: BranchName,
    pub sha: Sha,
    /// Null when the fork was deleted.
    pub repo: Option<SideRepo>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct SideRepo {
    pub id: Option<u64>,
    pub full_name: Option<String>,
}

/// The little of a pull request that a review's event is read for.
#[derive(Debug, Deserialize)]
pub(crate) struct Head {
    pub sha: Sha,
}

impl Pull {
    pub(crate) fn facts(&self) -> PullFacts {
        PullFacts {
            number: self.number,
            head_ref: self.head.branch.clone(),
            head_sha: self.head.sha.clone(),
            head_repo: self.head_repo(),
            base_ref: self.base.branch.clone(),
            state: self.pull_state(),
            draft: self.draft.unwrap_or(false),
            author: id_of(self.user.as_ref()),
            updated_at: self.updated_at,
            stack_position: self.stack.as_ref().and_then(|stack| stack.position),
            title: self.title.clone(),
            labels: self.labels.iter().map(|label| label.name.clone()).collect(),
        }
    }

    /// Whatever cannot be shown to be the same repository is a fork: the bot must never push to the wrong place.
    fn head_repo(&self) -> HeadRepo {
        let (Some(head), Some(base)) = (&self.head.repo, &self.base.repo) else { return HeadRepo::Fork };
        let same = match ((head.id, base.id), (&head.full_name, &base.full_name)) {
            ((Some(head), Some(base)), _) => head == base,
            (_, (Some(head), Some(base))) => head.eq_ignore_ascii_case(base),
            _ => false,
        };
        if same { HeadRepo::Same } else { HeadRepo::Fork }
    }

    fn pull_state(&self) -> PullState {
        let closed_at = self.closed_at.unwrap_or(self.updated_at);
        if self.merged == Some(true) || self.merged_at.is_some() {
            let at = self.merged_at.unwrap_or(closed_at);
            return PullState::Merged { merge_commit_sha: self.merge_commit_sha.clone(), at };
        }
        match self.state {
            State::Open => PullState::Open,
            State::Closed => PullState::Closed { at: closed_at },
        }
    }
}
