//! What happened to a run. The JSON is an interface: it is what the log of the run is made of.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::Workflow;
use super::document::{Decision, Initiator, TokensUsed, TransitionContext, Trigger};
use super::status::{RunErrorCode, RunStatus};
use crate::ids::{PrNumber, RepoId, RunId, TenantId};
use crate::inbox::Key;

/// How a run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCreation {
    pub run: RunId,
    pub tenant: TenantId,
    pub workflow: Workflow,
    #[serde(default)]
    pub inputs: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr: Option<PrNumber>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<String>,
    pub trigger: Trigger,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<Key>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    RunCreated(Box<RunCreation>),
    RunTransition {
        from: RunStatus,
        to: RunStatus,
        context: Box<TransitionContext>,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<RunError>,
    },
    /// The checkpoint before a step.
    StepStarted {
        step: usize,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
    },
    /// The checkpoint after it.
    StepCompleted {
        step: usize,
        #[serde(default)]
        output: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_used: Option<TokensUsed>,
    },
    StepFailed {
        step: usize,
        error: String,
        /// When it is tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
    /// It is done again, from its beginning.
    StepReplayed {
        step: usize,
    },
    /// The run was taken up again by a process that did not begin it.
    RunResumed {
        /// The step whose checkpoint it goes on from.
        from: String,
    },
    ApprovalRequested {
        step: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    ApprovalDecided {
        step: usize,
        by: String,
        decision: Decision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    WaitBegan {
        step: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        correlation: Option<String>,
        expires_at: Timestamp,
    },
    SignalReceived {
        signal: Signal,
    },
    CancelRequested {
        initiator: Initiator,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    CompensationStarted {
        step: usize,
    },
    CompensationEnded {
        step: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<RunErrorCode>,
    pub message: String,
}

/// An external event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
    #[serde(default)]
    pub payload: Value,
}
