//! What the answer to something that was done means for the train that asked.

mod branches;
mod landing;

use super::detail::is_live;
use super::texts::halt;
use super::work::{Outcome, OwnChange, Push, Retargeted, Work};
use super::{Change, Event, Next, Standpoint, Transaction, next, retry_at, start};
use super::{TrainRecord, why};
use crate::ids::PrNumber;
use crate::repo::{Failure, FailureKind, mirror};

/// How often something fails before people are told that the train waits for it.
pub(super) const QUIET_FAILURES: u32 = 3;

/// Takes an answer, if its question still stands.
pub(super) fn settle(
    transaction: &mut Transaction<'_>,
    root: PrNumber,
    work: &Work,
    result: Result<&Outcome, &Failure>,
) {
    if let Work::Plan { .. } = work {
        return start::planned(transaction, root, work, result);
    }
    // As if nothing waited: the answer is there, whatever it was to be retried at.
    let asked = next(&transaction.state, root, &transaction.settings, transaction.now);
    let Some(detail) = transaction.state.details.get(&root).cloned() else { return };
    let here = Standpoint {
        state: &transaction.state,
        settings: &transaction.settings,
        now: transaction.now,
        root,
        detail: &detail,
    };
    let change = match (result, asked) {
        (Ok(outcome), Next::Do(asked)) if asked == *work => here.came_to(work, outcome),
        (Err(failure), Next::Do(asked)) if asked == *work => here.failed(work, failure),
        // It rests for now, and asks the same again then: what failed has failed all the same.
        (Err(failure), Next::Rest) if here.may_ask_again() => here.delayed(work, failure),
        (Ok(_) | Err(_), Next::Do(_) | Next::Change(_) | Next::Rest) => return,
    };
    // What changes nothing would be asked for again at once.
    let change = if change.is_nothing() { here.delayed(work, &nothing_of_it()) } else { change };
    transaction.make(change);
}

impl Standpoint<'_> {
    pub(super) fn train(&self) -> Option<&TrainRecord> {
        self.state.active_trains.get(&self.root).filter(|train| is_live(train.state))
    }

    fn may_ask_again(&self) -> bool {
        let is_waiting = self.detail.retry_at.is_some_and(|at| at > self.now);
        (self.train().is_some() || self.detail.late) && !self.detail.status.doubted && !is_waiting
    }

    fn came_to(&self, work: &Work, outcome: &Outcome) -> Change {
        match (work, outcome) {
            (Work::Merge { step, pull, .. }, Outcome::Merged(merged)) => self.merged(step, *pull, merged),
            (Work::Push(push), Outcome::Pushed(pushed)) => self.pushed(push, pushed),
            (Work::Probe(push), Outcome::Probed(probed)) => self.probed(push, probed),
            (Work::Expect { change, head, .. }, Outcome::Expected(expected)) => {
                self.expected(change.pull, head, expected)
            }
            (Work::Squash { .. }, Outcome::Squashed(squashed)) => self.squash_answered(squashed),
            (Work::Look { pull }, Outcome::Seen(seen)) => self.seen(*pull, seen),
            (Work::Prove { landed, .. }, Outcome::Proved(proof)) => self.proved(landed, proof),
            (Work::Retarget { pull, .. }, Outcome::Retargeted(retargeted)) => self.base_changed(*pull, retargeted),
            (Work::Worktrees(_), Outcome::Tidied) => Change::of([Event::WorktreesTidied { train_root: self.root }]),
            (work, _) => {
                let reason = format!("the answer to {} is none to it; this is a bug", work.name());
                self.delayed(work, &Failure { reason, kind: FailureKind::Transient, retry_at: None })
            }
        }
    }

    fn failed(&self, work: &Work, failure: &Failure) -> Change {
        let train = self.train();
        match (work, train, failure.kind) {
            (Work::Squash { pull, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, *pull, &halt::squash_refused(*pull, &failure.reason))
            }
            (Work::Push(push) | Work::Probe(push), Some(train), FailureKind::Permanent) => {
                self.halted(train, push.pull, &halt::push_refused(push.pull, &push.branch, &failure.reason))
            }
            (Work::Retarget { pull, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, *pull, &halt::not_done("retarget", *pull, &failure.reason))
            }
            (
                Work::Merge { pull, .. } | Work::Expect { change: OwnChange { pull, .. }, .. },
                Some(train),
                FailureKind::Permanent,
            ) => self.halted(train, *pull, &halt::not_done("merge into the branch of", *pull, &failure.reason)),
            (Work::Prove { landed, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, landed.pull, &halt::not_done("check the squash of", landed.pull, &failure.reason))
            }
            (
                Work::Merge { pull, .. } | Work::Retarget { pull, .. } | Work::Push(Push { pull, .. }),
                None,
                FailureKind::Permanent,
            ) => {
                let halt = halt::not_done("update", *pull, &failure.reason);
                self.give_up_late(*pull, Some(&halt))
            }
            _ => self.delayed(work, failure),
        }
    }

    /// It is tried again; if that goes on, people are told what the train waits for.
    fn delayed(&self, work: &Work, failure: &Failure) -> Change {
        let retry_at = retry_at(failure, self.detail.attempts, self.now);
        self.again_at(retry_at, failure.reason.clone(), why::trouble(work.told(), &failure.reason))
    }

    /// GitHub, or git, is behind the other: what was done is done again when they may agree.
    fn once_they_agree(&self, pull: PrNumber, message: String) -> Change {
        // What is done for the first time may have been done a moment before, in another phase.
        let retry_at = retry_at(&no_news(), self.detail.attempts + 1, self.now);
        let reason = why::disagree(pull, &message);
        self.again_at(retry_at, message, reason)
    }

    fn dropped(&self, reason: &str) -> Event {
        Event::WorkDropped { train_root: self.root, reason: reason.to_owned(), by_others: false }
    }

    fn base_changed(&self, pull: PrNumber, retargeted: &Retargeted) -> Change {
        match (retargeted, self.train()) {
            (Retargeted::Done, Some(train)) if train.current_pr != pull => self.retargeted(train, pull),
            (Retargeted::Done, train) => {
                let mut change = Change::of([Event::DoneRetarget { train_root: self.root, pr: pull }]);
                if train.is_some() {
                    // What GitHub said of it was about its old base.
                    change.record(mirror::Event::MergeStateOutdated { prs: vec![pull] });
                }
                change
            }
            (Retargeted::NotOpen, Some(train))
                if train.current_pr != pull && self.state.pr(pull).is_some_and(|pr| self.is_further(pr)) =>
            {
                self.retargeted(train, pull)
            }
            (Retargeted::NotOpen, Some(train)) if train.current_pr != pull => {
                self.skip(train, pull, self.why_skipped(pull))
            }
            (Retargeted::NotOpen, Some(train)) => self.halted(train, pull, &halt::root_closed(pull)),
            (Retargeted::NotOpen, None) => self.give_up_late(pull, None),
        }
    }
}

fn nothing_of_it() -> Failure {
    Failure { reason: "nothing came of it".to_owned(), ..no_news() }
}

fn no_news() -> Failure {
    Failure { reason: String::new(), kind: FailureKind::Transient, retry_at: None }
}
