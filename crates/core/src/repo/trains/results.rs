//! What the answer to something that was done means for the train that asked.

mod branches;
mod landing;

use super::{Change, Draft, Next, Standpoint, next, retry_at, start};
use crate::ids::PrNumber;
use crate::repo::event::Event;
use crate::repo::{Failure, FailureKind};
use crate::train::detail::is_live;
use crate::train::texts::{halt, notice};
use crate::train::work::{Outcome, Push, Retargeted, Work};
use crate::train::{TrainRecord, why};

/// How often something fails before people are told that the train waits for it.
pub(super) const QUIET_FAILURES: u32 = 3;

/// Takes an answer, if its question still stands.
pub(super) fn settle(draft: &mut Draft<'_>, root: PrNumber, work: &Work, result: &Result<Outcome, Failure>) {
    if let Work::Plan { .. } = work {
        return start::planned(draft, root, work, result);
    }
    // As if nothing waited: the answer is there, whatever it was to be retried at.
    if next(&draft.state, root, draft.settings, draft.now) != Next::Do(work.clone()) {
        return;
    }
    let Some(detail) = draft.state.details.get(&root).cloned() else { return };
    let here = Standpoint { state: &draft.state, settings: draft.settings, now: draft.now, root, detail: &detail };
    let change = match result {
        Ok(outcome) => here.came_to(work, outcome),
        Err(failure) => here.failed(work, failure),
    };
    draft.make(change);
}

impl Standpoint<'_> {
    fn train(&self) -> Option<&TrainRecord> {
        self.state.active_trains.get(&self.root).filter(|train| is_live(train.state))
    }

    fn came_to(&self, work: &Work, outcome: &Outcome) -> Change {
        match (work, outcome) {
            (Work::Merge { step, pull, .. }, Outcome::Merged(merged)) => self.merged(step, *pull, merged),
            (Work::Push(push), Outcome::Pushed(pushed)) => self.pushed(push, pushed),
            (Work::Probe(push), Outcome::Probed(probed)) => self.probed(push, probed),
            (Work::Expect { pull, head, .. }, Outcome::Expected(expected)) => self.expected(*pull, head, expected),
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
            (Work::Merge { pull, .. } | Work::Expect { pull, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, *pull, &halt::not_done("merge for", *pull, &failure.reason))
            }
            (Work::Prove { landed, .. }, Some(train), FailureKind::Permanent) => {
                self.halted(train, landed.pull, &halt::not_done("check the squash of", landed.pull, &failure.reason))
            }
            (
                Work::Merge { pull, .. } | Work::Retarget { pull, .. } | Work::Push(Push { pull, .. }),
                None,
                FailureKind::Permanent,
            ) => {
                let halt = halt::not_done("bring into order", *pull, &failure.reason);
                self.give_up_late(*pull, Some(&halt))
            }
            _ => self.delayed(work, failure),
        }
    }

    /// It is tried again; if that goes on, people are told what the train waits for.
    fn delayed(&self, work: &Work, failure: &Failure) -> Change {
        let attempts = self.detail.attempts;
        let retry_at = retry_at(failure, attempts, self.now);
        let reason = failure.reason.clone();
        let mut change = Change::of([Event::WorkDelayed { train_root: self.root, reason, retry_at }]);
        let trouble = why::trouble(work.told(), &failure.reason);
        let is_told = self.detail.why.as_ref().is_some_and(|why| trouble.is_like(why));
        if attempts + 1 >= QUIET_FAILURES && self.train().is_some() && !is_told {
            change.events.push(Event::TrainWaiting { train_root: self.root, why: trouble.since(self.now) });
        }
        change
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
                    change.events.push(Event::MergeStateOutdated { prs: vec![pull] });
                }
                change
            }
            (Retargeted::NotOpen, Some(train))
                if train.current_pr != pull && self.state.pr(pull).is_some_and(|pr| self.is_further(pr)) =>
            {
                self.retargeted(train, pull)
            }
            (Retargeted::NotOpen, Some(train)) if train.current_pr != pull => {
                self.skip(train, pull, notice::skipped_closed(pull))
            }
            (Retargeted::NotOpen, Some(train)) => self.halted(train, pull, &halt::root_closed(pull)),
            (Retargeted::NotOpen, None) => self.give_up_late(pull, None),
        }
    }
}

fn no_news() -> Failure {
    Failure { reason: String::new(), kind: FailureKind::Transient, retry_at: None }
}
