//! What came of merges and pushes.

use super::super::{Change, Standpoint, retry_at};
use super::no_news;
use crate::ids::{PrNumber, Sha};
use crate::repo::event::{Event, PushDetail, WantReason};
use crate::train::CascadePhase;
use crate::train::texts::{halt, notice};
use crate::train::work::{Landed, Merged, MergedWith, Probed, Push, PushKind, Pushed, Step};

/// How often a branch that others push to is prepared anew.
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
            Merged::BranchGone => self.branch_gone(step, pull),
            unmergeable => {
                let halt = self.why_not_merged(step, pull, unmergeable);
                match (self.train(), step) {
                    // It is the one that landed which is wrong; this one is told that it waits.
                    (Some(train), Step::AddLate { landed })
                        if self.stood_at(landed.pull) && is_foreign(unmergeable) =>
                    {
                        self.halted(train, landed.pull, &halt)
                    }
                    (_, Step::AddLate { .. }) => self.give_up_late(pull, Some(&halt)),
                    (Some(train), _) => self.halted(train, pull, &halt),
                    (None, _) => Change::default(),
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
        match (merged, step) {
            (Merged::Conflict { conflict, .. }, Step::Prepare { predecessor }) => {
                if self.detail.pushed_by_others.contains(&pull) {
                    halt::pushed_conflict(pull, *predecessor, conflict)
                } else {
                    halt::preparation_conflict(pull, *predecessor, conflict)
                }
            }
            (Merged::Conflict { with: MergedWith::BeforeSquash, conflict }, Step::Reconcile { .. }) => {
                halt::reconcile_conflict(pull, predecessor, &default, conflict)
            }
            (Merged::Conflict { conflict, .. }, Step::AddLate { landed }) => {
                halt::late_conflict(pull, landed.pull, &default, conflict)
            }
            (Merged::Conflict { conflict, .. }, Step::UpdateRoot) => halt::behind_conflict(pull, &default, conflict),
            (Merged::Conflict { conflict, .. }, _) => halt::catch_up_conflict(pull, &default, conflict),
            (Merged::NotPrepared, _) => halt::not_prepared(pull, &default),
            (Merged::NotASquash { reason, .. }, Step::AddLate { landed }) if self.stood_at(landed.pull) => {
                halt::merged_outside(landed.pull).because(reason)
            }
            (Merged::NotASquash { advice, .. }, Step::AddLate { landed }) => halt::not_squashed(landed.pull, advice),
            (Merged::NotASquash { reason, .. }, _) => halt::merged_outside(predecessor).because(reason),
            (Merged::PullRefGone { pull }, _) => halt::pull_ref_gone(*pull),
            (Merged::Unchanged { .. } | Merged::Advance { .. } | Merged::BranchGone, _) => {
                halt::not_done("merge for", pull, "nothing was wrong; this is a bug")
            }
        }
    }

    /// Whether the train was at this pull request before, and somebody else merged it.
    fn stood_at(&self, pull: PrNumber) -> bool {
        self.train().is_some_and(|train| train.predecessor_pr == Some(pull))
    }

    /// The branch has all of it, so there is nothing to push.
    fn unchanged(&self, step: &Step, pull: PrNumber, head: &Sha) -> Change {
        let known = self.state.pr(pull).map(|pr| &pr.head_sha);
        let mut change = Change::default();
        if known != Some(head) {
            // A push of somebody that was not heard of yet.
            change.events.push(Event::PrWanted { pr: pull, reason: WantReason::HeadDiffers, comment: None });
        }
        self.stepped(step, pull, change)
    }

    /// A step is done, with or without a push.
    fn stepped(&self, step: &Step, pull: PrNumber, mut change: Change) -> Change {
        match (step, self.train()) {
            (Step::AddLate { .. }, _) => change.and(Event::LateJoined { train_root: self.root, pr: pull }),
            (_, Some(train)) if train.current_pr == pull => {
                // GitHub called it behind, and may not have noticed yet that it is not, or no longer.
                change.events.push(Event::MergeStateOutdated { prs: vec![pull] });
                let at = retry_at(&no_news(), self.detail.attempts, self.now);
                change.and(Event::WorkDelayed {
                    train_root: self.root,
                    reason: "GitHub has yet to see that the branch is up to date".to_owned(),
                    retry_at: at,
                })
            }
            (_, Some(train)) => self.completing(train, pull, change),
            (_, None) => change,
        }
    }

    fn branch_gone(&self, step: &Step, pull: PrNumber) -> Change {
        let branch = self.state.pr(pull).and_then(|pr| pr.head_ref.clone());
        match (self.train(), step, branch) {
            (_, Step::AddLate { .. }, _) => self.give_up_late(pull, None),
            (Some(train), _, _) if train.current_pr == pull => self.halted(train, pull, &halt::root_closed(pull)),
            (Some(train), _, Some(branch)) => self.skip(train, pull, notice::skipped_branch_deleted(pull, &branch)),
            _ => Change::default(),
        }
    }

    pub(super) fn pushed(&self, push: &Push, pushed: &Pushed) -> Change {
        match pushed {
            Pushed::Landed => self.push_landed(push, &push.to),
            Pushed::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            Pushed::BranchGone => self.branch_gone(&self.step_of(push), push.pull),
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
            // Computed anew: the commit may be gone with the process that made it.
            Probed::NotYet => Change::of([self.dropped("the push had not landed")]),
            Probed::Rewound => Change::of([self.dropped("the branch was rewound")]),
            Probed::Foreign { head, tree } => self.foreign(push, head, tree.as_ref()),
            Probed::BranchGone => self.branch_gone(&self.step_of(push), push.pull),
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
            (Some(train), step) if train.current_pr == push.pull && !matches!(step, Step::AddLate { .. }) => {
                // CI begins anew, and GitHub is asked what it thinks of the new head.
                change.and(Event::MergeStateOutdated { prs: vec![push.pull] })
            }
            (_, step) => self.stepped(&step, push.pull, change),
        }
    }

    /// Which merge a push came from: what there is to be done with the branch in this phase.
    fn step_of(&self, push: &Push) -> Step {
        let idle = self.train().is_none_or(|train| train.cascade_phase == CascadePhase::Idle);
        let landed = || Landed { pull: push.pull, commit: push.to.clone(), head: None, known_before: None };
        match push.kind {
            PushKind::Prep => Step::Prepare { predecessor: push.pull },
            PushKind::Reconcile if idle => Step::AddLate { landed: landed() },
            PushKind::Reconcile => Step::Reconcile { landed: landed() },
            PushKind::Catchup => Step::CatchUp,
        }
    }

    /// Somebody else pushed. Before the squash that is taken in; after it, what was computed is void.
    fn foreign(&self, push: &Push, head: &Sha, tree: Option<&Sha>) -> Change {
        let is_late = matches!(self.step_of(push), Step::AddLate { .. });
        let is_current = self.train().is_some_and(|train| train.current_pr == push.pull);
        let may_repeat = push.kind == PushKind::Prep || is_late || is_current;
        if may_repeat && self.detail.attempts < FOREIGN_PUSHES {
            let at = retry_at(&no_news(), self.detail.attempts, self.now);
            let reason = format!("somebody pushed {head} to {}", push.branch);
            return Change::of([
                Event::WorkDropped { train_root: self.root, reason: reason.clone(), by_others: true },
                Event::WorkDelayed { train_root: self.root, reason, retry_at: at },
            ]);
        }
        if tree == Some(&push.tree) {
            // The same content, by whomever.
            return self.push_landed(push, head);
        }
        let halt = halt::branch_modified(push.pull, tree.unwrap_or(head), &push.tree);
        match self.train() {
            Some(train) => self.halted(train, push.pull, &halt),
            None => self.give_up_late(push.pull, Some(&halt)),
        }
    }
}

/// Whether somebody merged the predecessor in a way that nothing can be related to.
fn is_foreign(merged: &Merged) -> bool {
    matches!(merged, Merged::NotASquash { .. })
}

fn kind(step: &Step) -> PushKind {
    match step {
        Step::Prepare { .. } => PushKind::Prep,
        Step::Reconcile { .. } | Step::AddLate { .. } => PushKind::Reconcile,
        Step::CatchUp | Step::UpdateRoot => PushKind::Catchup,
    }
}
