//! What an event does to the state. The only place where the state changes.

use jiff::Timestamp;

use super::event::{DeliveryOutcome, Event, PrStateName, ReadKind, WantReason};
use super::outbox;
use super::state::{Backoff, CachedPr, PrState, RepoState};
use crate::facts::{HeadRepo, MergeState};
use crate::ids::PrNumber;
use crate::inbox::Window;
use crate::train;

/// Folds one event in.
pub fn apply(state: &mut RepoState, event: &Event, ts: Timestamp) {
    state.touched_at = Some(ts);
    train::apply(&mut state.active_trains, event, ts);
    outbox::apply(&mut state.outbox, event, ts);
    match event {
        Event::PrObserved { .. }
        | Event::PrMerged { .. }
        | Event::PrStateChanged { .. }
        | Event::PrGone { .. }
        | Event::PredecessorDeclared { .. }
        | Event::PredecessorRemoved { .. }
        | Event::MergeStateObserved { .. } => pull(state, event, ts),
        Event::MergeStateOutdated { prs } => {
            for pr in prs {
                change(state, *pr, |pr| pr.merge_state_wanted_since = Some(ts));
            }
        }
        Event::DefaultBranchChanged { default_branch } => state.default_branch = Some(default_branch.clone()),
        Event::PrWanted { pr, reason, comment } => {
            if *reason == WantReason::CacheMiss {
                state.miss_count += 1;
            }
            let wanted = state.wanted.entry(*pr).or_default();
            wanted.since = ts;
            wanted.comments.extend(comment.clone());
        }
        Event::SyncRequested { reason } => state.sync.wanted = Some((*reason, Backoff::default())),
        Event::SyncCompleted {} => {
            state.sync.last = Some(ts);
            state.sync.wanted = None;
            state.miss_count = 0;
        }
        Event::ReadFailed { read, retry_at, .. } => read_failed(state, *read, *retry_at),
        Event::DeliveryProcessed { received_at, outcome: DeliveryOutcome::Applied { dedupe_key }, .. } => {
            state.seen_dedupe_keys.insert(dedupe_key.clone(), *received_at);
        }
        Event::Pruned { prs, dedupe_keys_before, brief_keys_before } => {
            for pr in prs {
                state.unindex_one(*pr);
                state.prs.remove(pr);
            }
            state.seen_dedupe_keys.retain(|key, seen| {
                let is_brief = key.starts_with(Window::BRIEF_PREFIX);
                *seen >= if is_brief { *brief_keys_before } else { *dedupe_keys_before }
            });
        }
        _ => {}
    }
}

fn pull(state: &mut RepoState, event: &Event, ts: Timestamp) {
    match event {
        Event::PrObserved { pr, .. } => {
            observe(state, *pr, event, ts);
            state.wanted.remove(pr);
        }
        Event::PrMerged { pr, sha, at } => {
            let closed_at = Some(at.unwrap_or(ts));
            change(state, *pr, |pr| {
                pr.state = PrState::Merged { merge_commit_sha: sha.clone(), closed_at };
                pr.merge_state_wanted_since = None;
            });
        }
        Event::PrStateChanged { pr, state: name, at } => {
            let closed_at = Some(at.unwrap_or(ts));
            change(state, *pr, |pr| match name {
                PrStateName::Open => pr.state = PrState::Open,
                PrStateName::Merged => pr.state = PrState::Merged { merge_commit_sha: None, closed_at },
                PrStateName::Closed => {
                    pr.state = PrState::Closed { closed_at };
                    pr.merge_state_wanted_since = None;
                }
            });
        }
        Event::PrGone { pr } => {
            state.unindex_one(*pr);
            state.prs.remove(pr);
            state.wanted.remove(pr);
        }
        Event::PredecessorDeclared { pr, predecessor, comment } => change(state, *pr, |pr| {
            pr.predecessor = Some(*predecessor);
            pr.predecessor_comment = *comment;
        }),
        Event::PredecessorRemoved { pr } => change(state, *pr, |pr| {
            pr.predecessor = None;
            pr.predecessor_comment = None;
        }),
        Event::MergeStateObserved { pr, state: merge_state, draft, .. } => {
            change(state, *pr, |pr| {
                pr.merge_state = *merge_state;
                pr.draft = *draft;
                pr.merge_state_wanted_since = None;
            });
            if state.merge_wanted.is_empty() {
                state.merge_reads = Backoff::default();
            }
        }
        _ => unreachable!("not an event about one pull request"),
    }
}

fn observe(state: &mut RepoState, number: PrNumber, event: &Event, ts: Timestamp) {
    let Event::PrObserved { head_ref, head_sha, base_ref, draft, head_repo, author, updated_at, .. } = event else {
        unreachable!("called for observations only")
    };
    state.prs.entry(number).or_insert_with(|| CachedPr {
        head_ref: None,
        head_sha: head_sha.clone(),
        base_ref: base_ref.clone(),
        state: PrState::Open,
        draft: false,
        head_repo: HeadRepo::Same,
        author: None,
        predecessor: None,
        predecessor_comment: None,
        predecessor_squash_reconciled: None,
        merge_state: MergeState::Unknown,
        merge_state_wanted_since: None,
        updated_at: None,
        observed_at: None,
    });
    change(state, number, |pr| {
        if pr.head_sha != *head_sha {
            // What GitHub said of the head before says nothing of this one.
            pr.merge_state = MergeState::Unknown;
        }
        pr.head_ref = Some(head_ref.clone());
        pr.head_sha = head_sha.clone();
        pr.base_ref = base_ref.clone();
        pr.draft = *draft;
        pr.head_repo = *head_repo;
        pr.author = Some(*author);
        pr.updated_at = Some(*updated_at);
        pr.observed_at = Some(ts);
    });
}

fn change(state: &mut RepoState, number: PrNumber, how: impl FnOnce(&mut CachedPr)) {
    state.unindex_one(number);
    if let Some(pr) = state.prs.get_mut(&number) {
        how(pr);
    }
    state.index_one(number);
}

fn read_failed(state: &mut RepoState, read: ReadKind, retry_at: Timestamp) {
    let backoff = match read {
        ReadKind::Repository => state.sync.wanted.as_mut().map(|(_, backoff)| backoff),
        ReadKind::Pull(pr) => state.wanted.get_mut(&pr).map(|wanted| &mut wanted.backoff),
        ReadKind::MergeStates => Some(&mut state.merge_reads),
    };
    if let Some(backoff) = backoff {
        backoff.attempts += 1;
        backoff.retry_at = Some(retry_at);
    }
}
