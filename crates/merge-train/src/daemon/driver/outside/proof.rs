//! What a squash is to put on the default branch, and whether it did.

use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::EffectFailure;
use merge_train_core::repo::trains::work::{ExpectedTree, LandedSquash, LandedTreeProof, OwnChange};

use super::EffectRun;
use super::failure::of_git;

impl EffectRun<'_> {
    /// The tree that the default branch is to have after a squash of `head`, computed in two ways.
    pub(super) async fn expect(
        &self,
        root: PrNumber,
        change: &OwnChange,
        head: &Sha,
        default: &BranchName,
    ) -> Result<ExpectedTree, EffectFailure> {
        let expected = self.stack(root).await?.expect_for_train(change, head, default).await.map_err(of_git)?;
        if let ExpectedTree::Differs(difference) = &expected {
            tracing::error!(repo = %self.name, pull = %change.pull, %head, files = ?difference.files,
                standing = ?difference.standing, "the two ways to compute what lands do not agree");
        }
        Ok(expected)
    }

    /// Whether what landed is the squash of what was to land.
    pub(super) async fn prove(
        &self,
        root: PrNumber,
        landed: &LandedSquash,
        earlier: &[LandedSquash],
        default: &BranchName,
    ) -> Result<LandedTreeProof, EffectFailure> {
        let proof = self.stack(root).await?.prove_for_train(landed, earlier, default).await.map_err(of_git)?;
        if let LandedTreeProof::WrongTree { expected, found, files } = &proof {
            tracing::error!(repo = %self.name, pull = %landed.pull, commit = %landed.commit, %expected, %found, ?files,
                "what landed is not what was to land");
        }
        Ok(proof)
    }
}
