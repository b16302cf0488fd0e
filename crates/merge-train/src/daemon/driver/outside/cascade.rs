//! The cascade's own work in git: what a stack would come to, its merges and its pushes.

use git::stack::{Pull, Stack};
use merge_train_core::ids::{BranchName, PrNumber};
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::plan::{LandingPlan, StackMember};
use merge_train_core::repo::trains::work::{BranchMergeOutcome, BranchPush, MergeStep, PushOutcome, PushProbeResult};

use super::EffectRun;
use super::failure::of_git;

/// A branch that something is merged into, for a train.
pub(super) struct MergeTarget<'a> {
    pub root: PrNumber,
    pub pull: PrNumber,
    pub branch: &'a BranchName,
    pub default: &'a BranchName,
}

impl MergeTarget<'_> {
    fn pull(&self) -> Pull {
        Pull { number: self.pull, branch: self.branch.clone() }
    }
}

impl EffectRun<'_> {
    /// The train's view of the clone.
    pub(super) async fn stack(&self, root: PrNumber) -> Result<Stack, EffectFailure> {
        let repository = self.github.clones.open(self.name).await.map_err(of_git)?;
        repository.stack(root, self.cancel.clone()).await.map_err(of_git)
    }

    /// What landing a stack would do. Nothing of it stays in the clone.
    pub(super) async fn plan(
        &self,
        members: &[StackMember],
        default: &BranchName,
    ) -> Result<LandingPlan, EffectFailure> {
        let computed = async {
            let view = self.github.clones.open(self.name).await?.glance(self.cancel.clone()).await?;
            let plan = view.plan(members, default).await;
            if let Err(error) = view.close().await {
                tracing::warn!(repo = %self.name, %error, "something of a plan is left behind; housekeeping removes it");
            }
            plan
        };
        computed.await.map_err(of_git)
    }

    pub(super) async fn merge(
        &self,
        target: &MergeTarget<'_>,
        step: &MergeStep,
    ) -> Result<BranchMergeOutcome, EffectFailure> {
        let stack = self.stack(target.root).await?;
        stack.merge_for_train(&target.pull(), step, target.default).await.map_err(of_git)
    }

    pub(super) async fn push(&self, root: PrNumber, push: &BranchPush) -> Result<PushOutcome, EffectFailure> {
        self.stack(root).await?.push_for_train(push).await.map_err(of_git)
    }

    pub(super) async fn probe(&self, root: PrNumber, push: &BranchPush) -> Result<PushProbeResult, EffectFailure> {
        self.stack(root).await?.probe_for_train(push).await.map_err(of_git)
    }
}
