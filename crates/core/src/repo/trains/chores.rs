//! What is left to do after a pull request has landed.

use jiff::Timestamp;

use super::{Effect, Event, Transaction};
use crate::ids::PrNumber;
use crate::repo::event::ReadKind;
use crate::repo::mirror::reads;
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::{EffectFailure, EffectFailureKind, mirror};

/// Deletes the branches of what landed, unless a pull request that has not landed needs them: is based on one, or would bring it
/// into yet another branch. GitHub does not re-open a pull request whose base is gone.
pub(super) fn delete_branches(transaction: &mut Transaction<'_>) {
    for (pr, outlived) in transaction.state.outlived.clone() {
        let needs_it = |other: &CachedPr| {
            let is_head = other.is_open() && other.head_ref.as_ref() == Some(&outlived.branch);
            is_head || (!other.is_merged() && other.base_ref == outlived.branch)
        };
        if outlived.backoff.is_due(transaction.now) && !transaction.state.prs.values().any(needs_it) {
            transaction.effect(Effect::DeleteBranch { pr, branch: outlived.branch, head: outlived.head });
        }
    }
}

pub(super) fn branch_deleted(transaction: &mut Transaction<'_>, pr: PrNumber, result: Result<&(), &EffectFailure>) {
    let Some(outlived) = transaction.state.outlived.get(&pr) else { return };
    match result {
        Err(failure) if failure.kind == EffectFailureKind::Transient => {
            let retry_at = reads::retry_at(failure, outlived.backoff.attempts, transaction.now);
            transaction.record(mirror::Event::ReadFailed {
                read: ReadKind::Branch(pr),
                reason: failure.reason.clone(),
                retry_at,
            });
        }
        // Protected, or not where it was: then it stays.
        Ok(()) | Err(_) => transaction.record(Event::BranchSettled { pr }),
    }
}

pub(super) fn wakes(state: &RepoState) -> impl Iterator<Item = Timestamp> + '_ {
    state.outlived.values().filter_map(|outlived| outlived.backoff.retry_at)
}
