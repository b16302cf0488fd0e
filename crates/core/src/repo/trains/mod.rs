//! The trains of a repository: what each does next, and what the answers to what it did mean.
//!
//! `next` looks at the state alone. Asked again it says the same, so whoever resumes a train asks it and does what it says;
//! an answer counts only as long as its question still stands.

pub mod blockers;
mod cascade;
mod chores;
pub mod conflict;
pub mod detail;
pub mod difference;
mod effect;
mod ending;
mod event;
mod fold;
mod interventions;
mod late;
pub mod message;
mod pacing;
pub mod plan;
mod policy;
mod polls;
mod preflight;
mod readiness;
mod record;
mod recover;
mod results;
mod start;
pub mod status;
mod status_updates;
pub mod texts;
pub mod work;

use std::time::Duration;

use jiff::Timestamp;

use super::effect::EffectOutcome;
use super::state::{Backoff, RepoState};
use super::transaction::{Change, Transaction};
use super::{EffectFailure, EffectFailureKind, Input, Settings};
use crate::backoff::ExponentialBackoff;
use crate::ids::PrNumber;
use detail::{IntendedAction, TrainDetail, is_live};
use work::TrainTask;

pub(super) use ending::{Stopping, stop};
pub(super) use polls::wakes;
pub(super) use recover::trace;
pub(super) use start::ask as ask_for_start;

pub use effect::{Effect, EffectKey};
pub use event::Event;
pub(super) use fold::apply;
pub use policy::{MergePolicy, StaleApprovals};
pub use preflight::{MergeMethodRefusal, MergeMethods, check_merge_method_preflight};
pub use record::{CascadePhase, TrainError, TrainRecord, TrainState};

/// Trains that are over, by the pull request that each began with: the `recovery_seq` that each had reached.
pub type EndedTrains = std::collections::BTreeMap<crate::ids::PrNumber, u64>;

/// Active trains, by the pull request that each began with.
pub type ActiveTrains = std::collections::BTreeMap<crate::ids::PrNumber, TrainRecord>;

/// What a train does next.
#[derive(Debug, PartialEq)]
enum NextAction {
    Change(Change),
    Do(TrainTask),
    /// Until something happens, or until a time that `wakes` tells.
    Rest,
}

/// A train and what it stands in.
struct TrainContext<'a> {
    state: &'a RepoState,
    settings: &'a Settings,
    now: Timestamp,
    root: PrNumber,
    detail: &'a TrainDetail,
}

/// More turns than any train takes without something being done outside.
const MOST_TURNS: usize = 1_000;

/// Whether trains have anything to do with it at all.
pub(super) fn concern(state: &RepoState) -> bool {
    !state.active_trains.is_empty()
        || !state.details.is_empty()
        || !state.starts.is_empty()
        || !state.outlived.is_empty()
}

/// Whether somebody has to be there for them, even if nothing comes in.
pub(super) fn need_a_worker(state: &RepoState) -> bool {
    let is_live = state.active_trains.values().any(|train| is_live(train.state));
    let is_left = |detail: &TrainDetail| detail.tidying.is_some() || detail.late || detail.status.closing.is_some();
    is_live || !state.starts.is_empty() || !state.outlived.is_empty() || state.details.values().any(is_left)
}

/// Whether a train lands it in this moment: then that train finds out by itself what became of it.
pub(super) fn is_landing(state: &RepoState, pr: PrNumber) -> bool {
    let is_last_step = |train: &TrainRecord| matches!(train.cascade_phase, CascadePhase::SquashPending { .. });
    state.active_trains.values().any(|train| train.current_pr == pr && is_live(train.state) && is_last_step(train))
}

/// What came of something that was done means for the train that wanted it.
pub(super) fn completed(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::Work { root, work } => results::settle(transaction, *root, work, outcome.answer()),
        Effect::WriteStatus { root, seq, .. } => status_updates::written(transaction, *root, *seq, outcome.answer()),
        Effect::ReadStatus { root, comment } => recover::status_read(transaction, *root, *comment, outcome.answer()),
        Effect::ReadPolicy { .. } => start::policy_read(transaction, outcome.answer()),
        Effect::DeleteBranch { pr, .. } => chores::branch_deleted(transaction, *pr, outcome.answer()),
    }
}

/// What an input means for the trains, beyond what it told about pull requests.
pub(super) fn react(transaction: &mut Transaction<'_>, input: &Input) {
    match input {
        Input::Resume => {
            doubt_intents(transaction);
            recover::doubt_statuses(transaction);
            start::want_unknown_policy(transaction);
        }
        Input::Tick => polls::poll_if_due(transaction),
        Input::Delivery { delivery, .. } => interventions::reviewed(transaction, delivery),
        Input::Completed { .. }
        | Input::Unusable { .. }
        | Input::Asked { .. }
        | Input::FixStarted { .. }
        | Input::Housekeeping => {}
    }
    interventions::happened(transaction, input);
    recover::settle(transaction);
}

/// Lets every train go on as far as it can by itself, and asks for what each needs done.
pub(super) fn run(transaction: &mut Transaction<'_>) {
    if transaction.state.is_outdated() {
        // Whoever acts on a part of what there is leaves out the rest.
        return;
    }
    late::find(transaction);
    start::automatically(transaction);
    let starting: Vec<PrNumber> = transaction.state.starts.keys().copied().collect();
    for pr in starting {
        start::advance(transaction, pr);
    }
    // Trains part and begin while this goes on.
    let mut done: Vec<PrNumber> = Vec::new();
    while let Some(root) = transaction.state.details.keys().copied().find(|root| !done.contains(root)) {
        advance(transaction, root);
        done.push(root);
    }
    late::find(transaction);
    for root in transaction.state.details.keys().copied().collect::<Vec<_>>() {
        if !done.contains(&root) {
            advance(transaction, root);
        }
        recover::read_if_due(transaction, root);
        status_updates::write_if_due(transaction, root);
    }
    start::read_policy_if_wanted(transaction);
    chores::delete_branches(transaction);
}

fn advance(transaction: &mut Transaction<'_>, root: PrNumber) {
    for _ in 0..MOST_TURNS {
        match next(&transaction.state, root, &transaction.settings, transaction.now) {
            NextAction::Change(change) => transaction.make(change),
            NextAction::Do(work) => return transaction.effect(Effect::Work { root, work }),
            NextAction::Rest => return,
        }
    }
    unreachable!("the train of #{root} takes turn after turn: {:?}", transaction.state.active_trains.get(&root));
}

/// What the train does next. A pure function of the state and the time.
fn next(state: &RepoState, root: PrNumber, settings: &Settings, now: Timestamp) -> NextAction {
    let Some(detail) = state.details.get(&root) else { return NextAction::Rest };
    // What the status comment shows may be ahead of all that follows from the state.
    if detail.status.doubted || detail.retry_at.is_some_and(|at| at > now) {
        return NextAction::Rest;
    }
    let here = TrainContext { state, settings, now, root, detail };
    here.paced(match state.active_trains.get(&root) {
        Some(train) if is_live(train.state) => here.live(train),
        _ => here.left_over(),
    })
}

impl TrainContext<'_> {
    fn live(&self, train: &TrainRecord) -> NextAction {
        if self.waits_for_worktrees() || self.waits_for_rules() {
            return NextAction::Rest;
        }
        match self.intended() {
            Some(next) => next,
            None => self.in_phase(train),
        }
    }

    /// What is left to do where no train runs.
    fn left_over(&self) -> NextAction {
        if let Some(tidying) = &self.detail.tidying {
            return NextAction::Do(TrainTask::Worktrees(tidying.clone()));
        }
        if !self.detail.late {
            return NextAction::Rest;
        }
        match self.intended() {
            Some(next) => next,
            None if self.fixer_at(self.root).is_some() => NextAction::Rest,
            None => self.join_late(self.root),
        }
    }

    /// The old worktree is removed before new ones are made. One that cannot be removed keeps nobody.
    fn waits_for_worktrees(&self) -> bool {
        let parted_from = self.detail.parted_from.and_then(|old| self.state.details.get(&old));
        let may_pass = |old: &TrainDetail| {
            old.attempts < results::QUIET_FAILURES && !old.retry_at.is_some_and(|at| self.is_far(at))
        };
        parted_from.is_some_and(|old| old.tidying.is_some() && may_pass(old))
    }

    /// Which checks are required is known, or cannot be known.
    fn waits_for_rules(&self) -> bool {
        let rules = &self.state.rules;
        let may_be_read = |backoff: Backoff| {
            backoff.attempts < start::MOST_TRIES && !backoff.retry_at.is_some_and(|at| self.is_far(at))
        };
        rules.known.is_none() && rules.wanted.is_some_and(may_be_read)
    }

    /// What was begun is brought to its end first.
    fn intended(&self) -> Option<NextAction> {
        let intent = self.detail.intent.as_ref()?;
        Some(match (&intent.what, intent.doubted) {
            (IntendedAction::Push(push), false) => NextAction::Do(TrainTask::Push(push.clone())),
            (IntendedAction::Push(push), true) => NextAction::Do(TrainTask::Probe(push.clone())),
            (IntendedAction::Squash { pull, head: Some(head) }, false) => {
                let Some(base) = self.state.default_branch.clone() else { return Some(NextAction::Rest) };
                let (via, wording) = (self.via(*pull), self.settings.wording.clone());
                NextAction::Do(TrainTask::Squash { pull: *pull, head: head.clone(), base, via, wording })
            }
            (IntendedAction::Squash { pull, .. }, _) => NextAction::Do(TrainTask::Look { pull: *pull }),
            (IntendedAction::Retarget { base, .. }, _) if self.state.default_branch.as_ref() != Some(base) => {
                let reason = "the default branch has another name".to_owned();
                let dropped = Event::WorkDropped { train_root: self.root, reason, by_others: false };
                NextAction::Change(Change::of([dropped]))
            }
            // Asking twice for the same base does no harm.
            (IntendedAction::Retarget { pull, base }, _) => {
                NextAction::Do(TrainTask::Retarget { pull: *pull, base: base.clone() })
            }
        })
    }
}

/// The process that began these may have ended in the middle of them.
fn doubt_intents(transaction: &mut Transaction<'_>) {
    let is_trusting = |detail: &TrainDetail| detail.intent.as_ref().is_some_and(|intent| !intent.doubted);
    let roots: Vec<PrNumber> =
        transaction.state.details.iter().filter(|(_, detail)| is_trusting(detail)).map(|(root, _)| *root).collect();
    for train_root in roots {
        transaction.record(Event::WorkDoubted { train_root });
    }
}

/// When something that failed is tried again: after 2, 4, 8 seconds, and so on to five minutes.
fn retry_at(failure: &EffectFailure, attempts: u32, now: Timestamp) -> Timestamp {
    const RETRY: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(2), Duration::from_mins(5));
    let wait = if failure.kind == EffectFailureKind::Permanent { RETRY.longest } else { RETRY.delay(attempts) };
    let at = now.checked_add(wait).unwrap_or(Timestamp::MAX);
    failure.retry_at.map_or(at, |told| told.max(at))
}
