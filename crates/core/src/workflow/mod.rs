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

pub use decide::{Effect, Input, Output, Plan, Refusal, Request, begin, decide, is_named, needs_a_worker, next_wake};
pub use definition::{Gate, Kind, Need, OnExpiry, Program, Retry, StepPlan, Wait, Workflow, fill};
pub use document::{
    Approval, Cancellation, Checkpoint, Compensation, Decision, ExternalEvent, Initiator, Run, Step, StepStatus,
    TokensUsed, TransitionContext, Trigger, TriggerSource,
};
pub use event::{Created, Event, RunError, Signal};
pub use nesting::{DEEPEST, is_too_deep};
pub use state::{MOST_SIGNALS, RunState, SCHEMA_VERSION, Said, StepState};
pub use status::{Code, Illegal, RunStatus};
