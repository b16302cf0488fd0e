//! The end of a train before its time: by a fault, by what GitHub did, or by a person.

use std::collections::BTreeSet;

use super::detail::is_live;
use super::texts::notice;
use super::texts::train_end::TrainEndText;
use super::{Change, Event, NextAction, TrainContext, Transaction};
use super::{TrainRecord, TrainState};
use crate::ids::PrNumber;
use crate::repo::EffectOwner;
use crate::repo::event::Attribution;
use crate::repo::state::CachedPr;

impl TrainContext<'_> {
    /// Ends the train, and tells those whom it concerns.
    pub(super) fn halted(&self, train: &TrainRecord, failed: PrNumber, halt: &TrainEndText) -> Change {
        let aborted = Event::TrainAborted { root_pr: self.root, error: Some(halt.error()) };
        self.told(train, failed, halt, aborted)
    }

    /// The same, as what a train does next.
    pub(super) fn halt(&self, train: &TrainRecord, failed: PrNumber, halt: &TrainEndText) -> NextAction {
        NextAction::Change(self.halted(train, failed, halt))
    }

    /// Nothing may be built upon what landed.
    pub(super) fn freeze_train(&self, train: &TrainRecord, failed: PrNumber, halt: &TrainEndText) -> Change {
        let frozen = Event::TrainFrozen { root_pr: self.root, error: halt.error() };
        self.told(train, failed, halt, frozen)
    }

    fn told(&self, train: &TrainRecord, failed: PrNumber, halt: &TrainEndText, event: Event) -> Change {
        let mut change = Change::of([event]).saying(failed, halt.comment());
        for pr in self.downstream(train).into_iter().filter(|pr| *pr != failed) {
            change = change.saying(pr, notice::halted(pr, failed, self.root));
        }
        change
    }

    /// The open pull requests that would have landed later.
    fn downstream(&self, train: &TrainRecord) -> BTreeSet<PrNumber> {
        let skipped = train.cascade_phase.skipped();
        let mut next: Vec<PrNumber> = train.cascade_phase.frozen_descendants().to_vec();
        next.extend(self.standing_on(train.current_pr));
        let mut met = BTreeSet::new();
        while let Some(number) = next.pop() {
            let is_ours = self.state.pr(number).is_some_and(CachedPr::is_ours);
            if is_ours && !skipped.contains(&number) && met.insert(number) {
                next.extend(self.standing_on(number));
            }
        }
        if self.state.pr(train.current_pr).is_some_and(CachedPr::is_ours) {
            met.insert(train.current_pr);
        }
        met
    }
}

/// Ends a train because of something that happened, whatever it is doing.
pub(super) fn abort(transaction: &mut Transaction<'_>, root: PrNumber, failed: PrNumber, halt: &TrainEndText) {
    if let Some(change) = aborted(transaction, root, failed, halt) {
        transaction.plan.cancels.push(EffectOwner::Train(root));
        transaction.make(change);
    }
}

/// The same, where the pull request that failed is told later.
pub(super) fn abort_quietly(transaction: &mut Transaction<'_>, root: PrNumber, failed: PrNumber, halt: &TrainEndText) {
    if let Some(mut change) = aborted(transaction, root, failed, halt) {
        change.notes.retain(|(pr, _)| *pr != failed);
        transaction.plan.cancels.push(EffectOwner::Train(root));
        transaction.make(change);
    }
}

fn aborted(transaction: &Transaction<'_>, root: PrNumber, failed: PrNumber, halt: &TrainEndText) -> Option<Change> {
    let train = transaction.state.active_trains.get(&root).filter(|train| is_live(train.state))?;
    let detail = transaction.state.details.get(&root)?;
    let here =
        TrainContext { state: &transaction.state, settings: &transaction.settings, now: transaction.now, root, detail };
    Some(here.halted(train, failed, halt))
}

/// How a person wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::repo) enum Stopping {
    Usual,
    Forced,
}

/// Stops the train, or the start of one, that has this pull request on board. False if there is none.
pub(in crate::repo) fn stop(
    transaction: &mut Transaction<'_>,
    pr: PrNumber,
    how: Stopping,
    behest: &Attribution,
) -> bool {
    let path = transaction.state.path_from_root(pr).unwrap_or_else(|| vec![pr]);
    let starts = transaction.state.starts.iter();
    // Also what was asked for here and begins elsewhere: the pull request has landed, and those that stood on it go on.
    let asked_here =
        starts.filter(|(number, asked)| path.contains(number) || asked.comment.is_some_and(|comment| comment.pr == pr));
    let starting: Vec<PrNumber> = asked_here.map(|(number, _)| *number).collect();
    for pr in &starting {
        transaction.plan.cancels.push(EffectOwner::Train(*pr));
        transaction.record(Event::StartSettled { pr: *pr });
    }
    let starting = starting.first();
    let Some(root) = transaction.state.train_of(pr) else { return starting.is_some() };
    let Some(train) = transaction.state.active_trains.get(&root) else { return starting.is_some() };
    let is_live = is_live(train.state);
    if is_live || (how == Stopping::Forced && train.state != TrainState::Stopped) {
        transaction.plan.cancels.push(EffectOwner::Train(root));
        transaction.record(Event::TrainStopped { root_pr: root, behest: behest.clone() });
        return true;
    }
    // One that waits for a person can be put away by one.
    if train.state == TrainState::NeedsManualReview {
        transaction.record(Event::TrainStopped { root_pr: root, behest: behest.clone() });
        return true;
    }
    starting.is_some()
}
