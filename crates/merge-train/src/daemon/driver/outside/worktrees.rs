//! What becomes of a train's worktree.

use git::worktree::Name;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::work::WorktreeCleanup;

use super::EffectRun;
use super::failure::of_git;

impl EffectRun<'_> {
    /// What is not there needs no tidying.
    pub(super) async fn tidy(&self, root: PrNumber, tidying: &WorktreeCleanup) -> Result<(), EffectFailure> {
        if !self.github.clones.has(self.name) {
            return Ok(());
        }
        let repository = self.github.clones.open(self.name).await.map_err(of_git)?;
        let worktrees = repository.worktrees();
        match tidying {
            WorktreeCleanup::Clean if !worktrees.path(&Name::Stack(root)).exists() => Ok(()),
            WorktreeCleanup::Clean => worktrees.clean(root).await.map(drop),
            WorktreeCleanup::Remove => worktrees.remove(root).await,
            WorktreeCleanup::FanOut { new } => worktrees.fan_out(root, new).await.map(drop),
        }
        .map_err(of_git)
    }
}
