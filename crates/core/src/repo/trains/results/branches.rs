//! The results of merges and pushes, and what a train or a late addition does next.

use super::super::{Change, Standpoint};
use crate::ids::{PrNumber, Sha};
use crate::repo::event::{PushDetail, WantReason};
use crate::repo::mirror;
use crate::repo::trains::CascadePhase;
use crate::repo::trains::Event;
use crate::repo::trains::texts::{halt, notice};
use crate::repo::trains::work::{Merged, MergedWith, Probed, Push, PushKind, Pushed, Standing, Step};

/// How often a branch that others push to is prepared again.
const FOREIGN_PUSHES: u32 = 5;

impl Standpoint<'_> {
    pub(super) fn merged(&self, step: &Step, pull: PrNumber, merged: &Merged) -> Change {
        match merged {
            Merged::Unchanged { head } => self.unchanged(step, pull, head),
            Merged::Advance { from, to, tree, contains } => {
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
            Merged::BranchGone => self.branch_gone(kind_of(step), pull),
            Merged::Missing { pull: landed, commit } => self.missing(*landed, commit),
            unmergeable => {
                let halt = self.why_not_merged(step, pull, unmergeable);
                match (self.train(), step, unmergeable) {
                    // It is the one that landed which is wrong; this one is told that it waits.
                    (Some(train), Step::AddLate { .. }, Merged::NotASquash { pull: landed, .. })
                        if self.stood_at(*landed) =>
                    {
                        self.halted(train, *landed, &halt)
                    }
                    (_, Step::AddLate { .. }, _) => self.give_up_late(pull, Some(&halt)),
                    (Some(train), ..) => self.halted(train, pull, &halt),
                    (None, ..) => self.give_up_late(pull, Some(&halt)),
                }
            }
        }
    }

    fn why_not_merged(&self, step: &Step, pull: PrNumber, merged: &Merged) -> halt::Halt {
        let predecessor = self.train().map_or(pull, |train| train.current_pr);
        let fallback = self.state.pr(pull).map(|pr| pr.base_ref.clone());
        let Some(default) = self.state.default_branch.clone().or(fallback) else {
            return halt::not_done("merge for", pull, "the default branch is not known");
        };
        let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone());
        let branch = branch.unwrap_or_else(|| default.clone());
        let moved = |standing: &Standing| halt::Move::of(&branch, standing, &default);
        let from_default = halt::MergeIn::new(&branch, &default);
        match (merged, step) {
            (Merged::Conflict { conflict, standing, .. }, Step::Prepare { predecessor, .. }) => {
                let below = self.state.pr(*predecessor).and_then(|pr| pr.head_ref.clone()).unwrap_or(default);
                let merge = halt::MergeIn::new(&branch, &below);
                if let Some(standing) = standing {
                    let moved = halt::Move::of(&branch, standing, &below);
                    halt::rewritten_conflict(pull, *predecessor, conflict, &moved)
                } else if self.detail.pushed_by_others.contains(&pull) {
                    halt::pushed_conflict(pull, *predecessor, conflict, &merge)
                } else {
                    halt::preparation_conflict(pull, *predecessor, conflict, &merge)
                }
            }
            (Merged::Conflict { with: MergedWith::BeforeSquash, conflict, standing }, Step::Reconcile { .. }) => {
                let advice = standing.as_ref().map(moved);
                halt::reconcile_conflict(pull, predecessor, &default, conflict, advice)
            }
            (
                Merged::Conflict { conflict, standing: Some(standing), .. },
                Step::AddLate { change } | Step::CatchUp { change },
            ) => {
                let below = change.below.last().map_or(predecessor, |below| below.pull);
                halt::late_conflict(pull, below, &default, conflict, &moved(standing))
            }
            (Merged::Conflict { conflict, .. }, Step::UpdateRoot) => {
                halt::behind_conflict(pull, &default, conflict, &from_default)
            }
            (Merged::Conflict { conflict, .. }, _) => halt::catch_up_conflict(pull, &default, conflict, &from_default),
            (Merged::NotPrepared(standing), _) => halt::not_prepared(pull, &default, &moved(standing)),
            (Merged::Withdrawn(withdrawn), Step::Prepare { predecessor, .. }) => {
                let onto = self.state.pr(*predecessor).and_then(|pr| pr.head_ref.clone()).unwrap_or(default);
                let moved = halt::Move::without(&branch, &withdrawn.head, &onto);
                halt::withdrawn(pull, *predecessor, withdrawn, &moved)
            }
            (Merged::Differs(difference), _) => halt::differs(pull, &default, difference, &moved(&difference.standing)),
            (Merged::NotASquash { pull: landed, reason, standing, .. }, _) if self.stood_at(*landed) => {
                halt::merged_outside(*landed, &[(pull, moved(standing))]).because(reason)
            }
            (Merged::NotASquash { pull: landed, advice, standing, .. }, Step::AddLate { .. }) => {
                halt::not_squashed(*landed, advice, &moved(standing))
            }
            (Merged::NotASquash { reason, standing, .. }, _) => {
                halt::merged_outside(predecessor, &[(pull, moved(standing))]).because(reason)
            }
            (Merged::PullRefGone { pull }, _) => halt::pull_ref_gone(*pull),
            (
                Merged::Unchanged { .. }
                | Merged::Advance { .. }
                | Merged::BranchGone
                | Merged::Missing { .. }
                | Merged::Withdrawn(_),
                _,
            ) => halt::not_done("merge for", pull, "nothing was wrong; this is a bug"),
        }
    }

    /// Whether the train was at this pull request before, and somebody else merged it.
    fn stood_at(&self, pull: PrNumber) -> bool {
        self.train().is_some_and(|train| train.predecessor_pr == Some(pull))
    }

    /// The branch has all of it, so there is nothing to push.
    fn unchanged(&self, step: &Step, pull: PrNumber, head: &Sha) -> Change {
        if self.state.pr(pull).is_none_or(|pr| pr.head_sha != *head) {
            // A push of somebody that was not heard of yet.
            let wanted = mirror::Event::PrWanted { pr: pull, reason: WantReason::HeadDiffers, comment: None };
            let message = format!("GitHub has yet to tell of the head {head} of #{pull}");
            return Change::of([wanted]).then(self.once_they_agree(pull, message));
        }
        let (train_root, head_sha) = (self.root, head.clone());
        let squash = match step {
            Step::Reconcile { .. } | Step::CatchUp { .. } | Step::AddLate { .. } => self.state.squash_below(pull),
            Step::Prepare { .. } | Step::UpdateRoot => None,
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
    fn stepped(&self, step: StepKind, pull: PrNumber, mut change: Change) -> Change {
        match (step, self.train()) {
            (StepKind::AddLate, Some(_)) => change.and(mirror::Event::MergeStateOutdated { prs: vec![pull] }),
            (StepKind::AddLate, None) => change,
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

    fn branch_gone(&self, step: StepKind, pull: PrNumber) -> Change {
        let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone());
        match (self.train(), branch) {
            (Some(train), Some(branch)) if train.current_pr != pull && step != StepKind::AddLate => {
                self.skip(train, pull, notice::skipped_branch_deleted(pull, &branch))
            }
            (_, Some(branch)) => self.give_up_late(pull, Some(&halt::branch_gone(pull, &branch))),
            (_, None) => self.give_up_late(pull, Some(&halt::root_closed(pull))),
        }
    }

    pub(super) fn pushed(&self, push: &Push, pushed: &Pushed) -> Change {
        match pushed {
            Pushed::Landed => self.push_landed(push, &push.to),
            Pushed::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            Pushed::BranchGone => self.branch_gone(self.step_of(push), push.pull),
            Pushed::Rejected { reason } => {
                let halt = halt::push_refused(push.pull, &push.branch, reason);
                match self.train() {
                    Some(train) => self.halted(train, push.pull, &halt),
                    None => self.give_up_late(push.pull, Some(&halt)),
                }
            }
        }
    }

    pub(super) fn probed(&self, push: &Push, probed: &Probed) -> Change {
        match probed {
            Probed::Landed { head } => self.push_landed(push, head),
            // Computed again: the commit may be gone with the process that made it.
            Probed::NotYet => Change::of([self.dropped("the push had not landed")]),
            Probed::Rewound => Change::of([self.dropped("the branch was rewound")]),
            Probed::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            Probed::BranchGone => self.branch_gone(self.step_of(push), push.pull),
        }
    }

    fn push_landed(&self, push: &Push, head: &Sha) -> Change {
        let (train_root, branch) = (self.root, push.branch.clone());
        let (pr, head_sha) = (Some(push.pull), Some(head.clone()));
        let done = match push.kind {
            PushKind::Prep => Event::DonePushPrep { train_root, branch, pr, head_sha },
            PushKind::Reconcile => Event::DonePushReconcile { train_root, branch, pr, head_sha },
            PushKind::Catchup => Event::DonePushCatchup { train_root, branch, pr, head_sha },
        };
        let change = Change::of([done]);
        match (self.train(), self.step_of(push)) {
            (Some(train), step) if train.current_pr == push.pull && step != StepKind::AddLate => {
                // CI begins again, and GitHub is asked what it thinks of the new head.
                change.and(mirror::Event::MergeStateOutdated { prs: vec![push.pull] })
            }
            (_, step) => self.stepped(step, push.pull, change),
        }
    }

    /// Which merge a push came from: what there is to be done with the branch in this phase.
    fn step_of(&self, push: &Push) -> StepKind {
        let idle = self.train().is_none_or(|train| train.cascade_phase == CascadePhase::Idle);
        match push.kind {
            PushKind::Prep => StepKind::Prepare,
            PushKind::Reconcile if idle => StepKind::AddLate,
            PushKind::Reconcile => StepKind::Reconcile,
            PushKind::Catchup => StepKind::CatchUp,
        }
    }

    /// Somebody else pushed. Before the squash that is taken in. After it, what was computed is void: only a push that left
    /// the content as it was is taken in, too. Whatever its tree, the branch lacks what was to be pushed, so it is never
    /// taken for that.
    fn foreign(&self, push: &Push, head: &Sha, tree: Option<&Sha>) -> Change {
        let is_late = self.step_of(push) == StepKind::AddLate;
        let is_current = self.train().is_some_and(|train| train.current_pr == push.pull);
        let may_repeat = push.kind == PushKind::Prep || is_late || is_current || tree == Some(&push.tree);
        if may_repeat && self.detail.attempts < FOREIGN_PUSHES {
            let message = format!("somebody pushed {head} to {}", push.branch);
            let dropped = Event::WorkDropped { train_root: self.root, reason: message.clone(), by_others: true };
            return Change::of([dropped]).then(self.once_they_agree(push.pull, message));
        }
        let halt = halt::branch_modified(push.pull, tree.unwrap_or(head), &push.tree, head);
        match self.train() {
            Some(train) => self.halted(train, push.pull, &halt),
            None => self.give_up_late(push.pull, Some(&halt)),
        }
    }
}

/// A merge, by its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Prepare,
    Reconcile,
    CatchUp,
    UpdateRoot,
    AddLate,
}

fn kind_of(step: &Step) -> StepKind {
    match step {
        Step::Prepare { .. } => StepKind::Prepare,
        Step::Reconcile { .. } => StepKind::Reconcile,
        Step::CatchUp { .. } => StepKind::CatchUp,
        Step::UpdateRoot => StepKind::UpdateRoot,
        Step::AddLate { .. } => StepKind::AddLate,
    }
}

fn kind(step: &Step) -> PushKind {
    match step {
        Step::Prepare { .. } => PushKind::Prep,
        Step::Reconcile { .. } | Step::AddLate { .. } => PushKind::Reconcile,
        Step::CatchUp { .. } | Step::UpdateRoot => PushKind::Catchup,
    }
}
