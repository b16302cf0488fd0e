//! The results of merges and pushes, and what a train or a late addition does next.

use super::super::{Change, TrainContext};
use crate::ids::{PrNumber, Sha};
use crate::repo::event::{FetchReason, PushDetail};
use crate::repo::mirror;
use crate::repo::trains::CascadePhase;
use crate::repo::trains::Event;
use crate::repo::trains::texts::{notice, train_end};
use crate::repo::trains::work::{
    AuthoredHead, BranchMergeOutcome, BranchPush, MergeStep, MergedWith, PushKind, PushOutcome, PushProbeResult,
};

/// How often a branch that others push to is prepared again.
const FOREIGN_PUSHES: u32 = 5;

impl TrainContext<'_> {
    pub(super) fn merged(&self, step: &MergeStep, pull: PrNumber, merged: &BranchMergeOutcome) -> Change {
        match merged {
            BranchMergeOutcome::Unchanged { head } => self.unchanged(step, pull, head),
            BranchMergeOutcome::Advance { from, to, tree, contains } => {
                let Some(branch) = self.state.pr(pull).and_then(|pr| pr.head_ref.clone()) else {
                    return Change::default();
                };
                let more = PushDetail { pr: Some(pull), commit: Some(to.clone()), contains: contains.clone() };
                let (train_root, pre_push_sha, expected_tree) = (self.root, from.clone(), tree.clone());
                Change::of([match kind(step) {
                    PushKind::Prep => Event::IntentPushPrep { train_root, branch, pre_push_sha, expected_tree, more },
                    PushKind::Reconcile => {
                        Event::IntentPushReconcile { train_root, branch, pre_push_sha, expected_tree, more }
                    }
                    PushKind::Catchup => {
                        Event::IntentPushCatchup { train_root, branch, pre_push_sha, expected_tree, more }
                    }
                }])
            }
            BranchMergeOutcome::BranchGone => self.branch_gone(kind_of(step), pull),
            BranchMergeOutcome::Missing { pull: landed, commit } => self.missing(*landed, commit),
            unmergeable => {
                let halt = self.why_not_merged(step, pull, unmergeable);
                match (self.train(), step, unmergeable) {
                    // It is the one that landed which is wrong; this one is told that it waits.
                    (Some(train), MergeStep::AddLate { .. }, BranchMergeOutcome::NotASquash { pull: landed, .. })
                        if self.stood_at(*landed) =>
                    {
                        self.halted(train, *landed, &halt)
                    }
                    (_, MergeStep::AddLate { .. }, _) => self.give_up_late(pull, Some(&halt)),
                    (Some(train), ..) => self.halted(train, pull, &halt),
                    (None, ..) => self.give_up_late(pull, Some(&halt)),
                }
            }
        }
    }

    fn why_not_merged(&self, step: &MergeStep, pull: PrNumber, merged: &BranchMergeOutcome) -> train_end::TrainEndText {
        let predecessor = self.train().map_or(pull, |train| train.current_pr);
        let fallback = self.state.pr(pull).map(|pr| pr.base_ref.clone());
        let Some(default) = self.state.default_branch.clone().or(fallback) else {
            return train_end::not_done("merge for", pull, "the default branch is not known");
        };
        let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone());
        let branch = branch.unwrap_or_else(|| default.clone());
        let moved = |standing: &AuthoredHead| train_end::ManualBranchMove::of(&branch, standing, &default);
        let from_default = train_end::ManualMerge::new(&branch, &default);
        match (merged, step) {
            (BranchMergeOutcome::Conflict { conflict, standing, .. }, MergeStep::Prepare { predecessor, .. }) => {
                let below = self.state.pr(*predecessor).and_then(|pr| pr.head_ref.clone()).unwrap_or(default);
                let merge = train_end::ManualMerge::new(&branch, &below);
                if let Some(standing) = standing {
                    let moved = train_end::ManualBranchMove::of(&branch, standing, &below);
                    train_end::rewritten_conflict(pull, *predecessor, conflict, &moved)
                } else if self.detail.pushed_by_others.contains(&pull) {
                    train_end::pushed_conflict(pull, *predecessor, conflict, &merge)
                } else {
                    train_end::preparation_conflict(pull, *predecessor, conflict, &merge)
                }
            }
            (
                BranchMergeOutcome::Conflict { with: MergedWith::BeforeSquash, conflict, standing },
                MergeStep::Reconcile { .. },
            ) => {
                let advice = standing.as_ref().map(moved);
                train_end::reconcile_conflict(pull, predecessor, &default, conflict, advice)
            }
            (
                BranchMergeOutcome::Conflict { conflict, standing: Some(standing), .. },
                MergeStep::AddLate { change } | MergeStep::CatchUp { change },
            ) => {
                let below = change.below.last().map_or(predecessor, |below| below.pull);
                train_end::late_conflict(pull, below, &default, conflict, &moved(standing))
            }
            (BranchMergeOutcome::Conflict { conflict, .. }, MergeStep::UpdateRoot) => {
                train_end::behind_conflict(pull, &default, conflict, &from_default)
            }
            (BranchMergeOutcome::Conflict { conflict, .. }, _) => {
                train_end::catch_up_conflict(pull, &default, conflict, &from_default)
            }
            (BranchMergeOutcome::NotPrepared(standing), _) => train_end::not_prepared(pull, &default, &moved(standing)),
            (BranchMergeOutcome::Withdrawn(withdrawn), MergeStep::Prepare { predecessor, .. }) => {
                let onto = self.state.pr(*predecessor).and_then(|pr| pr.head_ref.clone()).unwrap_or(default);
                let moved = train_end::ManualBranchMove::without(&branch, &withdrawn.head, &onto);
                train_end::withdrawn(pull, *predecessor, withdrawn, &moved)
            }
            (BranchMergeOutcome::Differs(difference), _) => {
                train_end::differs(pull, &default, difference, &moved(&difference.standing))
            }
            (BranchMergeOutcome::NotASquash { pull: landed, reason, standing, .. }, _) if self.stood_at(*landed) => {
                train_end::merged_outside(*landed, &[(pull, moved(standing))]).because(reason)
            }
            (BranchMergeOutcome::NotASquash { pull: landed, advice, standing, .. }, MergeStep::AddLate { .. }) => {
                train_end::not_squashed(*landed, advice, &moved(standing))
            }
            (BranchMergeOutcome::NotASquash { reason, standing, .. }, _) => {
                train_end::merged_outside(predecessor, &[(pull, moved(standing))]).because(reason)
            }
            (BranchMergeOutcome::PullRefGone { pull }, _) => train_end::pull_ref_gone(*pull),
            (
                BranchMergeOutcome::Unchanged { .. }
                | BranchMergeOutcome::Advance { .. }
                | BranchMergeOutcome::BranchGone
                | BranchMergeOutcome::Missing { .. }
                | BranchMergeOutcome::Withdrawn(_),
                _,
            ) => train_end::not_done("merge for", pull, "nothing was wrong; this is a bug"),
        }
    }

    /// Whether the train was at this pull request before, and somebody else merged it.
    fn stood_at(&self, pull: PrNumber) -> bool {
        self.train().is_some_and(|train| train.predecessor_pr == Some(pull))
    }

    /// The branch has all of it, so there is nothing to push.
    fn unchanged(&self, step: &MergeStep, pull: PrNumber, head: &Sha) -> Change {
        if self.state.pr(pull).is_none_or(|pr| pr.head_sha != *head) {
            // A push of somebody that was not heard of yet.
            let wanted = mirror::Event::PrWanted { pr: pull, reason: FetchReason::HeadDiffers, comment: None };
            let message = format!("GitHub has yet to tell of the head {head} of #{pull}");
            return Change::of([wanted]).then(self.once_they_agree(pull, message));
        }
        let (train_root, head_sha) = (self.root, head.clone());
        let squash = match step {
            MergeStep::Reconcile { .. } | MergeStep::CatchUp { .. } | MergeStep::AddLate { .. } => {
                self.state.squash_below(pull)
            }
            MergeStep::Prepare { .. } | MergeStep::UpdateRoot => None,
        };
        // Said again it would look like progress.
        let contained = squash.filter(|_| self.needs_joining(pull)).map(|squash| Event::SquashContained {
            train_root,
            pr: pull,
            squash: Some(squash),
            head_sha,
        });
        self.stepped(kind_of(step), pull, Change::of(contained))
    }

    /// A step is done, with or without a push.
    fn stepped(&self, step: MergeStepName, pull: PrNumber, mut change: Change) -> Change {
        match (step, self.train()) {
            (MergeStepName::AddLate, Some(_)) => change.and(mirror::Event::MergeStateOutdated { prs: vec![pull] }),
            (MergeStepName::AddLate, None) => change,
            (_, Some(train)) if train.current_pr == pull => {
                // GitHub called it behind, and may not have noticed yet that it is not, or no longer.
                change.record(mirror::Event::MergeStateOutdated { prs: vec![pull] });
                let message = "GitHub has yet to see that the branch is up to date".to_owned();
                change.then(self.once_they_agree(pull, message))
            }
            (_, Some(train)) => self.completing(train, pull, change),
            (_, None) => change,
        }
    }

    fn branch_gone(&self, step: MergeStepName, pull: PrNumber) -> Change {
        let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone());
        match (self.train(), branch) {
            (Some(train), Some(branch)) if train.current_pr != pull && step != MergeStepName::AddLate => {
                self.skip(train, pull, notice::skipped_branch_deleted(pull, &branch))
            }
            (_, Some(branch)) => self.give_up_late(pull, Some(&train_end::branch_gone(pull, &branch))),
            (_, None) => self.give_up_late(pull, Some(&train_end::root_closed(pull))),
        }
    }

    pub(super) fn pushed(&self, push: &BranchPush, pushed: &PushOutcome) -> Change {
        match pushed {
            PushOutcome::Landed => self.push_landed(push, &push.to),
            PushOutcome::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            PushOutcome::BranchGone => self.branch_gone(self.step_of(push), push.pull),
            PushOutcome::Rejected { reason } => {
                let halt = train_end::push_refused(push.pull, &push.branch, reason);
                match self.train() {
                    Some(train) => self.halted(train, push.pull, &halt),
                    None => self.give_up_late(push.pull, Some(&halt)),
                }
            }
        }
    }

    pub(super) fn probed(&self, push: &BranchPush, probed: &PushProbeResult) -> Change {
        match probed {
            PushProbeResult::Landed { head } => self.push_landed(push, head),
            // Computed again: the commit may be gone with the process that made it.
            PushProbeResult::NotYet => Change::of([self.dropped("the push had not landed")]),
            PushProbeResult::Rewound => Change::of([self.dropped("the branch was rewound")]),
            PushProbeResult::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            PushProbeResult::BranchGone => self.branch_gone(self.step_of(push), push.pull),
        }
    }

    fn push_landed(&self, push: &BranchPush, head: &Sha) -> Change {
        let (train_root, branch) = (self.root, push.branch.clone());
        let (pr, head_sha) = (Some(push.pull), Some(head.clone()));
        let done = match push.kind {
            PushKind::Prep => Event::DonePushPrep { train_root, branch, pr, head_sha },
            PushKind::Reconcile => Event::DonePushReconcile { train_root, branch, pr, head_sha },
            PushKind::Catchup => Event::DonePushCatchup { train_root, branch, pr, head_sha },
        };
        let change = Change::of([done]);
        match (self.train(), self.step_of(push)) {
            (Some(train), step) if train.current_pr == push.pull && step != MergeStepName::AddLate => {
                // CI begins again, and GitHub is asked what it thinks of the new head.
                change.and(mirror::Event::MergeStateOutdated { prs: vec![push.pull] })
            }
            (_, step) => self.stepped(step, push.pull, change),
        }
    }

    /// Which merge a push came from: what there is to be done with the branch in this phase.
    fn step_of(&self, push: &BranchPush) -> MergeStepName {
        let idle = self.train().is_none_or(|train| train.cascade_phase == CascadePhase::Idle);
        match push.kind {
            PushKind::Prep => MergeStepName::Prepare,
            PushKind::Reconcile if idle => MergeStepName::AddLate,
            PushKind::Reconcile => MergeStepName::Reconcile,
            PushKind::Catchup => MergeStepName::CatchUp,
        }
    }

    /// Somebody else pushed. Before the squash that is taken in. After it, what was computed is void: only a push that left
    /// the content as it was is taken in, too. Whatever its tree, the branch lacks what was to be pushed, so it is never
    /// taken for that.
    fn foreign(&self, push: &BranchPush, head: &Sha, tree: Option<&Sha>) -> Change {
        let is_late = self.step_of(push) == MergeStepName::AddLate;
        let is_current = self.train().is_some_and(|train| train.current_pr == push.pull);
        let may_repeat = push.kind == PushKind::Prep || is_late || is_current || tree == Some(&push.tree);
        if may_repeat && self.detail.attempts < FOREIGN_PUSHES {
            let message = format!("somebody pushed {head} to {}", push.branch);
            let dropped = Event::WorkDropped { train_root: self.root, reason: message.clone(), by_others: true };
            return Change::of([dropped]).then(self.once_they_agree(push.pull, message));
        }
        let halt = train_end::branch_modified(push.pull, tree.unwrap_or(head), &push.tree, head);
        match self.train() {
            Some(train) => self.halted(train, push.pull, &halt),
            None => self.give_up_late(push.pull, Some(&halt)),
        }
    }
}

/// A merge, by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MergeStepName {
    Prepare,
    Reconcile,
    CatchUp,
    UpdateRoot,
    AddLate,
}

fn kind_of(step: &MergeStep) -> MergeStepName {
    match step {
        MergeStep::Prepare { .. } => MergeStepName::Prepare,
        MergeStep::Reconcile { .. } => MergeStepName::Reconcile,
        MergeStep::CatchUp { .. } => MergeStepName::CatchUp,
        MergeStep::UpdateRoot => MergeStepName::UpdateRoot,
        MergeStep::AddLate { .. } => MergeStepName::AddLate,
    }
}

fn kind(step: &MergeStep) -> PushKind {
    match step {
        MergeStep::Prepare { .. } => PushKind::Prep,
        MergeStep::Reconcile { .. } | MergeStep::AddLate { .. } => PushKind::Reconcile,
        MergeStep::CatchUp { .. } | MergeStep::UpdateRoot => PushKind::Catchup,
    }
}
