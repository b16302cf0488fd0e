//! What is said about a commit: check suites, check runs, statuses, workflow runs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::repo::CiCheck;
use super::table::{Doc, Key};
use super::{Id, Sha};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckSuite {
    pub repo: Id,
    pub id: Id,
    pub app: Id,
    pub head_branch: Option<String>,
    pub head_sha: Sha,
    pub before: Option<Sha>,
    pub status: RunStatus,
    pub conclusion: Option<RunConclusion>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Doc for CheckSuite {
    const KIND: &'static str = "check_suite";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

/// Also a job of GitHub Actions: the two share their id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckRun {
    pub repo: Id,
    pub id: Id,
    pub suite: Id,
    pub app: Id,
    pub name: String,
    pub head_sha: Sha,
    pub external_id: String,
    pub details_url: Option<String>,
    pub status: RunStatus,
    pub conclusion: Option<RunConclusion>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub output: Output,
    /// The workflow run it is a job of.
    pub workflow_run: Option<Id>,
    pub steps: Vec<JobStep>,
    /// Which attempt of the workflow run it belongs to; 1 for whatever is no job.
    pub run_attempt: u64,
    /// The definition it runs by, so that it can be run again.
    pub ci: Option<CiCheck>,
    pub created_at: Timestamp,
}

impl Doc for CheckRun {
    const KIND: &'static str = "check_run";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Output {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Annotation {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    pub start_column: Option<u64>,
    pub end_column: Option<u64>,
    /// `notice`, `warning` or `failure`.
    pub annotation_level: String,
    pub title: Option<String>,
    pub message: String,
    pub raw_details: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobStep {
    pub name: String,
    pub number: u64,
    pub status: RunStatus,
    pub conclusion: Option<RunConclusion>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Queued,
    InProgress,
    Completed,
    Waiting,
    Requested,
    Pending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunConclusion {
    ActionRequired,
    Cancelled,
    Failure,
    Neutral,
    Success,
    Skipped,
    Stale,
    TimedOut,
    StartupFailure,
}

impl RunStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Waiting => "waiting",
            Self::Requested => "requested",
            Self::Pending => "pending",
        }
    }
}

impl RunConclusion {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ActionRequired => "action_required",
            Self::Cancelled => "cancelled",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Success => "success",
            Self::Skipped => "skipped",
            Self::Stale => "stale",
            Self::TimedOut => "timed_out",
            Self::StartupFailure => "startup_failure",
        }
    }

    /// A required check is satisfied by these.
    pub fn passes(self) -> bool {
        matches!(self, Self::Success | Self::Neutral | Self::Skipped)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommitStatus {
    pub repo: Id,
    pub id: Id,
    pub sha: Sha,
    pub context: String,
    pub state: StatusState,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub creator: Id,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Doc for CommitStatus {
    const KIND: &'static str = "status";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusState {
    Error,
    Failure,
    Pending,
    Success,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkflowRun {
    pub repo: Id,
    pub id: Id,
    pub name: String,
    pub path: String,
    pub workflow_id: Id,
    pub head_branch: Option<String>,
    pub head_sha: Sha,
    /// `push` or `pull_request`.
    pub event: String,
    pub run_number: u64,
    pub run_attempt: u64,
    pub suite: Id,
    pub status: RunStatus,
    pub conclusion: Option<RunConclusion>,
    pub actor: Id,
    /// Who asked for this attempt.
    pub triggering_actor: Id,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// When this attempt began.
    pub run_started_at: Timestamp,
}

impl Doc for WorkflowRun {
    const KIND: &'static str = "workflow_run";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

/// A command that waits to be run or runs. It is here until its result is known, so a restart runs it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CiJob {
    pub repo: Id,
    /// Also the id of its check run, if it has one, and of its log.
    pub id: Id,
    pub check: CiCheck,
    pub sha: Sha,
    pub branch: String,
    /// `push` or `pull_request`.
    pub event: String,
    /// None when only a status is reported.
    pub workflow_run: Option<Id>,
    /// Who pushed, or asked for it to be run again.
    pub actor: Id,
}

impl Doc for CiJob {
    const KIND: &'static str = "ci_job";
    fn key(&self) -> Key {
        Key { scope: self.repo, id: self.id }
    }
}

/// Which apps get no check suite when something is pushed to a repository.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CheckPreferences {
    pub repo: Id,
    pub auto_trigger: BTreeMap<Id, bool>,
}

impl Doc for CheckPreferences {
    const KIND: &'static str = "check_preferences";
    fn key(&self) -> Key {
        Key { scope: 0, id: self.repo }
    }
}
