//! The seven states of a run, and what may follow what.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The seven states of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Pending,
    Running,
    AwaitingApproval,
    WaitingExternal,
    Completed,
    Failed,
    Cancelled,
}

impl RunStatus {
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Running,
        Self::AwaitingApproval,
        Self::WaitingExternal,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::AwaitingApproval => "awaiting_approval",
            Self::WaitingExternal => "waiting_external",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// What may come next. Nothing follows a state in which a run ends.
    pub fn next(self) -> &'static [Self] {
        match self {
            Self::Pending => &[Self::Running, Self::Cancelled, Self::Failed],
            Self::Running => {
                &[Self::Completed, Self::Failed, Self::Cancelled, Self::AwaitingApproval, Self::WaitingExternal]
            }
            Self::AwaitingApproval | Self::WaitingExternal => {
                &[Self::Running, Self::Completed, Self::Failed, Self::Cancelled]
            }
            Self::Completed | Self::Failed | Self::Cancelled => &[],
        }
    }

    /// Whether a run that is in it stays in it.
    pub fn is_terminal(self) -> bool {
        self.next().is_empty()
    }

    /// Whether a run that is in it goes on when somebody or something outside says so.
    pub fn can_resume(self) -> bool {
        matches!(self, Self::AwaitingApproval | Self::WaitingExternal)
    }

    /// Refuses what may not follow.
    pub fn check(self, to: Self) -> Result<(), IllegalTransition> {
        match self.next() {
            [] => Err(IllegalTransition::TerminalState { status: self }),
            next if next.contains(&to) => Ok(()),
            _ => Err(IllegalTransition::InvalidTransition { from: self, to }),
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run does not change its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IllegalTransition {
    #[error("a run that is {from} cannot become {to}")]
    InvalidTransition { from: RunStatus, to: RunStatus },
    #[error("the run is already {status}")]
    TerminalState { status: RunStatus },
}

impl IllegalTransition {
    pub fn code(self) -> RunErrorCode {
        match self {
            Self::InvalidTransition { .. } => RunErrorCode::InvalidTransition,
            Self::TerminalState { .. } => RunErrorCode::TerminalState,
        }
    }
}

/// What programs read to know what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = Code)]
pub enum RunErrorCode {
    #[serde(rename = "RUN_INVALID_TRANSITION")]
    InvalidTransition,
    #[serde(rename = "RUN_TERMINAL_STATE")]
    TerminalState,
    #[serde(rename = "RUN_ORPHANED")]
    Orphaned,
    #[serde(rename = "RUN_RESUME_FAILED")]
    ResumeFailed,
    #[serde(rename = "IDEMPOTENCY_CONFLICT")]
    IdempotencyConflict,
    #[serde(rename = "IDEMPOTENCY_EXPIRED")]
    IdempotencyExpired,
}

impl RunErrorCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidTransition => "RUN_INVALID_TRANSITION",
            Self::TerminalState => "RUN_TERMINAL_STATE",
            Self::Orphaned => "RUN_ORPHANED",
            Self::ResumeFailed => "RUN_RESUME_FAILED",
            Self::IdempotencyConflict => "IDEMPOTENCY_CONFLICT",
            Self::IdempotencyExpired => "IDEMPOTENCY_EXPIRED",
        }
    }
}

impl fmt::Display for RunErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
