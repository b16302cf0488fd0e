//! What happens to workspaces. These are events of the repository's stream; their JSON is an interface.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fix::{Fix, FixExit, FixPush, FixResult};
use super::markers::Markers;
use super::session::SessionId;
use super::status::{WorkspaceReason, WorkspaceStatus};
use super::workspace::TransitionLogAction;
use crate::facts::ReviewerRequest;
use crate::ids::PrNumber;
use crate::repo::Attribution;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Somebody turned the ratchet on or off: for a pull request, or for all of the repository without a setting of
    /// their own.
    RatchetToggled {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pr: Option<PrNumber>,
        on: bool,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// What the labels of a pull request say of it now; none where they say nothing.
    RatchetLabelled {
        pr: PrNumber,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<bool>,
    },
    WorkspaceOpened {
        pr: PrNumber,
    },
    /// The pull request is closed or merged.
    WorkspaceArchived {
        pr: PrNumber,
    },
    /// What was said about these is to be read again.
    TalkOutdated {
        prs: Vec<PrNumber>,
    },
    TalkObserved {
        pr: PrNumber,
        overview: String,
        mark: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        points: Vec<ReviewerRequest>,
    },
    /// A decision of the ratchet: a line of the transition log.
    RatchetMoved {
        pr: PrNumber,
        action: TransitionLogAction,
        status: WorkspaceStatus,
        reason: WorkspaceReason,
        /// What there is to say beyond the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        activity: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        snapshot: Option<Value>,
        /// How far what GitHub says is dealt with by this; none where it is still to be dealt with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        consumed: Option<Box<Markers>>,
    },
    /// GitHub could not be asked what is wrong.
    DiagnosisDelayed {
        pr: PrNumber,
        reason: String,
        retry_at: Timestamp,
    },

    // ── Fixers ──
    FixDispatched {
        pr: PrNumber,
        fix: Box<Fix>,
    },
    /// Its process begins.
    FixStarted {
        pr: PrNumber,
    },
    /// Something about it did not succeed, and is tried again.
    FixDelayed {
        pr: PrNumber,
        reason: String,
        retry_at: Timestamp,
    },
    /// Its process ended with the daemon, or was never begun; it is begun again.
    FixInterrupted {
        pr: PrNumber,
    },
    FixHeld {
        pr: PrNumber,
        exit: FixExit,
        push: FixPush,
        /// The file because of which it is held.
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    FixPushIntended {
        pr: PrNumber,
        exit: FixExit,
        push: FixPush,
        #[serde(flatten)]
        behest: Attribution,
    },
    /// The push may have arrived: it is looked for first.
    FixPushDoubted {
        pr: PrNumber,
        /// What went wrong for good: if it is not found, it is not pushed again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hopeless: Option<String>,
    },
    /// The push is known not to have arrived.
    FixPushMissed {
        pr: PrNumber,
    },
    FixSettled {
        pr: PrNumber,
        /// What it was sent for.
        fix: Box<Fix>,
        #[serde(flatten)]
        settled: FixResult,
    },
    /// What a fixer that has ended left behind is gone.
    FixCleared {
        pr: PrNumber,
        at: Timestamp,
    },

    // ── Sessions of people ──
    SessionOpened {
        pr: PrNumber,
        session: SessionId,
        #[serde(default)]
        idle: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    SessionSeen {
        pr: PrNumber,
        session: SessionId,
        #[serde(default)]
        idle: bool,
    },
    SessionEnded {
        pr: PrNumber,
        session: SessionId,
        started_at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Nobody heard of it any more.
        #[serde(default)]
        vanished: bool,
    },
}

impl Event {
    /// Whether a type is one of these.
    pub fn has(kind: &str) -> bool {
        const BEGINNINGS: [&str; 6] = ["ratchet_", "workspace_", "talk_", "diagnosis_", "fix_", "session_"];
        BEGINNINGS.iter().any(|beginning| kind.starts_with(beginning))
    }

    /// The workspace that it is about; none for what is about several.
    pub fn pr(&self) -> Option<PrNumber> {
        match self {
            Self::RatchetToggled { pr, .. } => *pr,
            Self::TalkOutdated { .. } => None,
            Self::RatchetLabelled { pr, .. }
            | Self::WorkspaceOpened { pr }
            | Self::WorkspaceArchived { pr }
            | Self::TalkObserved { pr, .. }
            | Self::RatchetMoved { pr, .. }
            | Self::DiagnosisDelayed { pr, .. }
            | Self::FixDispatched { pr, .. }
            | Self::FixStarted { pr }
            | Self::FixDelayed { pr, .. }
            | Self::FixInterrupted { pr }
            | Self::FixHeld { pr, .. }
            | Self::FixPushIntended { pr, .. }
            | Self::FixPushDoubted { pr, .. }
            | Self::FixPushMissed { pr }
            | Self::FixSettled { pr, .. }
            | Self::FixCleared { pr, .. }
            | Self::SessionOpened { pr, .. }
            | Self::SessionSeen { pr, .. }
            | Self::SessionEnded { pr, .. } => Some(*pr),
        }
    }
}
