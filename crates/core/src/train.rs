//! Trains: what is remembered of a stack on its way to the default branch.

pub mod detail;
mod fold;
pub mod message;
mod policy;
mod preflight;
mod record;
pub mod status;
pub mod texts;
pub mod why;
pub mod work;

pub use fold::apply;
pub use policy::{Policy, StaleApprovals};
pub use preflight::{MergeMethodRefusal, MergeMethods, check_merge_method_preflight};
pub use record::{CascadePhase, TrainError, TrainRecord, TrainState};

/// Trains that are over, by the pull request that each began with: the `recovery_seq` that each had reached.
pub type Ended = std::collections::BTreeMap<crate::ids::PrNumber, u64>;

/// Active trains, by the pull request that each began with.
pub type Trains = std::collections::BTreeMap<crate::ids::PrNumber, TrainRecord>;
