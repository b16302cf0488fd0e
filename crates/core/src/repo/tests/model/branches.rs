//! Branches: what is merged into them, and what is pushed.

use super::github::{GitHub, begun_with};
use super::objects::Objects;
use crate::ids::Sha;
use crate::repo::trains::work::{
    AuthoredHead, BranchMergeOutcome, BranchPush, LandedSquash, MergeStep, OwnChange, PushOutcome, PushProbeResult,
};

impl GitHub {
    pub(super) fn merge(&mut self, git: &Objects, step: &MergeStep, number: u64, attempt: u8) -> BranchMergeOutcome {
        let head = self.pulls[&number].head.clone();
        let main = self.main.clone();
        let squashes = |change: &OwnChange| change.below.iter().map(|landed| landed.commit.clone()).collect::<Vec<_>>();
        let contains: Vec<Sha> = match step {
            MergeStep::Prepare { predecessor, .. } => vec![self.pulls[&predecessor.get()].head.clone()],
            MergeStep::Reconcile { landed } => vec![landed.commit.clone()],
            MergeStep::UpdateRoot => vec![main.clone()],
            MergeStep::CatchUp { change } => squashes(change).into_iter().chain([main.clone()]).collect(),
            MergeStep::AddLate { change } => squashes(change),
        };
        if contains.iter().all(|theirs| git.contains(&head, theirs)) {
            return BranchMergeOutcome::Unchanged { head };
        }
        let to = match step {
            MergeStep::Prepare { .. } | MergeStep::UpdateRoot => self.joined(git, &head, &contains[0], attempt),
            MergeStep::Reconcile { landed } => {
                if !git.contains(&head, &self.landed_head(landed)) {
                    self.flaw = Some("a descendant was to be reconciled that was not prepared");
                    return BranchMergeOutcome::NotPrepared(AuthoredHead::new(head.clone(), main));
                }
                self.reconciled(git, &head, landed, attempt)
            }
            MergeStep::CatchUp { change } | MergeStep::AddLate { change } => {
                let mut related = head.clone();
                for landed in &change.below {
                    if !git.contains(&related, &landed.commit) {
                        let prepared = self.joined(git, &related, &self.landed_head(landed), attempt);
                        related = self.reconciled(git, &prepared, landed, attempt);
                    }
                }
                self.joined(git, &related, &main, attempt)
            }
        };
        if git.changes(&head) & !git.changes(&to) != 0 {
            self.flaw = Some("a merge took back what was in the branch");
        }
        self.computed.insert(number, to.clone());
        BranchMergeOutcome::Advance { from: head, tree: git.tree(&to), to, contains }
    }

    fn joined(&mut self, git: &Objects, ours: &Sha, theirs: &Sha, attempt: u8) -> Sha {
        if self.clash(git, ours, theirs) {
            self.flaw = Some("a merge conflicts that would not where everything is related to what landed");
        }
        git.commit(&[ours, theirs], git.merged(ours, theirs), attempt)
    }

    /// Each pull request rewrites a line that the one below wrote; each that stands on it another.
    pub(super) fn clash(&self, git: &Objects, ours: &Sha, theirs: &Sha) -> bool {
        let sides = git.sides(ours, theirs);
        let mut lines =
            self.pulls.iter().filter_map(|(number, pull)| Some(begun_with(*number) | begun_with(pull.below?)));
        lines.any(|line| sides.clash_over(line))
    }

    /// The branch gets what was on the default branch before the squash, and of the squash only the name.
    fn reconciled(&mut self, git: &Objects, head: &Sha, landed: &LandedSquash, attempt: u8) -> Sha {
        let before = git.below(&landed.commit);
        let merged = self.joined(git, head, &before, attempt);
        git.commit(&[&merged, &landed.commit], git.changes(&merged), attempt)
    }

    pub(super) fn landed_head(&self, landed: &LandedSquash) -> Sha {
        let on_github = self.pulls[&landed.pull.get()].landed.as_ref().map(|(head, _)| head.clone());
        on_github.expect("what is reconciled with has landed")
    }

    /// Moves a branch from the commit that was read, or does nothing.
    pub fn push(&mut self, git: &Objects, push: &BranchPush) -> PushOutcome {
        let number = push.pull.get();
        let head = self.pulls[&number].head.clone();
        if head == push.to {
            return PushOutcome::Landed;
        }
        if head != push.from {
            return PushOutcome::Foreign { tree: Some(git.tree(&head)), head };
        }
        if !self.is_open(number) {
            self.flaw = Some("something was pushed to the branch of what has landed");
        }
        if !git.contains(&push.to, &head) {
            self.flaw = Some("a push took something out of a branch");
        }
        self.pulls.get_mut(&number).expect("there").head = push.to.clone();
        self.computed.remove(&number);
        self.touch(Some(number));
        PushOutcome::Landed
    }

    pub(super) fn probe(&self, git: &Objects, push: &BranchPush) -> PushProbeResult {
        let head = self.pulls[&push.pull.get()].head.clone();
        let tree = git.tree(&head);
        let is_there = tree == push.tree && push.contains.iter().all(|commit| git.contains(&head, commit));
        match head {
            head if head == push.from => PushProbeResult::NotYet,
            head if !git.contains(&head, &push.from) => PushProbeResult::Rewound,
            head if is_there => PushProbeResult::Landed { head },
            head => PushProbeResult::Foreign { head, tree: Some(tree) },
        }
    }
}
