//! The mirror: what GitHub has, as far as it is known here, and what is to be read again.
//!
//! Webhooks and answers of GitHub tell of pull requests, comments and branches. What is missing or old is read; what nobody
//! needs any more is forgotten.

pub(super) mod comments;
pub(super) mod deliveries;
mod effect;
mod membership;
pub(super) mod pruning;
pub(super) mod reads;
mod stacks;

use super::Plan;
use super::effect::EffectOutcome;
use super::state::RepoState;

pub use effect::{Effect, EffectKey};

/// Takes in what was read.
pub(super) fn completed(state: &RepoState, effect: &Effect, outcome: &EffectOutcome<'_>, now: jiff::Timestamp) -> Plan {
    let requested_at = outcome.requested_at;
    match effect {
        Effect::Survey => reads::surveyed(state, requested_at, outcome.answer(), now),
        Effect::ReadConversations { prs } => reads::conversations_read(state, prs, requested_at, outcome.answer(), now),
        Effect::FetchPull { pr } => reads::fetched(state, *pr, requested_at, outcome.answer(), now),
        Effect::ReadMergeStates { prs } => reads::merge_states(state, prs, requested_at, outcome.answer(), now),
    }
}
