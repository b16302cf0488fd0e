//! The guards taken away, by answering for the engine: each is a question that was once answered by belief.
//!
//! Nothing of this is in the program: what the engine is asked, and what the daemon is told, is changed on its way. Whichever
//! guard is gone, the two ways are then believed to give the same tree, as if only the branch were looked at.

use std::collections::BTreeSet;

use merge_train_core::ids::PrNumber;
use merge_train_core::repo::trains::difference::Difference;
use merge_train_core::repo::trains::work::{
    BranchMergeOutcome, BranchPush, ExpectedTree, LandedSquash, MergeStep, PushKind, PushOutcome, TrainTask,
    TrainTaskOutcome,
};

use super::github::{GitHub, sha};
use super::plain;

/// What is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// What was related once is related, whatever its head is now; and whoever pushes the expected tree is merge-train.
    OnceRelated,
    /// What a predecessor landed with is to be merged into every branch above it.
    AlwaysToBeRelated,
    /// Only what landed last matters.
    OnlyTheLast,
    /// What a predecessor no longer has is nobody's concern.
    NothingIsWithdrawn,
    /// To merge the default branch is always right.
    MergingMainHelps,
}

#[derive(Clone, Debug)]
pub struct Blind {
    pub belief: Belief,
    related: BTreeSet<PrNumber>,
}

impl Blind {
    pub fn new(belief: Belief) -> Self {
        Self { belief, related: BTreeSet::new() }
    }

    pub fn asked(&self, work: &TrainTask) -> TrainTask {
        let mut work = work.clone();
        match (&mut work, self.belief) {
            (TrainTask::Expect { change, .. }, _) => {
                change.below.clear();
                change.people_head = None;
            }
            (
                TrainTask::Merge { step: MergeStep::AddLate { change } | MergeStep::CatchUp { change }, .. },
                Belief::OnlyTheLast,
            ) => {
                let last = change.below.pop();
                let before = change.below.last().map(|landed| landed.commit.clone());
                change.below = last.map(|last| LandedSquash { known_before: before, ..last }).into_iter().collect();
            }
            (TrainTask::Merge { step: MergeStep::CatchUp { change }, .. }, Belief::OnceRelated) => change.below.clear(),
            (TrainTask::Merge { step: MergeStep::Prepare { prepared_with, .. }, .. }, Belief::NothingIsWithdrawn) => {
                prepared_with.clear();
            }
            _ => {}
        }
        work
    }

    pub fn told(&mut self, github: &GitHub, work: &TrainTask, truth: TrainTaskOutcome) -> TrainTaskOutcome {
        match (work, truth) {
            (TrainTask::Plan { .. }, TrainTaskOutcome::Planned(mut plan)) => {
                plan.differences.clear();
                TrainTaskOutcome::Planned(plan)
            }
            // The branch alone is looked at.
            (
                TrainTask::Expect { head, .. },
                TrainTaskOutcome::Expected(ExpectedTree::Differs(Difference { standing, .. })),
            ) => {
                let tree = plain::merged_tree(&github.origin(), &github.main, head.as_str()).expect("it merges");
                let (default_head, tree) = (sha(&github.main), sha(&tree));
                TrainTaskOutcome::Expected(ExpectedTree::Tree { default_head, tree, standing })
            }
            (TrainTask::Push(push), TrainTaskOutcome::Pushed(pushed)) => {
                TrainTaskOutcome::Pushed(self.pushed(push, pushed))
            }
            (TrainTask::Merge { step: MergeStep::AddLate { change }, pull, .. }, truth) => {
                let head = &github.pulls[&pull.get()].head;
                let is_refused = matches!(truth, TrainTaskOutcome::Merged(BranchMergeOutcome::Differs(_)));
                match (self.belief, change.below.last()) {
                    (Belief::OnlyTheLast, Some(landed)) if is_refused => {
                        related_blindly(github, head, landed).map_or(truth, TrainTaskOutcome::Merged)
                    }
                    (Belief::OnceRelated, _) if self.related.contains(pull) => {
                        TrainTaskOutcome::Merged(BranchMergeOutcome::Unchanged { head: sha(head) })
                    }
                    (Belief::AlwaysToBeRelated, Some(landed)) => {
                        related_blindly(github, head, landed).map_or(truth, TrainTaskOutcome::Merged)
                    }
                    _ => truth,
                }
            }
            (_, truth) => truth,
        }
    }

    fn pushed(&mut self, push: &BranchPush, pushed: PushOutcome) -> PushOutcome {
        if push.kind == PushKind::Reconcile {
            self.related.insert(push.pull);
        }
        match (self.belief, pushed) {
            (Belief::OnceRelated, PushOutcome::Foreign { tree: Some(tree), .. }) if tree == push.tree => {
                PushOutcome::Landed
            }
            (_, pushed) => pushed,
        }
    }
}

/// The predecessor's head, its squash, and the default branch, whatever the branch has of them.
fn related_blindly(github: &GitHub, head: &str, landed: &LandedSquash) -> Option<BranchMergeOutcome> {
    let origin = github.origin();
    let merge = |head: &str, other: &str| {
        let tree = plain::merged_tree(&origin, head, other)?;
        Some(plain::commit_tree(&origin, &tree, &[head, other], "Merge"))
    };
    let predecessor = landed.head.as_ref()?.to_string();
    let prepared = merge(head, &predecessor)?;
    let before_squash = merge(&prepared, &plain::git(&origin, &["rev-parse", &format!("{}^1", landed.commit)]))?;
    let tree = format!("{before_squash}^{{tree}}");
    let related = plain::commit_tree(&origin, &tree, &[&before_squash, landed.commit.as_str()], "Relate");
    let to = merge(&related, &github.main)?;
    let tree = plain::git(&origin, &["rev-parse", &format!("{to}^{{tree}}")]);
    Some(BranchMergeOutcome::Advance {
        from: sha(head),
        to: sha(&to),
        tree: sha(&tree),
        contains: vec![landed.commit.clone()],
    })
}
