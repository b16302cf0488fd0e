//! Nothing is done again and again: every way back to a step has a pause, a count and a reason.

use jiff::SignedDuration;

use super::results::QUIET_FAILURES;
use super::texts::notice;
use super::why::{self, Reason};
use super::work::{OwnChange, Work};
use super::{Change, Event, Next, Standpoint};
use crate::ids::PrNumber;
use crate::repo::Event as RepoEvent;
use crate::repo::pace::{self, Act};
use crate::repo::state::Backoff;

/// A pause that is at least as long is told at once: who waits for a minute without a word thinks that nothing happens.
const LONG_PAUSE: SignedDuration = SignedDuration::from_secs(30);

impl Standpoint<'_> {
    /// The same, as soon as it may be done again.
    pub(super) fn paced(&self, next: Next) -> Next {
        let Some((act, pull)) = leads_to(&next) else { return next };
        let Some(pace) = pace::of(self.state, act, pull) else { return next };
        if pace.until <= self.now {
            return next;
        }
        let reason = match act {
            Act::Push => why::pushed_again(pull, pace.times),
            Act::Squash => why::squashed_again(pull, pace.times),
            Act::Retarget => why::retargeted_again(pull, pace.times),
            Act::ReadMergeState => why::unknown(pull),
            Act::ReadPull => why::unread(pull),
        };
        let told = pace.is_worth_telling(act).then(|| self.tell(reason)).flatten();
        told.map_or(Next::Rest, Next::Change)
    }

    /// Says what is waited for: a train in its status, and a late relation, which has none, in a comment. None if that is known.
    pub(super) fn tell(&self, reason: Reason) -> Option<Change> {
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
    pub(super) fn again_at(&self, retry_at: jiff::Timestamp, message: String, reason: Reason) -> Change {
        let is_told = self.detail.attempts + 1 >= QUIET_FAILURES || self.is_far(retry_at);
        let delayed = Change::of([Event::WorkDelayed { train_root: self.root, reason: message, retry_at }]);
        delayed.then(is_told.then(|| self.tell(reason)).flatten().unwrap_or_default())
    }

    /// Whether a reading fails so often, or for so long, that people should know it.
    pub(super) fn is_failing(&self, backoff: &Backoff) -> bool {
        backoff.attempts >= QUIET_FAILURES || backoff.retry_at.is_some_and(|at| self.is_far(at))
    }

    /// What is to be read of a pull request, and is not for so often or for so long that people should know it.
    pub(super) fn why_unread(&self, pr: PrNumber) -> Option<Reason> {
        let is_held_back = |act: Act| {
            pace::of(self.state, act, pr).is_some_and(|pace| pace.until > self.now && pace.is_worth_telling(act))
        };
        let wanted = self.state.wanted.get(&pr);
        let is_unread = wanted.is_some_and(|wanted| self.is_failing(&wanted.backoff) || is_held_back(Act::ReadPull));
        let is_wanted = self.state.merge_wanted.contains(&pr);
        let is_unknown = is_wanted && (self.is_failing(&self.state.merge_reads) || is_held_back(Act::ReadMergeState));
        is_unread.then(|| why::unread(pr)).or_else(|| is_unknown.then(|| why::unknown(pr)))
    }

    pub(super) fn is_far(&self, at: jiff::Timestamp) -> bool {
        at.duration_since(self.now) >= LONG_PAUSE
    }
}

/// What cannot be undone at the end of it. Where that is intended already, it was counted.
fn leads_to(next: &Next) -> Option<(Act, PrNumber)> {
    match next {
        Next::Do(Work::Merge { pull, .. }) => Some((Act::Push, *pull)),
        Next::Do(Work::Expect { change: OwnChange { pull, .. }, .. }) => Some((Act::Squash, *pull)),
        Next::Do(
            Work::Plan { .. }
            | Work::Push(_)
            | Work::Probe(_)
            | Work::Squash { .. }
            | Work::Look { .. }
            | Work::Prove { .. }
            | Work::Retarget { .. }
            | Work::Worktrees(_),
        )
        | Next::Rest => None,
        Next::Change(change) => change.events.iter().find_map(|event| {
            let RepoEvent::Trains(Event::IntentRetarget { pr, .. }) = event else { return None };
            Some((Act::Retarget, *pr))
        }),
    }
}
