//! How often the same thing was done to a pull request of late, and when it may be done again.
//!
//! Many ways lead a train back to a step that it has done before: an answer that does not fit, news that are old, a phase that
//! begins again. None of them keeps a count of its own. What is done at the end of each cannot be undone, and is counted here:
//! each time takes longer to come, whoever asks for it and for whatever reason.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::state::RepoState;
use crate::backoff::ExponentialBackoff;
use crate::ids::{PrNumber, Sha};
use crate::repo::trains::detail::IntendedAction;

/// What is done to a pull request on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PacedAction {
    Push,
    Squash,
    Retarget,
    /// Read, not done; but read again after each of the others.
    ReadMergeState,
    ReadPull,
}

/// How often in a row, and until when not again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RepetitionPace {
    pub times: u32,
    pub until: Timestamp,
}

pub(super) type Paces = BTreeMap<PrNumber, BTreeMap<PacedAction, RepetitionPace>>;

/// What could have been done for this long, and was not, is done for the first time again.
const IN_A_ROW: SignedDuration = SignedDuration::from_mins(5);
/// More than these are not told apart: the wait is the longest before.
const MOST_TIMES: u32 = 12;
/// A wait that is longer than this is worth a word.
const WORTH_TELLING: Duration = Duration::from_secs(8);

impl PacedAction {
    /// How long it must not be done after it was done so often in a row. With these, none is done more than five times within
    /// a minute; a descendant is prepared, reconciled and caught up without a pause.
    fn wait(self, times: u32) -> Duration {
        let growing = |first, longest| ExponentialBackoff::doubling(Duration::from_secs(first), longest);
        let (free, backoff) = match self {
            Self::Push => (3, growing(6, Duration::from_mins(5)).by_factor(6)),
            Self::Squash | Self::Retarget => (1, growing(2, Duration::from_mins(5))),
            Self::ReadMergeState | Self::ReadPull => (2, growing(3, Duration::from_secs(30)).by_factor(3)),
        };
        times.checked_sub(free).map_or(Duration::ZERO, |more| backoff.delay(more))
    }
}

impl RepetitionPace {
    /// Whether people should know that it does not go on.
    pub fn is_worth_telling(&self, act: PacedAction) -> bool {
        act.wait(self.times) >= WORTH_TELLING
    }
}

/// Of these, the pull requests whose merge state may be read now.
pub(super) fn readable<'a>(
    state: &'a RepoState,
    prs: impl IntoIterator<Item = &'a PrNumber> + 'a,
    now: Timestamp,
) -> impl Iterator<Item = PrNumber> + 'a {
    prs.into_iter().copied().filter(move |pr| may(state, PacedAction::ReadMergeState, *pr, now))
}

pub(super) fn may(state: &RepoState, act: PacedAction, pr: PrNumber, now: Timestamp) -> bool {
    of(state, act, pr).is_none_or(|pace| pace.until <= now)
}

pub(super) fn of(state: &RepoState, act: PacedAction, pr: PrNumber) -> Option<&RepetitionPace> {
    state.paces.get(&pr).and_then(|paces| paces.get(&act))
}

/// When what was done may be done again.
pub(super) fn wakes(state: &RepoState) -> impl Iterator<Item = Timestamp> + '_ {
    state.paces.values().flat_map(BTreeMap::values).map(|pace| pace.until)
}

/// GitHub does not take a squash. If it was not intended yet, it was given up before it was asked for, and counts as if it had been.
pub(super) fn squash_refused(state: &mut RepoState, root: PrNumber, ts: Timestamp) {
    let is_intended = state.details.get(&root).is_some_and(|detail| detail.intent.is_some());
    let current = state.active_trains.get(&root).map(|train| train.current_pr);
    if let (Some(pr), false) = (current, is_intended) {
        count(state, pr, PacedAction::Squash, ts);
    }
}

/// Counts what is about to be done. Comes before all else that an event changes.
pub(super) fn count(state: &mut RepoState, pr: PrNumber, act: PacedAction, ts: Timestamp) {
    forget_old(&mut state.paces, ts);
    let pace = state.paces.entry(pr).or_default().entry(act).or_insert(RepetitionPace { times: 0, until: ts });
    pace.times = (pace.times + 1).min(MOST_TIMES);
    pace.until = ts.checked_add(act.wait(pace.times)).unwrap_or(Timestamp::MAX);
}

fn forget_old(paces: &mut Paces, now: Timestamp) {
    for acts in paces.values_mut() {
        acts.retain(|_, pace| now.duration_since(pace.until) < IN_A_ROW);
    }
    paces.retain(|_, acts| !acts.is_empty());
}

/// Only where trains are: who reads again and again does so for them.
pub(super) fn count_reading(state: &mut RepoState, pr: PrNumber, act: PacedAction, ts: Timestamp) {
    if !state.active_trains.is_empty() || !state.starts.is_empty() || !state.details.is_empty() {
        count(state, pr, act, ts);
    }
}

pub(super) fn forget(state: &mut RepoState, pr: PrNumber, act: PacedAction) {
    if let Some(paces) = state.paces.get_mut(&pr) {
        paces.remove(&act);
    }
    state.paces.retain(|_, paces| !paces.is_empty());
}

pub(super) fn forget_above(state: &mut RepoState, pr: PrNumber) {
    state.paces.remove(&pr);
    for member in state.stack_above(pr) {
        state.paces.remove(&member.pull);
    }
}

/// Whether somebody else pushed. A head that was there before, or that merge-train is about to push, is no news: GitHub can
/// tell of both late.
pub(super) fn is_new_head(state: &RepoState, number: PrNumber, head: &Sha) -> bool {
    let Some(known) = state.prs.get(&number) else { return true };
    let is_own =
        |what: &IntendedAction| matches!(what, IntendedAction::Push(push) if push.pull == number && push.to == *head);
    let is_intended = state.details.values().filter_map(|detail| detail.intent.as_ref()).any(|it| is_own(&it.what));
    known.head_sha != *head && !known.former_heads.contains(head) && !is_intended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_done_as_soon_as_it_may_be_is_done_five_times_a_minute_at_most() {
        for act in [
            PacedAction::Push,
            PacedAction::Squash,
            PacedAction::Retarget,
            PacedAction::ReadMergeState,
            PacedAction::ReadPull,
        ] {
            let mut done = vec![0];
            for times in 1..40 {
                done.push(done[done.len() - 1] + act.wait(times).as_secs());
            }
            for (index, first) in done.iter().enumerate() {
                let within = done[index..].iter().filter(|at| *at - first < 60).count();
                assert!(within <= 5, "{act:?}: {done:?}");
            }
            assert_eq!(act.wait(MOST_TIMES), act.wait(u32::MAX), "{act:?}");
        }
    }

    #[test]
    fn a_descendant_is_prepared_reconciled_and_caught_up_without_a_pause() {
        assert_eq!(PacedAction::Push.wait(2), Duration::ZERO);
    }
}
