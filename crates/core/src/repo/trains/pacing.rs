//! Nothing is done again and again: every way back to a step has a pause, a count and a reason.

use jiff::SignedDuration;

use super::blockers::{self, Blocker};
use super::results::QUIET_FAILURES;
use super::texts::notice;
use super::work::{OwnChange, TrainTask};
use super::{Change, Event, NextAction, TrainContext};
use crate::ids::PrNumber;
use crate::repo::Event as RepoEvent;
use crate::repo::pace::{self, PacedAction};
use crate::repo::state::Backoff;

/// A pause that is at least as long is told at once: who waits for a minute without a word thinks that nothing happens.
const LONG_PAUSE: SignedDuration = SignedDuration::from_secs(30);

impl TrainContext<'_> {
    /// The same, as soon as it may be done again.
    pub(super) fn paced(&self, next: NextAction) -> NextAction {
        let Some((act, pull)) = leads_to(&next) else { return next };
        let Some(pace) = pace::of(self.state, act, pull) else { return next };
        if pace.until <= self.now {
            return next;
        }
        let reason = match act {
            PacedAction::Push => blockers::pushed_again(pull, pace.times),
            PacedAction::Squash => blockers::squashed_again(pull, pace.times),
            PacedAction::Retarget => blockers::retargeted_again(pull, pace.times),
            PacedAction::ReadMergeState => blockers::unknown(pull),
            PacedAction::ReadPull => blockers::unread(pull),
        };
        let told = pace.is_worth_telling(act).then(|| self.tell(reason)).flatten();
        told.map_or(NextAction::Rest, NextAction::Change)
    }

    /// Says what is waited for: a train in its status, and a late relation, which has none, in a comment. None if that is known.
    pub(super) fn tell(&self, reason: Blocker) -> Option<Change> {
        let train_root = self.root;
        let is_known = self.detail.why.as_ref().is_some_and(|why| reason.is_like(why));
        let is_late = self.detail.late && self.detail.why.is_none();
        match self.train() {
            Some(_) if is_known => None,
            Some(_) => Some(Change::of([Event::TrainWaiting { train_root, why: reason.since(self.now) }])),
            None if is_late => {
                let why = reason.since(self.now);
                let told = notice::relation_waits(train_root, &why.blocker);
                Some(Change::of([Event::TrainWaiting { train_root, why }]).saying(train_root, told))
            }
            None => None,
        }
    }

    /// What failed is done again at this time; if that is not the first time, or not soon, it is told.
    pub(super) fn again_at(&self, retry_at: jiff::Timestamp, message: String, reason: Blocker) -> Change {
        let is_told = self.detail.attempts + 1 >= QUIET_FAILURES || self.is_far(retry_at);
        let delayed = Change::of([Event::WorkDelayed { train_root: self.root, reason: message, retry_at }]);
        delayed.then(is_told.then(|| self.tell(reason)).flatten().unwrap_or_default())
    }

    /// Whether a reading fails so often, or for so long, that people should know it.
    pub(super) fn is_failing(&self, backoff: &Backoff) -> bool {
        backoff.attempts >= QUIET_FAILURES || backoff.retry_at.is_some_and(|at| self.is_far(at))
    }

    /// What is to be read of a pull request, and is not for so often or for so long that people should know it.
    pub(super) fn why_unread(&self, pr: PrNumber) -> Option<Blocker> {
        let is_held_back = |act: PacedAction| {
            pace::of(self.state, act, pr).is_some_and(|pace| pace.until > self.now && pace.is_worth_telling(act))
        };
        let wanted = self.state.wanted.get(&pr);
        let is_unread =
            wanted.is_some_and(|wanted| self.is_failing(&wanted.backoff) || is_held_back(PacedAction::ReadPull));
        let is_wanted = self.state.merge_wanted.contains(&pr);
        let is_unknown =
            is_wanted && (self.is_failing(&self.state.merge_reads) || is_held_back(PacedAction::ReadMergeState));
        is_unread.then(|| blockers::unread(pr)).or_else(|| is_unknown.then(|| blockers::unknown(pr)))
    }

    pub(super) fn is_far(&self, at: jiff::Timestamp) -> bool {
        at.duration_since(self.now) >= LONG_PAUSE
    }
}

/// What cannot be undone at the end of it. Where that is intended already, it was counted.
fn leads_to(next: &NextAction) -> Option<(PacedAction, PrNumber)> {
    match next {
        NextAction::Do(TrainTask::Merge { pull, .. }) => Some((PacedAction::Push, *pull)),
        NextAction::Do(TrainTask::Expect { change: OwnChange { pull, .. }, .. }) => Some((PacedAction::Squash, *pull)),
        NextAction::Do(
            TrainTask::Plan { .. }
            | TrainTask::Push(_)
            | TrainTask::Probe(_)
            | TrainTask::Squash { .. }
            | TrainTask::Look { .. }
            | TrainTask::Prove { .. }
            | TrainTask::Retarget { .. }
            | TrainTask::Worktrees(_),
        )
        | NextAction::Rest => None,
        NextAction::Change(change) => change.events.iter().find_map(|event| {
            let RepoEvent::Trains(Event::IntentRetarget { pr, .. }) = event else { return None };
            Some((PacedAction::Retarget, *pr))
        }),
    }
}
