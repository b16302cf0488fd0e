//! The mirror: what GitHub has, as far as it is known here, and what is to be read again.
//!
//! Webhooks and answers of GitHub tell of pull requests, comments and branches. What is missing or old is read; what nobody
//! needs any more is forgotten.

pub(super) mod comments;
pub(super) mod deliveries;
mod effect;
mod event;
pub(super) mod fold;
mod membership;
pub(super) mod pruning;
pub(super) mod reads;
mod stacks;

use jiff::Timestamp;

use super::effect::EffectOutcome;
use super::event::{DeliveryOutcome, RequestOutcome, SyncReason};
use super::transaction::Transaction;
use super::{Input, Request, commands};

pub use effect::{Effect, EffectKey};
pub use event::Event;
pub(super) use fold::apply;

/// Takes in what an input tells of what GitHub has, and has read what that asks for.
pub(super) fn observe(transaction: &mut Transaction<'_>, input: &Input) {
    match input {
        Input::Resume => resume(transaction),
        Input::Delivery { delivery, hash, received_at } => {
            deliveries::deliver(transaction, delivery, hash, *received_at);
        }
        Input::Unusable { id, event, received_at, reason } => transaction.record(Event::DeliveryProcessed {
            delivery: id.clone(),
            event: event.clone(),
            action: None,
            pr: None,
            received_at: *received_at,
            outcome: DeliveryOutcome::Failed { reason: reason.clone() },
        }),
        Input::Asked { key, request: request @ Request::Sync } => {
            reads::request_sync(transaction, SyncReason::Operator);
            let is_under_way = transaction.plan.events.is_empty();
            let outcome = if is_under_way { RequestOutcome::UnderWay } else { RequestOutcome::Started };
            let (key, request) = (key.clone(), request.clone());
            transaction.record(commands::Event::RequestProcessed { key, request, outcome, refusal: None });
        }
        Input::Tick => tick(transaction),
        Input::Housekeeping => {
            let forgotten = pruning::plan(transaction.before, &transaction.settings, transaction.now);
            transaction.record_all(forgotten);
        }
        Input::Asked { .. } | Input::Completed { .. } | Input::FixStarted { .. } => {}
    }
}

/// Takes in what was read.
pub(super) fn completed(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    let requested_at = outcome.requested_at;
    match effect {
        Effect::Survey => reads::surveyed(transaction, requested_at, outcome.answer()),
        Effect::ReadConversations { prs } => {
            reads::conversations_read(transaction, prs, requested_at, outcome.answer());
        }
        Effect::FetchPull { pr } => reads::fetched(transaction, *pr, requested_at, outcome.answer()),
        Effect::ReadMergeStates { prs } => reads::merge_states(transaction, prs, requested_at, outcome.answer()),
    }
}

/// Goes on where the events end: whatever is owed is asked for again.
fn resume(transaction: &mut Transaction<'_>) {
    let (state, now) = (transaction.before, transaction.now);
    let idle_for = state.touched_at.map(|at: Timestamp| now.duration_since(at));
    if idle_for > Some(transaction.settings.staleness_threshold) {
        match &state.sync.wanted {
            None if state.sync.last.is_some() => return reads::request_sync(transaction, SyncReason::Stale),
            // What was listed then is as old as all the rest.
            Some((reason, _)) if state.sync.unread.is_some() => {
                transaction.record(Event::SyncRequested { reason: *reason });
                return transaction.effect(Effect::Survey);
            }
            None | Some(_) => {}
        }
    }
    let is_unseen = state.sync.last.is_none() && state.sync.wanted.is_none();
    if is_unseen && !(state.prs.is_empty() && state.active_trains.is_empty()) {
        reads::request_sync(transaction, SyncReason::Bootstrap);
    }
    // Whether something can be merged may have changed while nobody looked.
    let ours: Vec<_> = state.prs.iter().filter(|(_, pr)| pr.is_ours()).map(|(number, _)| *number).collect();
    reads::want_merge_states(transaction, ours);
    transaction.effects(reads::owed(state, now));
    reads::merge_duplicates(&mut transaction.plan);
}

fn tick(transaction: &mut Transaction<'_>) {
    let (state, now) = (transaction.before, transaction.now);
    transaction.effects(reads::owed(state, now));
    let is_due = state.sync.last.is_some_and(|last| now.duration_since(last) >= transaction.settings.resync_interval);
    if is_due && state.sync.wanted.is_none() {
        reads::request_sync(transaction, SyncReason::Periodic);
    }
}
