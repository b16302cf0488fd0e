//! What the answer to something that was done means for the train that asked.

mod branches;
mod landing;

use super::detail::is_live;
use super::texts::train_end;
use super::work::{BranchPush, OwnChange, RetargetOutcome, TrainTask, TrainTaskOutcome};
use super::{Change, Event, NextAction, TrainContext, Transaction, next, retry_at, start};
use super::{TrainRecord, blockers};
use crate::ids::PrNumber;
use crate::repo::{EffectFailure, EffectFailureKind, mirror};

/// How often something fails before people are told that the train waits for it.
pub(super) const QUIET_FAILURES: u32 = 3;

/// Takes an answer, if its question still stands.
pub(super) fn settle(
    transaction: &mut Transaction<'_>,
    root: PrNumber,
    work: &TrainTask,
    result: Result<&TrainTaskOutcome, &EffectFailure>,
) {
    if let TrainTask::Plan { .. } = work {
        return start::planned(transaction, root, work, result);
    }
    // As if nothing waited: the answer is there, whatever it was to be retried at.
    let asked = next(&transaction.state, root, &transaction.settings, transaction.now);
    let Some(detail) = transaction.state.details.get(&root).cloned() else { return };
    let here = TrainContext {
        state: &transaction.state,
        settings: &transaction.settings,
        now: transaction.now,
        root,
        detail: &detail,
    };
    let change = match (result, asked) {
        (Ok(outcome), NextAction::Do(asked)) if asked == *work => here.came_to(work, outcome),
        (Err(failure), NextAction::Do(asked)) if asked == *work => here.failed(work, failure),
        // It rests for now, and asks the same again then: what failed has failed all the same.
        (Err(failure), NextAction::Rest) if here.may_ask_again() => here.delayed(work, failure),
        (Ok(_) | Err(_), NextAction::Do(_) | NextAction::Change(_) | NextAction::Rest) => return,
    };
    // What changes nothing would be asked for again at once.
    let change = if change.is_nothing() { here.delayed(work, &nothing_of_it()) } else { change };
    transaction.make(change);
}

impl TrainContext<'_> {
    pub(super) fn train(&self) -> Option<&TrainRecord> {
        self.state.active_trains.get(&self.root).filter(|train| is_live(train.state))
    }

    fn may_ask_again(&self) -> bool {
        let is_waiting = self.detail.retry_at.is_some_and(|at| at > self.now);
        (self.train().is_some() || self.detail.late) && !self.detail.status.doubted && !is_waiting
    }

    fn came_to(&self, work: &TrainTask, outcome: &TrainTaskOutcome) -> Change {
        match (work, outcome) {
            (TrainTask::Merge { step, pull, .. }, TrainTaskOutcome::Merged(merged)) => self.merged(step, *pull, merged),
            (TrainTask::Push(push), TrainTaskOutcome::Pushed(pushed)) => self.pushed(push, pushed),
            (TrainTask::Probe(push), TrainTaskOutcome::Probed(probed)) => self.probed(push, probed),
            (TrainTask::Expect { change, head, .. }, TrainTaskOutcome::Expected(expected)) => {
                self.expected(change.pull, head, expected)
            }
            (TrainTask::Squash { .. }, TrainTaskOutcome::Squashed(squashed)) => self.squash_answered(squashed),
            (TrainTask::Look { pull }, TrainTaskOutcome::Seen(seen)) => self.seen(*pull, seen),
            (TrainTask::Prove { landed, .. }, TrainTaskOutcome::Proved(proof)) => self.proved(landed, proof),
            (TrainTask::Retarget { pull, .. }, TrainTaskOutcome::Retargeted(retargeted)) => {
                self.base_changed(*pull, retargeted)
            }
            (TrainTask::Worktrees(_), TrainTaskOutcome::Tidied) => {
                Change::of([Event::WorktreesTidied { train_root: self.root }])
            }
            (work, _) => {
                let reason = format!("the answer to {} is none to it; this is a bug", work.name());
                self.delayed(work, &EffectFailure { reason, kind: EffectFailureKind::Transient, retry_at: None })
            }
        }
    }

    fn failed(&self, work: &TrainTask, failure: &EffectFailure) -> Change {
        let train = self.train();
        match (work, train, failure.kind) {
            (TrainTask::Squash { pull, .. }, Some(train), EffectFailureKind::Permanent) => {
                self.halted(train, *pull, &train_end::squash_refused(*pull, &failure.reason))
            }
            (TrainTask::Push(push) | TrainTask::Probe(push), Some(train), EffectFailureKind::Permanent) => {
                self.halted(train, push.pull, &train_end::push_refused(push.pull, &push.branch, &failure.reason))
            }
            (TrainTask::Retarget { pull, .. }, Some(train), EffectFailureKind::Permanent) => {
                self.halted(train, *pull, &train_end::not_done("retarget", *pull, &failure.reason))
            }
            (
                TrainTask::Merge { pull, .. } | TrainTask::Expect { change: OwnChange { pull, .. }, .. },
                Some(train),
                EffectFailureKind::Permanent,
            ) => self.halted(train, *pull, &train_end::not_done("merge into the branch of", *pull, &failure.reason)),
            (TrainTask::Prove { landed, .. }, Some(train), EffectFailureKind::Permanent) => self.halted(
                train,
                landed.pull,
                &train_end::not_done("check the squash of", landed.pull, &failure.reason),
            ),
            (
                TrainTask::Merge { pull, .. }
                | TrainTask::Retarget { pull, .. }
                | TrainTask::Push(BranchPush { pull, .. }),
                None,
                EffectFailureKind::Permanent,
            ) => {
                let halt = train_end::not_done("update", *pull, &failure.reason);
                self.give_up_late(*pull, Some(&halt))
            }
            _ => self.delayed(work, failure),
        }
    }

    /// It is tried again; if that goes on, people are told what the train waits for.
    fn delayed(&self, work: &TrainTask, failure: &EffectFailure) -> Change {
        let retry_at = retry_at(failure, self.detail.attempts, self.now);
        self.again_at(retry_at, failure.reason.clone(), blockers::trouble(work.told(), &failure.reason))
    }

    /// GitHub, or git, is behind the other: what was done is done again when they may agree.
    fn once_they_agree(&self, pull: PrNumber, message: String) -> Change {
        // What is done for the first time may have been done a moment before, in another phase.
        let retry_at = retry_at(&no_news(), self.detail.attempts + 1, self.now);
        let reason = blockers::disagree(pull, &message);
        self.again_at(retry_at, message, reason)
    }

    fn dropped(&self, reason: &str) -> Event {
        Event::WorkDropped { train_root: self.root, reason: reason.to_owned(), by_others: false }
    }

    fn base_changed(&self, pull: PrNumber, retargeted: &RetargetOutcome) -> Change {
        match (retargeted, self.train()) {
            (RetargetOutcome::Done, Some(train)) if train.current_pr != pull => self.retargeted(train, pull),
            (RetargetOutcome::Done, train) => {
                let mut change = Change::of([Event::DoneRetarget { train_root: self.root, pr: pull }]);
                if train.is_some() {
                    // What GitHub said of it was about its old base.
                    change.record(mirror::Event::MergeStateOutdated { prs: vec![pull] });
                }
                change
            }
            (RetargetOutcome::NotOpen, Some(train))
                if train.current_pr != pull && self.state.pr(pull).is_some_and(|pr| self.is_further(pr)) =>
            {
                self.retargeted(train, pull)
            }
            (RetargetOutcome::NotOpen, Some(train)) if train.current_pr != pull => {
                self.skip(train, pull, self.why_skipped(pull))
            }
            (RetargetOutcome::NotOpen, Some(train)) => self.halted(train, pull, &train_end::root_closed(pull)),
            (RetargetOutcome::NotOpen, None) => self.give_up_late(pull, None),
        }
    }
}

fn nothing_of_it() -> EffectFailure {
    EffectFailure { reason: "nothing came of it".to_owned(), ..no_news() }
}

fn no_news() -> EffectFailure {
    EffectFailure { reason: String::new(), kind: EffectFailureKind::Transient, retry_at: None }
}
