//! What GitHub says of a pull request, as the ratchet sees it, and what of it is news.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::facts::{
    CheckConclusion, CheckProgress, CiFacts, HeartbeatFacts, MergeFacts, MergeState, ReviewActivity, ReviewDecision,
};
use crate::ids::{BranchName, Sha};

/// All checks of a head, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CiSummary {
    /// Nothing was reported.
    None,
    InProgress,
    Failed,
    Passed,
}

impl CiSummary {
    pub fn of(facts: &CiFacts) -> Self {
        let has = |verdict: CheckConclusion| {
            facts.overall == Some(verdict) || facts.checks.values().any(|check| check.verdict == verdict)
        };
        let is_under_way = facts.suites.values().any(|progress| *progress == CheckProgress::UnderWay);
        match facts {
            _ if has(CheckConclusion::Pending) || is_under_way => Self::InProgress,
            _ if has(CheckConclusion::Failed) => Self::Failed,
            _ if has(CheckConclusion::Passed) => Self::Passed,
            _ => Self::None,
        }
    }

    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Failed | Self::Passed)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InProgress => "in_progress",
            Self::Failed => "failed",
            Self::Passed => "passed",
        }
    }
}

/// What is seen of a pull request in one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedPullRequest {
    pub head: Sha,
    pub ci: CiSummary,
    /// Which run of CI it is: another whenever CI began again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub merge_state: MergeState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewDecision>,
    /// What reviewers want that no fixer has dealt with: which, and when it was last said.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub points: BTreeMap<String, Timestamp>,
    /// How much of what reviewers said is not resolved, whether or not a fixer has dealt with it.
    #[serde(default)]
    pub unresolved: usize,
    /// Changes whenever anything was said, edited, resolved or taken back.
    pub talk: String,
}

impl ObservedPullRequest {
    pub fn conflicts(&self) -> bool {
        self.merge_state == MergeState::Dirty
    }

    /// What a decision was made on, for whoever reads about it later.
    pub fn snapshot(&self) -> Value {
        json!({
            "headSha": self.head,
            "ci": { "status": self.ci.as_str(), "runId": self.run },
            "mergeState": self.merge_state,
            "reviewDecision": self.review,
            "reviewPoints": self.points.len(),
            "conflicts": self.conflicts(),
        })
    }
}

/// How far what GitHub says was dealt with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Markers {
    #[serde(flatten)]
    pub seen: ObservedPullRequest,
    pub enabled: bool,
}

/// A kind of news about a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RatchetDelta {
    Head,
    Ci,
    Review,
    Mergeability,
    Toggle,
}

impl Markers {
    /// What is new since. CI that has not come to an end is no news yet.
    pub fn changes(since: Option<&Self>, now: &Self) -> BTreeSet<RatchetDelta> {
        let Some(since) = since else {
            return [
                RatchetDelta::Head,
                RatchetDelta::Ci,
                RatchetDelta::Review,
                RatchetDelta::Mergeability,
                RatchetDelta::Toggle,
            ]
            .into();
        };
        let (old, new) = (&since.seen, &now.seen);
        let ci = new.ci.is_terminal() && (old.ci, &old.run) != (new.ci, &new.run);
        // What GitHub has not computed says nothing.
        let mergeability = new.merge_state != MergeState::Unknown && old.merge_state != new.merge_state;
        let review = (old.review, &old.points, &old.talk) != (new.review, &new.points, &new.talk);
        let found = [
            (RatchetDelta::Head, old.head != new.head),
            (RatchetDelta::Ci, ci),
            (RatchetDelta::Review, review),
            (RatchetDelta::Mergeability, mergeability),
            (RatchetDelta::Toggle, since.enabled != now.enabled),
        ];
        found.into_iter().filter(|(_, is_new)| *is_new).map(|(change, _)| change).collect()
    }
}

/// What a heartbeat compares: little enough to be kept for each workspace, and another whenever something is worth a closer look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatFingerprint {
    head: Sha,
    base: BranchName,
    merge_state: MergeState,
    draft: bool,
    review: Option<ReviewDecision>,
    ci: CiFacts,
    overview: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl HeartbeatFingerprint {
    pub fn of(merge: &MergeFacts, talk: &ReviewActivity) -> Self {
        Self {
            head: merge.head_sha.clone(),
            base: merge.base_ref.clone(),
            merge_state: merge.state,
            draft: merge.draft,
            review: merge.review,
            ci: merge.ci.clone(),
            overview: talk.overview.clone(),
            detail: talk.detail.as_ref().map(|detail| detail.mark.clone()),
        }
    }

    /// Whether a glance shows something else. What it did not look at, and what GitHub has not computed, is not held against it.
    pub fn differs_from(&self, glance: &HeartbeatFacts) -> bool {
        let new = Self::of(&glance.merge, &glance.talk);
        let is_settled = new.merge_state != MergeState::Unknown;
        let is_deeper = new.detail.is_some() && self.detail.is_some();
        !glance.merge.is_open
            || (&self.head, &self.base, self.draft, self.review) != (&new.head, &new.base, new.draft, new.review)
            || (&self.ci, &self.overview) != (&new.ci, &new.overview)
            || (is_settled && self.merge_state != new.merge_state)
            || (is_deeper && self.detail != new.detail)
    }
}
