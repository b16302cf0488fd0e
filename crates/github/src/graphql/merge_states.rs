//! Whether pull requests can be merged, fifty in one call.

use merge_train_core::facts::{MergeFacts, MergeState};
use merge_train_core::ids::{PrNumber, Sha};
use serde::Deserialize;

use super::query::about_pulls;
use crate::client::Repo;
use crate::error::Error;

const PULLS_PER_CALL: usize = 50;
const FIELDS: &str = "number headRefOid mergeStateStatus isDraft";

/// The merge states of those pull requests that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeStates {
    /// In the order they were asked for.
    pub found: Vec<MergeFacts>,
    pub missing: Vec<PrNumber>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    number: PrNumber,
    head_ref_oid: Sha,
    merge_state_status: String,
    is_draft: bool,
}

impl Repo {
    pub async fn merge_states(&self, numbers: &[PrNumber]) -> Result<MergeStates, Error> {
        let mut states = MergeStates::default();
        for numbers in numbers.chunks(PULLS_PER_CALL) {
            let (query, variables) = about_pulls(numbers, FIELDS);
            let mut answer = self.query(&query, variables).await?;
            for (index, number) in numbers.iter().enumerate() {
                match answer.take::<Raw>(&format!("p{index}"))? {
                    Some(raw) => states.found.push(facts(raw)),
                    None => states.missing.push(*number),
                }
            }
        }
        Ok(states)
    }
}

fn facts(raw: Raw) -> MergeFacts {
    let state = match raw.merge_state_status.as_str() {
        "CLEAN" => MergeState::Clean,
        "UNSTABLE" => MergeState::Unstable,
        "BLOCKED" => MergeState::Blocked,
        "BEHIND" => MergeState::Behind,
        "DIRTY" => MergeState::Dirty,
        "HAS_HOOKS" => MergeState::HasHooks,
        "DRAFT" => MergeState::Draft,
        // Also what GitHub may come to say one day: not a reason to merge.
        _ => MergeState::Unknown,
    };
    MergeFacts { number: raw.number, head_sha: raw.head_ref_oid, state, draft: raw.is_draft }
}
