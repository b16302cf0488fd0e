//! Whether a pull request can land, and why not yet.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::blockers::{self, Blocker};
use super::texts::notice;
use super::texts::train_end::{self, TrainEndText};
use super::work::{MergeStep, TrainTask};
use super::{CascadePhase, Event, TrainRecord, TrainState};
use super::{Change, NextAction, TrainContext};
use crate::backoff::ExponentialBackoff;
use crate::facts::{CheckConclusion, CheckProgress, MergeState, ReviewDecision};
use crate::ids::{BranchName, PrNumber};
use crate::repo::event::FetchReason;
use crate::repo::mirror;
use crate::repo::state::{CachedPr, PrState};
use crate::workflow::RunStatus;

/// What is to be thought of a pull request that is next to land.
enum Readiness {
    Ready,
    /// GitHub is being asked.
    Reading,
    /// It waits for CI or for people, who will be heard of.
    Wait(Blocker),
    /// GitHub says something that does not fit what else it says: it is behind, and asked again.
    Doubtful(Blocker),
    Behind,
    Never(TrainEndText),
}

/// How often GitHub is asked again before a conflict that it reports of a new head is believed.
const CONFLICT_RECHECKS: u32 = 3;
const RECHECK: ExponentialBackoff = ExponentialBackoff::doubling(Duration::from_secs(2), Duration::from_secs(30));

impl TrainContext<'_> {
    /// The pull request is next to land.
    pub(super) fn idle(&self, train: &TrainRecord, pr: &CachedPr) -> NextAction {
        let current = train.current_pr;
        if let Some(reason) = self.fixer_at(current) {
            return self.wait(train, reason);
        }
        if self.needs_joining(current) {
            // Of a head that nobody has heard of yet, GitHub is asked first.
            return match (self.state.wanted.contains_key(&current), self.why_unread(current)) {
                (true, Some(reason)) => self.wait(train, reason),
                (true, None) => NextAction::Rest,
                (false, _) => self.join_late(current),
            };
        }
        if let Some(default) = self.left_behind(pr) {
            let intent = Event::IntentRetarget { train_root: self.root, pr: current, new_base: default };
            return NextAction::Change(Change::of([intent]));
        }
        let readiness = self.readiness(train, pr);
        match readiness {
            Readiness::Reading => NextAction::Rest,
            Readiness::Never(halt) => self.halt(train, current, &halt),
            Readiness::Wait(reason) => self.wait(train, reason),
            Readiness::Doubtful(reason) => self.doubtful(train, reason),
            Readiness::Behind => self.catch_up_current(train, pr),
            Readiness::Ready => self.freeze(train),
        }
    }

    /// A branch has one owner at a time: what stands on this one is pushed to, as soon as it can land.
    pub(super) fn fixer_at(&self, current: PrNumber) -> Option<Blocker> {
        let above = self.standing_on(current);
        let (pr, fix) = self.state.owned_by_fixer(std::iter::once(current).chain(above))?;
        Some(blockers::fixer_at_work(pr, fix.as_run() == RunStatus::AwaitingApproval))
    }

    /// The default branch, if the pull request is related to what landed and yet still based on that one's branch: it was
    /// thought to be retargeted, and is not.
    fn left_behind(&self, pr: &CachedPr) -> Option<BranchName> {
        let default = self.state.default_branch.as_ref()?;
        let predecessor = pr.predecessor?;
        let below = self.state.pr(predecessor)?;
        let is_left = self.state.has_landed(predecessor) && below.head_ref.as_ref() == Some(&pr.base_ref);
        (is_left && pr.base_ref != *default).then(|| default.clone())
    }

    fn readiness(&self, train: &TrainRecord, pr: &CachedPr) -> Readiness {
        let current = train.current_pr;
        if self.detail.held {
            return Readiness::Reading;
        }
        if pr.merge_state_wanted_since.is_some() || self.state.wanted.contains_key(&current) {
            // It takes GitHub a moment, which is not worth a word; more than that is.
            return self.why_unread(current).map_or(Readiness::Reading, Readiness::Wait);
        }
        if let Some(default) = self.state.default_branch.as_ref()
            && pr.base_ref != *default
        {
            return Readiness::Doubtful(blockers::other_base(current, &pr.base_ref, default));
        }
        if pr.draft {
            return Readiness::Wait(blockers::draft(current));
        }
        match pr.merge_state {
            MergeState::HasHooks => Readiness::Never(train_end::merge_hooks(current)),
            MergeState::Dirty => self.dirty(pr, current),
            MergeState::Behind => Readiness::Behind,
            MergeState::Clean | MergeState::Unstable => match self.ci(current, pr) {
                None => Readiness::Ready,
                Some(reason) => reason,
            },
            MergeState::Blocked | MergeState::Draft | MergeState::Unknown => self.blocked(current, pr),
        }
    }

    /// A conflict ends the train. But of a head that came a moment ago GitHub may still say what it said of the one before.
    fn dirty(&self, pr: &CachedPr, current: PrNumber) -> Readiness {
        let is_new = self.detail.first_head.as_ref() != Some(&pr.head_sha);
        if is_new && self.detail.rechecks < CONFLICT_RECHECKS && !self.detail.timed_out {
            return Readiness::Doubtful(blockers::unknown(current));
        }
        if !self.state.landed_below(current).is_empty() {
            // To merge the default branch may be wrong here: git tells what conflicts, and what to do.
            return Readiness::Behind;
        }
        let default = self.state.default_branch.as_ref().unwrap_or(&pr.base_ref);
        let branch = pr.head_ref.as_ref().unwrap_or(default);
        Readiness::Never(train_end::dirty(current, default, &train_end::ManualMerge::new(branch, default)))
    }

    /// GitHub says no or nothing. Which of the things that can be seen explains it?
    fn blocked(&self, current: PrNumber, pr: &CachedPr) -> Readiness {
        if let Some(reason) = self.ci(current, pr) {
            return reason;
        }
        let of = |verdict: CheckConclusion| checks_of(pr, verdict, |required| required);
        let failed = of(CheckConclusion::Failed);
        if !failed.is_empty() {
            return Readiness::Wait(blockers::checks_failed(current, &failed, &pr.head_sha));
        }
        let running = of(CheckConclusion::Pending);
        if !running.is_empty() {
            return Readiness::Wait(blockers::checks_running(current, &running, &pr.head_sha));
        }
        match pr.review {
            Some(ReviewDecision::ReviewRequired) => Readiness::Wait(blockers::review_required(current)),
            Some(ReviewDecision::ChangesRequested) => Readiness::Wait(blockers::changes_requested(current)),
            Some(ReviewDecision::Approved) | None if pr.merge_state == MergeState::Unknown => {
                Readiness::Doubtful(blockers::unknown(current))
            }
            Some(ReviewDecision::Approved) | None => Readiness::Doubtful(blockers::unexplained(current)),
        }
    }

    /// Whether it is known by now that CI is not content with this head.
    pub(super) fn is_unchecked(&self, current: PrNumber, pr: &CachedPr) -> bool {
        matches!(self.ci(current, pr), Some(Readiness::Wait(_)))
    }

    /// What CI still owes for this head. Whatever GitHub's merge state says: it can be an echo of the head before.
    fn ci(&self, current: PrNumber, pr: &CachedPr) -> Option<Readiness> {
        let required = self.state.rules.known.as_ref().and_then(|(policy, _)| policy.required_checks.as_ref());
        if required.is_some_and(std::collections::BTreeSet::is_empty) {
            return None;
        }
        let (head, ci) = (&pr.head_sha, &pr.ci);
        let mut failed: Vec<&str> = checks_of(pr, CheckConclusion::Failed, |required| required);
        let names = required.into_iter().flatten().map(String::as_str);
        let verdict = |name: &str| ci.checks.get(name).map(|check| check.verdict);
        let open: Vec<&str> = names.filter(|name| verdict(name) != Some(CheckConclusion::Passed)).collect();
        failed.extend(open.iter().filter(|name| verdict(name) == Some(CheckConclusion::Failed)));
        failed.sort_unstable();
        failed.dedup();
        if !failed.is_empty() {
            return Some(Readiness::Wait(blockers::checks_failed(current, &failed, head)));
        }
        // Of a head that was there before the train, GitHub has had the time to think.
        let is_new = self.detail.first_head.as_ref() != Some(head);
        let running = checks_of(pr, CheckConclusion::Pending, |required| required || is_new);
        let suites_run = is_new && ci.suites.values().any(|progress| *progress == CheckProgress::UnderWay);
        if !running.is_empty() || suites_run {
            return Some(Readiness::Wait(blockers::checks_running(current, &running, head)));
        }
        if !open.is_empty() {
            return Some(Readiness::Wait(blockers::checks_expected(current, &open, head)));
        }
        let is_silent = ci.checks.is_empty() && ci.suites.is_empty();
        // Where the rules cannot be seen there may be no CI at all: after the time that GitHub may take, its word is no echo.
        let is_waiting = required.is_none() && is_new && is_silent && !self.detail.timed_out;
        is_waiting.then(|| Readiness::Doubtful(blockers::ci_expected(current, head)))
    }

    fn wait(&self, train: &TrainRecord, reason: Blocker) -> NextAction {
        if train.state == TrainState::WaitingCi && self.detail.why.as_ref().is_some_and(|why| reason.is(why)) {
            return NextAction::Rest;
        }
        NextAction::Change(Change::of([Event::TrainWaiting { train_root: self.root, why: reason.since(self.now) }]))
    }

    /// Waits, and asks GitHub again by itself, until that has taken too long; then the poll does.
    fn doubtful(&self, train: &TrainRecord, reason: Blocker) -> NextAction {
        if let NextAction::Change(change) = self.wait(train, reason) {
            return NextAction::Change(change);
        }
        let current = train.current_pr;
        match self.detail.recheck_at {
            Some(at) if at > self.now => NextAction::Rest,
            Some(_) => {
                let mut change = Change::of([mirror::Event::MergeStateOutdated { prs: vec![current] }]);
                let default = self.state.default_branch.as_ref();
                if self.state.pr(current).is_some_and(|pr| Some(&pr.base_ref) != default) {
                    change.record(mirror::Event::PrWanted {
                        pr: current,
                        reason: FetchReason::HeadDiffers,
                        comment: None,
                    });
                }
                NextAction::Change(change)
            }
            None if self.detail.timed_out => NextAction::Rest,
            None if self.has_timed_out() => {
                NextAction::Change(Change::of([Event::WaitTimedOut { train_root: self.root }]))
            }
            None => {
                // Where GitHub computes it, it was asked again and again already.
                let is_computing = self.state.pr(current).is_some_and(|pr| pr.merge_state == MergeState::Unknown);
                let wait = if is_computing { RECHECK.longest } else { RECHECK.delay(self.detail.rechecks) };
                let wait =
                    SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX).min(self.settings.wait_timeout);
                let at = self.now.checked_add(wait).unwrap_or(Timestamp::MAX);
                NextAction::Change(Change::of([Event::RecheckPlanned { train_root: self.root, at }]))
            }
        }
    }

    /// Whether GitHub has had the time that it may take.
    fn has_timed_out(&self) -> bool {
        let since = self.detail.why.as_ref().map(|why| why.since);
        since.is_some_and(|since| self.now.duration_since(since) >= self.settings.wait_timeout)
    }

    /// The default branch went on, and the rules want to see them together first.
    fn catch_up_current(&self, train: &TrainRecord, pr: &CachedPr) -> NextAction {
        let (Some(branch), Some(default)) = (pr.head_ref.clone(), self.state.default_branch.clone()) else {
            return NextAction::Rest;
        };
        let step = match self.own_change(train.current_pr) {
            Ok(change) if change.below.is_empty() && train.predecessor_pr.is_none() => MergeStep::UpdateRoot,
            Ok(change) => MergeStep::CatchUp { change },
            Err(pull) => return NextAction::Do(TrainTask::Look { pull }),
        };
        NextAction::Do(TrainTask::Merge { step, pull: train.current_pr, branch, default })
    }

    /// From here on, those that stand on it are known: whoever comes later is late.
    fn freeze(&self, train: &TrainRecord) -> NextAction {
        let current = train.current_pr;
        let size = self.detail.landed.len() + self.state.stack_above(current).len();
        let most = self.settings.max_stack_size;
        if size > most {
            return self.halt(train, self.root_or(current), &train_end::grown_too_large(size, most));
        }
        let mut frozen = self.standing_on(current);
        frozen.retain(|number| !self.is_native(*number));
        let phase = CascadePhase::preparing(frozen);
        let head = self.state.pr(current).map(|pr| pr.head_sha.clone());
        // Who is left out was told when the squash of this head was tried before.
        let is_first = train.predecessor_head_sha != head;
        let misplaced = if is_first { self.misplaced(current) } else { Vec::new() };
        let change = Change::of([self.transition(train, phase, head)]);
        let left_out = |change: Change, (pr, told)| change.and(Event::PrLeftOut { pr }).saying(pr, told);
        let change = misplaced.into_iter().fold(change, left_out);
        NextAction::Change(self.closed_above(current).into_iter().fold(change, |change, (pr, is_news)| {
            let change = change.and(Event::PrLeftOut { pr });
            if is_news { change.saying(current, notice::skipped_closed(pr)) } else { change }
        }))
    }

    /// Those that were stacked on it and are closed, and whether they were closed since the train began: it goes on without them,
    /// also if they are opened again.
    fn closed_above(&self, current: PrNumber) -> Vec<(PrNumber, bool)> {
        let began = self.train().map(|train| train.started_at);
        let above = self.state.descendants(current).filter_map(|number| Some((number, self.state.pr(number)?)));
        let closed = above.filter(|(_, pr)| matches!(pr.state, PrState::Closed { .. }) && !pr.left_out);
        closed.map(|(number, pr)| (number, pr.closed_at() >= began)).collect()
    }

    /// Those that declare to stand on it and do not: they are left out, and told so.
    fn misplaced(&self, current: PrNumber) -> Vec<(PrNumber, String)> {
        let Some(head) = self.state.pr(current).and_then(|pr| pr.head_ref.clone()) else { return Vec::new() };
        let above = self.state.descendants(current).filter_map(|number| Some((number, self.state.pr(number)?)));
        let misplaced = above.filter(|(_, pr)| pr.is_ours() && !pr.left_out && pr.base_ref != head);
        misplaced
            .map(|(number, pr)| (number, train_end::base_changed(number, &pr.base_ref, current, &head).told_alone()))
            .collect()
    }

    /// Where people look for the train: on the root as long as that is open.
    fn root_or(&self, current: PrNumber) -> PrNumber {
        if self.state.pr(self.root).is_some_and(CachedPr::is_open) { self.root } else { current }
    }
}

fn checks_of(pr: &CachedPr, verdict: CheckConclusion, counts: impl Fn(bool) -> bool) -> Vec<&str> {
    let of = pr.ci.checks.iter().filter(|(_, check)| check.verdict == verdict && counts(check.required));
    of.map(|(name, _)| name.as_str()).collect()
}
