//! What payloads of all events have around what they are about.

use merge_train_core::ids::BranchName;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Envelope {
    pub action: Option<String>,
    /// Absent where it concerns the whole app or organization.
    pub repository: Option<Repository>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    pub id: Option<u64>,
    pub full_name: String,
    #[serde(default)]
    pub default_branch: Option<BranchName>,
}
