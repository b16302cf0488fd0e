//! The rules of a repository that a train depends on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::MergeMethods;

/// What was read of a repository's settings and of the rules of its default branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergePolicy {
    pub methods: MergeMethods,
    pub stale_approvals: StaleApprovals,
    /// The checks without which nothing lands, by name; none if that could not be seen.
    pub required_checks: Option<BTreeSet<String>>,
}

/// What a push does to approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StaleApprovals {
    Kept,
    /// No train can run like that.
    Dismissed,
    /// The bot may not look.
    Unverified,
}
