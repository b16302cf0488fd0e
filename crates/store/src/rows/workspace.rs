//! Workspaces, the sessions in them, and what the ratchet did about them.

use jiff::Timestamp;
use merge_train_core::ids::{BranchName, PrNumber, RepoId, Sha, TenantId};
use merge_train_core::repo::ratchet::{BoardColumn, HeartbeatFingerprint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pull request that is kept moving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    pub id: String,
    pub tenant_id: TenantId,
    pub repo_id: RepoId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_number: Option<PrNumber>,
    /// What the pull request is called.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<Sha>,
    pub ratchet_enabled: bool,
    /// For display only.
    pub ratchet_state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_state_reason: Option<String>,
    /// The reason, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_state_detail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_state_updated_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_current_activity: Option<String>,
    #[serde(default)]
    pub ratchet_consecutive_fixup_attempts: u32,
    /// How many it gets; none where an older version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_max_fixup_attempts: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_stale_ci_since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_active_session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_last_ci_run_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_last_checked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratchet_last_push_at: Option<Timestamp>,
    #[serde(default)]
    pub kanban_column: BoardColumn,
    /// What its worker last saw of it; none before it has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glimpse: Option<HeartbeatFingerprint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Somebody at work in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: String,
    pub tenant_id: TenantId,
    pub workspace_id: String,
    pub kind: SessionKind,
    pub status: SessionStatus,
    /// Running, and neither idle nor waiting for a person.
    pub working: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub started_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    User,
    Ratchet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionStatus {
    Running,
    Completed,
    Failed,
}

/// What the ratchet decided about a workspace, and why. Never changed once written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    pub id: String,
    pub tenant_id: TenantId,
    pub workspace_id: String,
    pub action: TransitionAction,
    /// The state that it led to; none where an older version wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ui_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Value>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TransitionAction {
    Wait,
    FixCi,
    FixReview,
    Pause,
    Noop,
}

impl TransitionAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "WAIT",
            Self::FixCi => "FIX_CI",
            Self::FixReview => "FIX_REVIEW",
            Self::Pause => "PAUSE",
            Self::Noop => "NOOP",
        }
    }
}
