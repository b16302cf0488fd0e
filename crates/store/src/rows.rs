//! Rows that are written with the events that cause them, and asked for by their columns.

pub(crate) mod endings;
pub(crate) mod landings;
pub(crate) mod query;
mod workspace;
pub(crate) mod write;

use jiff::Timestamp;
use merge_train_core::ids::{RepoId, RunId, TenantId};

pub use endings::{Endings, Lead};
pub use merge_train_core::workflow::{
    Approval, Cancellation, Checkpoint, Compensation, Decision, ExternalEvent, Initiator, Run, RunStatus, RunStep,
    StepStatus, TokensUsed, TransitionContext, Trigger, TriggerSource,
};
pub use workspace::{Session, SessionKind, SessionStatus, Transition, TransitionAction, Workspace};

/// A row to be written with a batch of events. One with the same key is replaced.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    Run(Box<Run>),
    Step(Box<RunStep>),
    Checkpoint(Box<Checkpoint>),
    Workspace(Box<Workspace>),
    Session(Box<Session>),
    Transition(Box<Transition>),
}

/// Which runs to list, newest first. What is not said is not asked for.
#[derive(Debug, Clone, Default)]
pub struct RunQuery {
    /// None: of all tenants.
    pub tenant: Option<TenantId>,
    pub status: Option<RunStatus>,
    pub repo: Option<RepoId>,
    /// The workflow, or whatever else they are runs of.
    pub kind: Option<String>,
    /// What they are not runs of.
    pub except: Option<String>,
    pub after: Option<RunCursor>,
    /// At most so many; 0 for none.
    pub limit: usize,
}

/// The last run of a page; the next page begins after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCursor {
    pub created_at: Timestamp,
    pub id: RunId,
}

impl RunCursor {
    /// The page after this run.
    pub fn after(run: &Run) -> Self {
        Self { created_at: run.created_at, id: run.id.clone() }
    }
}
