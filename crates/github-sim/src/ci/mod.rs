//! CI that runs: the checks a repository defines, each a command in a checkout of the pushed commit.

mod by_hand;
mod commands;
mod log;
mod process;
mod queue;
mod report;
mod rerun;
mod worker;

pub use by_hand::{HandSet, Verdict, set_by_hand};
pub use queue::{Pushed, check_definition, enqueue, enqueue_for_heads, enqueue_for_pull};
pub use report::{log_url, run_logs_url, state_of};
pub use rerun::{Which, cancel, rerun};
pub use worker::start;

/// What a workflow is called whose definition has no name.
pub const DEFAULT_WORKFLOW_NAME: &str = "CI";
