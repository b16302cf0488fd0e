//! Pull requests whose predecessor landed without them: they were declared too late, or somebody else merged it.
//!
//! They get at once what a descendant gets step by step: the predecessor's head, the relation to its squash, and what came
//! after it. Until then they must not land.

use super::texts::{declare, train_end};
use super::work::{MergeStep, TrainTask};
use super::{Change, Event, NextAction, TrainContext, Transaction};
use super::{TrainRecord, TrainState};
use crate::ids::PrNumber;
use crate::repo::event::Attribution;
use crate::repo::state::{CachedPr, RepoState};
use crate::repo::{Event as RepoEvent, mirror};

/// Finds them. Where a train landed the predecessor they follow it; else they are only brought into order.
pub(super) fn find(transaction: &mut Transaction<'_>) {
    if !may_have_come(&transaction.plan.events) {
        return;
    }
    let state = &transaction.state;
    let late: Vec<PrNumber> = state.prs.keys().copied().filter(|number| is_late(state, *number)).collect();
    for number in late {
        let Some(pr) = transaction.state.prs.get(&number) else { continue };
        let default = transaction.state.default_branch.clone();
        if let (Some(default), Some(predecessor)) = (default, pr.predecessor)
            && pr.base_ref == default
        {
            transaction.comment(number, declare::manually_retargeted(&default, predecessor));
        }
        if follows_a_train(&transaction.state, number) {
            transaction.record(Event::TrainStarted {
                root_pr: number,
                current_pr: number,
                behest: Attribution::default(),
            });
        } else {
            transaction.record(Event::LateFound { pr: number });
        }
    }
}

fn may_have_come(events: &[RepoEvent]) -> bool {
    events.iter().any(|event| {
        matches!(
            event,
            RepoEvent::Mirror(
                mirror::Event::PredecessorDeclared { .. }
                    | mirror::Event::PrMerged { .. }
                    | mirror::Event::PrObserved { .. }
                    | mirror::Event::SyncCompleted {}
            ) | RepoEvent::Trains(
                Event::TrainsPolled {}
                    | Event::TrainCompleted { .. }
                    | Event::FanOutCompleted { .. }
                    | Event::PhaseTransition { .. }
            )
        )
    })
}

fn is_late(state: &RepoState, number: PrNumber) -> bool {
    let Some(pr) = state.prs.get(&number) else { return false };
    let is_settled = pr.late_refused.as_ref() == Some(&pr.head_sha);
    let is_known = state.details.contains_key(&number) || state.starts.contains_key(&number);
    let below = pr.predecessor.is_some_and(|below| state.has_landed(below));
    let may_be = below && pr.is_ours() && !pr.left_out && !is_settled && !is_known && is_unrelated(state, number);
    may_be && stands_there(state, pr) && !is_promised(state, number, pr)
}

/// Whether its base is what its predecessor left behind, or what GitHub or a person made of that. Who was given another base
/// is out of it, as they were told.
fn stands_there(state: &RepoState, pr: &CachedPr) -> bool {
    let below = pr.predecessor.and_then(|below| state.prs.get(&below)).and_then(|below| below.head_ref.as_ref());
    Some(&pr.base_ref) == below || Some(&pr.base_ref) == state.default_branch.as_ref()
}

/// Whether something has landed below it, and its present head is not known to be related to that. In a stack that GitHub
/// keeps, GitHub sees to it.
pub(super) fn is_unrelated(state: &RepoState, number: PrNumber) -> bool {
    let Some(pr) = state.prs.get(&number).filter(|pr| pr.stack_position.is_none()) else { return false };
    let Some(last) = state.landed_below(number).pop().and_then(|last| state.prs.get(&last)) else { return false };
    let is_known = pr.reconciled_head.as_ref() == Some(&pr.head_sha)
        && pr.predecessor_squash_reconciled.is_some()
        && pr.predecessor_squash_reconciled == last.merge_commit();
    !is_known
}

/// Whether a train deals with it, or halted before it could: then a person starts it again.
fn is_promised(state: &RepoState, number: PrNumber, pr: &CachedPr) -> bool {
    state.active_trains.values().any(|train| {
        train.current_pr == number
            || train.cascade_phase.frozen_descendants().contains(&number)
            // The train is still at its predecessor, and hands over when it is done there. One that was stopped leaves it alone.
            || Some(train.current_pr) == pr.predecessor
            || pr.predecessor.is_some_and(|below| is_next(train, below))
    })
}

/// Whether a train goes on with it, or finds that it had done so.
fn is_next(train: &TrainRecord, number: PrNumber) -> bool {
    let phase = &train.cascade_phase;
    phase.frozen_descendants().contains(&number) && !phase.skipped().contains(&number)
}

/// Whether a train landed what it stands on, or would have: one that is further down finds all in between landed.
fn follows_a_train(state: &RepoState, number: PrNumber) -> bool {
    let goes_on = |train: &TrainRecord| matches!(train.state, TrainState::Running | TrainState::WaitingCi);
    let below = state.landed_below(number);
    if state.active_trains.values().any(|train| below.contains(&train.current_pr) && goes_on(train)) {
        return true;
    }
    let landed_by = below.last().and_then(|below| state.prs.get(below)).and_then(|below| below.landed_by);
    // A train that is not listed any more came to its end.
    landed_by.is_some_and(|root| state.active_trains.get(&root).is_none_or(goes_on))
}

impl TrainContext<'_> {
    pub(super) fn needs_joining(&self, number: PrNumber) -> bool {
        is_unrelated(self.state, number)
    }

    /// What a pull request still lacks that came after its predecessor had landed.
    pub(super) fn join_late(&self, number: PrNumber) -> NextAction {
        let (Some(pr), Some(default)) = (self.state.pr(number), self.state.default_branch.clone()) else {
            return NextAction::Rest;
        };
        let Some(branch) = pr.head_ref.clone() else { return NextAction::Rest };
        if !pr.is_open() {
            // For a train its own rules tell what becomes of it.
            return NextAction::Change(self.give_up_late(number, None));
        }
        if is_unrelated(self.state, number) {
            return match self.own_change(number) {
                Ok(change) => NextAction::Do(TrainTask::Merge {
                    step: MergeStep::AddLate { change },
                    pull: number,
                    branch,
                    default,
                }),
                Err(pull) => NextAction::Do(TrainTask::Look { pull }),
            };
        }
        if pr.base_ref != default {
            let intent = Event::IntentRetarget { train_root: self.root, pr: number, new_base: default };
            return NextAction::Change(Change::of([intent]));
        }
        match self.state.squash_below(number) {
            Some(squash) => NextAction::Change(Change::of([Event::LateReconciled { pr: number, squash }])),
            // Nothing has landed below it any more: nobody declares it.
            None => NextAction::Change(self.give_up_late(number, None)),
        }
    }

    /// A person has to help. With a train, that ends it; without, it is said once for each head.
    pub(super) fn give_up_late(&self, number: PrNumber, halt: Option<&train_end::TrainEndText>) -> Change {
        if let (Some(train), Some(halt)) = (self.train(), halt) {
            return self.halted(train, number, halt);
        }
        let head_sha = self.state.pr(number).map(|pr| pr.head_sha.clone());
        let refused = head_sha.map(|head_sha| Event::LateRefused { pr: number, head_sha });
        let change = Change::of(refused);
        match halt {
            Some(halt) => change.saying(number, halt.told_alone()),
            None => change,
        }
    }
}
