//! What becomes of a train's worktree.

use git::worktree::Name;
use merge_train_core::ids::PrNumber;
use merge_train_core::repo::Failure;
use merge_train_core::repo::trains::work::Tidying;

use super::Errand;
use super::failure::of_git;

impl Errand<'_> {
    /// What is not there needs no tidying.
    pub(super) async fn tidy(&self, root: PrNumber, tidying: &Tidying) -> Result<(), Failure> {
        if !self.github.clones.has(self.name) {
            return Ok(());
        }
        let repository = self.github.clones.open(self.name).await.map_err(of_git)?;
        let worktrees = repository.worktrees();
        match tidying {
            Tidying::Clean if !worktrees.path(&Name::Stack(root)).exists() => Ok(()),
            Tidying::Clean => worktrees.clean(root).await.map(drop),
            Tidying::Remove => worktrees.remove(root).await,
            Tidying::FanOut { new } => worktrees.fan_out(root, new).await.map(drop),
        }
        .map_err(of_git)
    }
}
