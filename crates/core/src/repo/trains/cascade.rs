//! The cascade: from one pull request that is ready to land to the next.

use super::detail::is_live;
use super::texts::{notice, train_end};
use super::work::{LandedSquash, MergeEndpoint, MergeStep, OwnChange, TrainTask};
use super::{CascadePhase, Event, TrainRecord};
use super::{Change, NextAction, TrainContext};
use crate::ids::{BranchName, PrNumber, Sha};
use crate::repo::mirror;
use crate::repo::state::{CachedPr, PrState};

impl TrainContext<'_> {
    pub(super) fn in_phase(&self, train: &TrainRecord) -> NextAction {
        let current = train.current_pr;
        let Some(pr) = self.state.pr(current) else {
            // GitHub does not have it any more, so nothing will ever be heard of it.
            return self.halt(train, current, &train_end::not_done("land", current, "GitHub has no such pull request"));
        };
        match (&train.cascade_phase, &pr.state) {
            (
                CascadePhase::Idle | CascadePhase::Preparing { .. } | CascadePhase::SquashPending { .. },
                PrState::Closed { .. },
            ) => self.halt(train, current, &train_end::root_closed(current)),
            (CascadePhase::Idle | CascadePhase::Preparing { .. }, PrState::Merged { .. })
                if self.detail.unheard == Some(current) =>
            {
                self.landed_after_all(train, pr)
            }
            (CascadePhase::Idle | CascadePhase::Preparing { .. }, PrState::Merged { .. }) => {
                NextAction::Change(self.hand_over(train, &self.standing_on(current)))
            }
            (CascadePhase::Idle, PrState::Open) => self.idle(train, pr),
            (CascadePhase::Preparing { .. }, PrState::Open) => self.preparing(train, pr),
            (CascadePhase::SquashPending { .. }, _) => self.squashing(train, pr),
            (CascadePhase::Reconciling { .. }, _) => self.reconciling(train),
            (CascadePhase::CatchingUp { .. }, _) => self.catching_up(train),
            (CascadePhase::Retargeting { .. }, _) => self.retargeting(train),
        }
    }

    fn preparing(&self, train: &TrainRecord, pr: &CachedPr) -> NextAction {
        let current = train.current_pr;
        if let Some(moved) = self.moved(train, pr) {
            return moved;
        }
        if let Some(next) = train.cascade_phase.remaining().next() {
            let prepared_with = self.state.pr(next).map(|pr| pr.prepared_with.clone()).unwrap_or_default();
            let former_heads = pr.heads_seen();
            return self.merge(train, next, MergeStep::Prepare { predecessor: current, prepared_with, former_heads });
        }
        let behind = |number: &&PrNumber| {
            self.state.pr(**number).is_some_and(|pr| pr.merge_state == crate::facts::MergeState::Behind)
        };
        match train.cascade_phase.completed().iter().find(behind) {
            Some(behind) if self.state.merge_wanted.contains(behind) => {
                let told = self.why_unread(*behind).and_then(|reason| self.tell(reason));
                told.map_or(NextAction::Rest, NextAction::Change)
            }
            Some(behind) if self.detail.prepared_twice.contains(behind) => {
                self.halt(train, *behind, &train_end::still_behind(*behind, current))
            }
            Some(behind) => NextAction::Change(self.prepare_again(train, *behind)),
            None => NextAction::Change(self.enter(train, train.cascade_phase.squash_pending())),
        }
    }

    /// Nobody expects it: what was prepared a moment ago is behind its predecessor.
    fn prepare_again(&self, train: &TrainRecord, pr: PrNumber) -> Change {
        self.enter(train, train.cascade_phase.again(pr))
            .and(Event::BehindAfterPreparation { train_root: self.root, pr })
            .and(mirror::Event::MergeStateOutdated { prs: vec![pr] })
    }

    fn squashing(&self, train: &TrainRecord, pr: &CachedPr) -> NextAction {
        let current = train.current_pr;
        match &pr.state {
            PrState::Merged { merge_commit_sha: Some(sha), .. } => {
                return NextAction::Change(self.squashed(train, sha));
            }
            PrState::Merged { merge_commit_sha: None, .. } => return NextAction::Do(TrainTask::Look { pull: current }),
            PrState::Open | PrState::Closed { .. } => {}
        }
        if self.detail.held {
            return NextAction::Rest;
        }
        if let Some(moved) = self.moved(train, pr) {
            return moved;
        }
        if self.is_unchecked(current, pr) {
            // CI began again on the head that was found ready.
            return NextAction::Change(self.enter(train, CascadePhase::Idle));
        }
        let Some(default) = self.state.default_branch.clone() else { return NextAction::Rest };
        match self.own_change(current) {
            Ok(change) => NextAction::Do(TrainTask::Expect { change, head: pr.head_sha.clone(), default }),
            Err(pull) => NextAction::Do(TrainTask::Look { pull }),
        }
    }

    /// Somebody pushed since the descendants were prepared: they lack it, and nobody has checked it.
    fn moved(&self, train: &TrainRecord, pr: &CachedPr) -> Option<NextAction> {
        let expected = train.predecessor_head_sha.as_ref().filter(|expected| **expected != pr.head_sha)?;
        let current = train.current_pr;
        Some(self.halt(train, current, &train_end::head_moved(current, &pr.head_sha, expected)))
    }

    /// The squash is there: recorded at once with where it leads.
    pub(super) fn squashed(&self, train: &TrainRecord, sha: &Sha) -> Change {
        let pr = train.current_pr;
        let is_known = matches!(
            self.state.pr(pr).map(|pr| &pr.state),
            Some(PrState::Merged { merge_commit_sha: Some(known), .. }) if known == sha
        );
        let after = TrainRecord { last_squash_sha: Some(sha.clone()), ..train.clone() };
        let mut change = Change::of([Event::SquashCommitted { train_root: self.root, pr, sha: sha.clone() }]);
        if !is_known {
            change.record(mirror::Event::PrMerged { pr, sha: Some(sha.clone()), at: None });
        }
        change.record(self.transition(&after, train.cascade_phase.reconciling(), None));
        change
    }

    /// GitHub carried out late what nobody had heard of. It is a squash like any other; only what stands on it is not prepared.
    fn landed_after_all(&self, train: &TrainRecord, pr: &CachedPr) -> NextAction {
        let current = train.current_pr;
        let Some(sha) = pr.merge_commit() else { return NextAction::Do(TrainTask::Look { pull: current }) };
        if self.detail.landed.last() != Some(&current) {
            return NextAction::Change(Change::of([Event::SquashCommitted {
                train_root: self.root,
                pr: current,
                sha,
            }]));
        }
        self.once_proven(train, |_| NextAction::Change(self.hand_over(train, &self.standing_on(current))))
    }

    /// Goes on with the squash when it is proven to be what it should be.
    fn once_proven(&self, train: &TrainRecord, go_on: impl FnOnce(LandedSquash) -> NextAction) -> NextAction {
        let Some(landed) = self.landed(train) else {
            return NextAction::Do(TrainTask::Look { pull: train.current_pr });
        };
        let Some(default) = self.state.default_branch.clone() else { return NextAction::Rest };
        match self.detail.proven.as_ref() == Some(&landed.commit) {
            true => go_on(landed),
            false => {
                NextAction::Do(TrainTask::Prove { earlier: self.landed_before(train.current_pr), landed, default })
            }
        }
    }

    fn reconciling(&self, train: &TrainRecord) -> NextAction {
        self.once_proven(train, |landed| match train.cascade_phase.remaining().next() {
            Some(next) => self.merge(train, next, MergeStep::Reconcile { landed }),
            None => NextAction::Change(self.enter(train, train.cascade_phase.catching_up())),
        })
    }

    fn catching_up(&self, train: &TrainRecord) -> NextAction {
        match train.cascade_phase.remaining().next() {
            Some(next) => match self.own_change(next) {
                Ok(change) => self.merge(train, next, MergeStep::CatchUp { change }),
                Err(pull) => NextAction::Do(TrainTask::Look { pull }),
            },
            None => NextAction::Change(self.enter(train, train.cascade_phase.retargeting())),
        }
    }

    fn retargeting(&self, train: &TrainRecord) -> NextAction {
        let Some(next) = train.cascade_phase.remaining().next() else {
            let mut next = train.cascade_phase.completed().to_vec();
            next.retain(|number| self.state.pr(*number).is_none_or(|pr| !pr.left_out));
            let native = self.state.descendants(train.current_pr).filter(|number| self.is_native(*number));
            let is_taken = |number: &PrNumber| self.state.pr(*number).is_some_and(|pr| pr.is_ours() && !pr.left_out);
            next.extend(native.filter(is_taken));
            return NextAction::Change(self.hand_over(train, &next));
        };
        let Some(default) = self.state.default_branch.clone() else { return NextAction::Rest };
        match self.state.pr(next) {
            Some(pr) if pr.is_open() && (pr.left_out || !self.is_based_on(pr, train.current_pr)) => {
                NextAction::Change(self.skip(train, next, notice::skipped_retargeted(next, &pr.base_ref)))
            }
            Some(pr) if pr.is_open() && pr.base_ref == default => NextAction::Change(self.retargeted(train, next)),
            Some(pr) if pr.is_open() => {
                let intent = Event::IntentRetarget { train_root: self.root, pr: next, new_base: default };
                NextAction::Change(Change::of([intent]))
            }
            Some(pr) if self.is_further(pr) => NextAction::Change(self.completing(train, next, Change::default())),
            Some(_) | None => NextAction::Change(self.skip(train, next, self.why_skipped(next))),
        }
    }

    pub(super) fn retargeted(&self, train: &TrainRecord, pr: PrNumber) -> Change {
        let done = Change::of([Event::DoneRetarget { train_root: self.root, pr }]);
        self.completing(train, pr, done)
    }

    /// The merge that a descendant needs in this phase, if there still is a descendant.
    fn merge(&self, train: &TrainRecord, pull: PrNumber, step: MergeStep) -> NextAction {
        let Some(default) = self.state.default_branch.clone() else { return NextAction::Rest };
        match self.state.pr(pull) {
            // As it was told when it was given another base, even if GitHub would take that for the right one by now.
            Some(pr) if pr.is_open() && (pr.left_out || !self.is_based_on(pr, train.current_pr)) => {
                NextAction::Change(self.skip(train, pull, notice::skipped_retargeted(pull, &pr.base_ref)))
            }
            Some(CachedPr { state: PrState::Open, head_ref: Some(branch), .. }) => {
                NextAction::Do(TrainTask::Merge { step, pull, branch: branch.clone(), default })
            }
            Some(pr) if !matches!(step, MergeStep::Prepare { .. }) && self.is_further(pr) => {
                NextAction::Change(self.completing(train, pull, Change::default()))
            }
            Some(_) | None => NextAction::Change(self.skip(train, pull, self.why_skipped(pull))),
        }
    }

    /// Whether a descendant has landed already: the train that is resumed had come further than what is remembered of it.
    pub(super) fn is_further(&self, pr: &CachedPr) -> bool {
        matches!(pr.state, PrState::Merged { .. }) && Some(&pr.base_ref) == self.state.default_branch.as_ref()
    }

    /// Why a train goes on without a pull request that is not open any more.
    pub(super) fn why_skipped(&self, pull: PrNumber) -> String {
        match self.state.pr(pull) {
            Some(pr) if pr.is_merged() => notice::skipped_merged(pull, &pr.base_ref),
            Some(_) | None => notice::skipped_closed(pull),
        }
    }

    /// The phase is done with a descendant.
    pub(super) fn completing(&self, train: &TrainRecord, pr: PrNumber, mut change: Change) -> Change {
        change.record(self.transition(train, train.cascade_phase.having_completed(pr), None));
        change
    }

    /// The cascade goes on without a descendant.
    pub(super) fn skip(&self, train: &TrainRecord, pr: PrNumber, told: String) -> Change {
        let dropped = self.detail.intent.is_some();
        let dropped = dropped.then(|| Event::WorkDropped {
            train_root: self.root,
            reason: format!("#{pr} is gone"),
            by_others: false,
        });
        let mut change = Change::of(dropped);
        change.record(self.transition(train, train.cascade_phase.skipping(pr), None));
        // Not even as one that came late: a person puts it right and starts it.
        if self.state.pr(pr).is_some_and(|pr| pr.left_out) {
            // It was told when it was given another base.
            return change;
        }
        change.and(Event::PrLeftOut { pr }).saying(train.current_pr, told)
    }

    /// The train goes on with what stood on the pull request that landed.
    pub(super) fn hand_over(&self, train: &TrainRecord, descendants: &[PrNumber]) -> Change {
        let root = self.root;
        let mut landed = self.detail.landed.clone();
        if landed.last() != Some(&train.current_pr) {
            landed.push(train.current_pr);
        }
        let mut change = Change::of(self.outlived(train.current_pr));
        // One that goes on by itself already is not begun again.
        let is_on_its_own = |number: &PrNumber| {
            *number != root && self.state.active_trains.get(number).is_some_and(|own| is_live(own.state))
        };
        let left: Vec<PrNumber> = descendants.iter().copied().filter(|number| !is_on_its_own(number)).collect();
        match left.as_slice() {
            [] => {
                let default = self.state.default_branch.clone().unwrap_or_else(|| fallback(self, train.current_pr));
                let commit = |number: &PrNumber| (*number, self.state.pr(*number).and_then(CachedPr::merge_commit));
                let text = notice::completed(&landed.iter().map(commit).collect::<Vec<_>>(), &default);
                change.record(Event::StatusClosing { train_root: root, text, new_roots: Vec::new() });
                change.record(Event::TrainCompleted { root_pr: root });
            }
            [next] => {
                let last_squash_sha = self.state.pr(train.current_pr).and_then(CachedPr::merge_commit);
                change.record(Event::PhaseTransition {
                    train_root: root,
                    current_pr: *next,
                    predecessor_pr: Some(train.current_pr),
                    last_squash_sha: last_squash_sha.or_else(|| train.last_squash_sha.clone()),
                    phase: CascadePhase::Idle,
                    predecessor_head_sha: None,
                });
                change.record(mirror::Event::MergeStateOutdated { prs: vec![*next] });
            }
            several => {
                // It parted from all of them, whoever was there first.
                let text = notice::fan_out_completed(descendants);
                change.record(Event::StatusClosing { train_root: root, text, new_roots: descendants.to_vec() });
                let new_roots = several.to_vec();
                change.record(Event::FanOutCompleted { old_root: root, new_roots, original_root_pr: root });
                change.record(mirror::Event::MergeStateOutdated { prs: several.to_vec() });
            }
        }
        change
    }

    /// Those that stand on it, and can be dealt with.
    pub(super) fn standing_on(&self, number: PrNumber) -> Vec<PrNumber> {
        let stands = |above: &PrNumber| {
            let above = self.state.pr(*above);
            above.is_some_and(|above| above.is_ours() && !above.left_out && self.is_based_on(above, number))
        };
        self.state.descendants(number).filter(stands).collect()
    }

    fn is_based_on(&self, above: &CachedPr, number: PrNumber) -> bool {
        let Some(below) = self.state.pr(number) else { return false };
        // Once its branch is gone, GitHub itself may have given them another base.
        let may_be_moved = !below.is_open();
        Some(&above.base_ref) == below.head_ref.as_ref()
            || (may_be_moved && Some(&above.base_ref) == self.state.default_branch.as_ref())
    }

    /// From where the train is into another phase.
    pub(super) fn enter(&self, train: &TrainRecord, phase: CascadePhase) -> Change {
        Change::of([self.transition(train, phase, None)])
    }

    /// With the head of the pull request that the descendants are prepared for, where that becomes known.
    pub(super) fn transition(&self, train: &TrainRecord, phase: CascadePhase, head: Option<Sha>) -> Event {
        Event::PhaseTransition {
            train_root: self.root,
            current_pr: train.current_pr,
            predecessor_pr: train.predecessor_pr,
            last_squash_sha: train.last_squash_sha.clone(),
            predecessor_head_sha: head,
            phase,
        }
    }

    /// The squash that the descendants are to be related to.
    pub(super) fn landed(&self, train: &TrainRecord) -> Option<LandedSquash> {
        let commit = train.last_squash_sha.clone()?;
        let former_heads = self.state.pr(train.current_pr).map(|pr| pr.former_heads.clone()).unwrap_or_default();
        Some(LandedSquash {
            pull: train.current_pr,
            commit,
            head: train.predecessor_head_sha.clone(),
            known_before: self.detail.known_before.clone(),
            former_heads,
        })
    }

    /// What a pull request itself changes, with all that landed below it. Err: GitHub has not said as which commit this one
    /// landed.
    pub(super) fn own_change(&self, number: PrNumber) -> Result<OwnChange, PrNumber> {
        let pr = self.state.pr(number);
        let pushed = pr.filter(|pr| pr.pushed.as_ref() == Some(&pr.head_sha));
        let people_head = pushed.and_then(|pr| pr.people_head.clone());
        let below = self.state.landed_below(number).into_iter().map(|below| self.state.landed_as(below).ok_or(below));
        Ok(OwnChange { pull: number, people_head, below: below.collect::<Result<_, _>>()? })
    }

    /// What the train landed before this one.
    fn landed_before(&self, number: PrNumber) -> Vec<LandedSquash> {
        let landed = self.detail.landed.iter().filter(|landed| **landed != number);
        landed.filter_map(|landed| self.state.landed_as(*landed)).collect()
    }

    /// Whether it is in a stack that GitHub itself keeps: what stands on it there is brought into order by GitHub.
    pub(super) fn is_native(&self, number: PrNumber) -> bool {
        self.state.pr(number).is_some_and(|pr| pr.stack_position.is_some())
    }

    pub(super) fn via(&self, pull: PrNumber) -> MergeEndpoint {
        if self.is_native(pull) || self.settings.merge_in_background {
            MergeEndpoint::Background
        } else {
            MergeEndpoint::Now
        }
    }

    /// The branch of what landed, if it is to go.
    fn outlived(&self, number: PrNumber) -> Option<Event> {
        let pr = self.state.pr(number)?;
        let branch = pr.head_ref.clone()?;
        let landed = matches!(pr.state, PrState::Merged { .. }) && pr.landed_by.is_some();
        (self.settings.delete_branches && landed).then(|| Event::BranchOutlived {
            pr: number,
            branch,
            head_sha: pr.head_sha.clone(),
        })
    }
}

/// Nothing lands where the default branch is not known; its base is the same.
fn fallback(here: &TrainContext<'_>, pr: PrNumber) -> BranchName {
    let base = here.state.pr(pr).map(|pr| pr.base_ref.clone());
    base.unwrap_or_else(|| BranchName::parse("main").expect("a name"))
}
