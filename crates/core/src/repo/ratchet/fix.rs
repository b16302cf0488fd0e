//! A fixer on its way: sent, at work, held, pushed.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::brief::FixIssue;
use super::status::{FixOutcome, WorkspaceReason};
use crate::ids::{BranchName, PrNumber, RunId, Sha};
use crate::repo::Attribution;
use crate::workflow::RunStatus;

/// What a fixer was sent for, and how far it is. A pull request has one at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// When it was sent: with the number of the pull request, its name.
    pub at: Timestamp,
    pub issue: FixIssue,
    pub branch: BranchName,
    pub base: BranchName,
    /// The head, and the run of CI, that it was sent for.
    pub head: Sha,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    #[serde(default)]
    pub conflicts: bool,
    /// What reviewers wanted then.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub points: BTreeMap<String, Timestamp>,
    /// What the failure looked like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    #[serde(default)]
    pub phase: FixPhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How often its process was begun: more than once only where the daemon ended meanwhile.
    #[serde(default)]
    pub starts: u32,
    /// How often in a row something about it failed, and when that is tried again.
    #[serde(default)]
    pub failures: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// How its process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<FixExit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exited_at: Option<Timestamp>,
    /// Who approved its push, where that was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<FixApproval>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixApproval {
    pub at: Timestamp,
    #[serde(flatten)]
    pub behest: Attribution,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum FixPhase {
    /// It waits for its turn, or its checkout is being made.
    #[default]
    Queued,
    Running,
    /// What it wants to push waits for somebody's approval, because of this file.
    Held {
        push: FixPush,
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// Its push is on its way to GitHub.
    Pushing {
        push: FixPush,
        /// It may have arrived: it is looked for first.
        #[serde(default)]
        doubted: bool,
        /// Why pushing it once more would not help, if it has not arrived.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hopeless: Option<String>,
    },
}

/// What a fixer wants to push.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FixPush {
    pub from: Sha,
    pub to: Sha,
    pub tree: Sha,
    /// What it changes: all of it as long as it is to be decided on, what is listed of it afterwards.
    #[serde(default)]
    pub files: Vec<String>,
    /// How many files it changes beyond these.
    #[serde(default)]
    pub unlisted: usize,
}

/// So many files of a push are remembered. Whoever decides on it is shown its diff as well.
const MOST_FILES: usize = 300;

impl FixPush {
    /// As it is remembered.
    pub fn listed(mut self) -> Self {
        self.unlisted += self.files.len().saturating_sub(MOST_FILES);
        self.files.truncate(MOST_FILES);
        self
    }

    /// How many files it changes.
    pub fn count(&self) -> usize {
        self.files.len() + self.unlisted
    }
}

/// How a fixer's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixEnd {
    pub exit: FixExit,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<FixPush>,
    /// Why nothing of what it pushed can be taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// What it wants to push, for whoever has to decide on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// Whether it meant to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixExit {
    /// By itself, content.
    Done,
    /// By itself, reporting failure.
    Failed {
        told: String,
    },
    /// Not by itself: killed, over its limits, or never begun.
    Died {
        told: String,
    },
    TimedOut {
        told: String,
    },
    /// It was asked to end.
    Stopped,
}

impl FixExit {
    /// Why it ended, for whoever reads about a fixer that did not push.
    pub fn reason(&self) -> WorkspaceReason {
        match self {
            Self::Done => WorkspaceReason::FixerGaveUp,
            Self::Failed { .. } => WorkspaceReason::FixerFailed,
            Self::Died { .. } => WorkspaceReason::FixerDied,
            Self::TimedOut { .. } => WorkspaceReason::FixerTimedOut,
            Self::Stopped => WorkspaceReason::FixerCancelled,
        }
    }

    pub fn told(&self) -> Option<&str> {
        match self {
            Self::Done | Self::Stopped => None,
            Self::Failed { told } | Self::Died { told } | Self::TimedOut { told } => Some(told),
        }
    }
}

/// How a fix ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixResult {
    /// Not under its own name: whoever wanted it may give a reason, too, and both are parts of one event.
    #[serde(rename = "outcome")]
    pub reason: WorkspaceReason,
    /// What there is to say beyond the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// The head that it pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Sha>,
    #[serde(flatten)]
    pub behest: Attribution,
}

impl FixResult {
    pub fn by_itself(reason: WorkspaceReason, told: Option<String>) -> Self {
        Self { reason, told, pushed: None, behest: Attribution::default() }
    }

    /// What its run came to. A fixer that looked and found nothing to do has done its work.
    pub fn as_run(&self) -> RunStatus {
        match self.reason.fix_outcome() {
            FixOutcome::Pushed | FixOutcome::GaveUp => RunStatus::Completed,
            FixOutcome::Cancelled | FixOutcome::PrClosed => RunStatus::Cancelled,
            FixOutcome::TimedOut | FixOutcome::Outpaced | FixOutcome::Failed => RunStatus::Failed,
        }
    }

    /// What is told of it, in full.
    pub fn sentence(&self) -> String {
        match &self.told {
            Some(told) => format!("{}: {told}", self.reason.sentence()),
            None => self.reason.sentence().to_owned(),
        }
    }
}

/// Whether a push is known to have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DidPush {
    Yes,
    No,
    /// It could not be found out, which is no reason to believe either.
    Unknown,
}

/// The name of the run that a fix is.
pub fn run_id(pr: PrNumber, at: Timestamp, head: &Sha) -> RunId {
    let name = format!("{pr}\n{}\n{head}", at.as_millisecond());
    let digest = digest(&SHA256, name.as_bytes());
    let hex = hex::encode(&digest.as_ref()[..12]);
    RunId::parse(format!("fixer-{hex}")).expect("letters, digits and a dash")
}

impl Fix {
    pub fn run_id(&self, pr: PrNumber) -> RunId {
        run_id(pr, self.at, &self.head)
    }

    pub fn as_run(&self) -> RunStatus {
        match self.phase {
            FixPhase::Queued if self.starts == 0 => RunStatus::Pending,
            FixPhase::Queued | FixPhase::Running | FixPhase::Pushing { .. } => RunStatus::Running,
            FixPhase::Held { .. } => RunStatus::AwaitingApproval,
        }
    }

    /// Whether it is at work: not before it has begun, and not while what it did waits for a person.
    pub fn is_working(&self) -> bool {
        self.starts > 0 && !self.is_held()
    }

    pub fn is_held(&self) -> bool {
        matches!(self.phase, FixPhase::Held { .. })
    }

    /// Whether it may be gone on with.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.retry_at.is_none_or(|at| at <= now)
    }

    pub(super) fn started(&mut self, ts: Timestamp) {
        self.phase = FixPhase::Running;
        self.starts += 1;
        self.started_at = self.started_at.or(Some(ts));
        (self.failures, self.retry_at) = (0, None);
    }

    pub(super) fn delayed(&mut self, retry_at: Timestamp) {
        self.failures += 1;
        self.retry_at = Some(retry_at);
    }

    pub(super) fn push_intended(&mut self, exit: &FixExit, push: &FixPush, behest: &Attribution, ts: Timestamp) {
        self.exit = Some(exit.clone());
        self.exited_at = self.exited_at.or(Some(ts));
        if self.is_held() {
            self.approved = Some(FixApproval { at: ts, behest: behest.clone() });
        }
        (self.failures, self.retry_at) = (0, None);
        self.phase = FixPhase::Pushing { push: push.clone(), doubted: false, hopeless: None };
    }

    /// The push may have arrived.
    pub(super) fn push_doubted(&mut self, why_hopeless: Option<String>) {
        if let FixPhase::Pushing { doubted, hopeless, .. } = &mut self.phase {
            (*doubted, *hopeless) = (true, why_hopeless);
        }
    }

    /// The push is known not to have arrived.
    pub(super) fn push_missed(&mut self) {
        if let FixPhase::Pushing { doubted, hopeless, .. } = &mut self.phase {
            (*doubted, *hopeless) = (false, None);
        }
    }
}
