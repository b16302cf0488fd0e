//! Runs: durable units of work. What a run is made of, what happens to it, and what it does next.

mod decide;
mod definition;
mod document;
mod event;
mod nesting;
mod state;
mod status;
#[cfg(test)]
mod tests;

pub use decide::{
    CommandOutput, Effect, Input, Plan, Request, RunRequestRefusal, begin, decide, is_named, needs_a_worker, next_wake,
};
pub use definition::{
    ApprovalNeed, Gate, OnExpiry, Program, RetryPolicy, SignalWait, StepKind, StepPlan, Workflow, fill,
};
pub use document::{
    Approval, Cancellation, Checkpoint, Compensation, Decision, ExternalEvent, Initiator, Run, RunStep, StepStatus,
    TokensUsed, TransitionContext, Trigger, TriggerSource,
};
pub use event::{Event, RunCreation, RunError, Signal};
pub use nesting::{DEEPEST, is_too_deep};
pub use state::{MOST_SIGNALS, RecordedDecision, RunState, SCHEMA_VERSION, StepState};
pub use status::{IllegalTransition, RunErrorCode, RunStatus};
