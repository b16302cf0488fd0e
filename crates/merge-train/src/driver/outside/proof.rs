//! What a squash is to put on the default branch, and whether it did.

use git::Error;
use git::proof::LandedProof;
use git::repository::Wanted;
use merge_train_core::ids::{BranchName, PrNumber, Sha};
use merge_train_core::repo::Failure;
use merge_train_core::train::work::{Expected, Landed, Proof};

use super::Errand;
use super::cascade::{oid, validated};
use super::failure::of_git;

impl Errand<'_> {
    /// The tree that the default branch is to have after a squash of `head`.
    pub(super) async fn expect(
        &self,
        root: PrNumber,
        pull: PrNumber,
        head: &Sha,
        default: &BranchName,
    ) -> Result<Expected, Failure> {
        let stack = self.stack(root).await?;
        let wanted = [Wanted::Default(default.clone()), Wanted::Pull(pull)];
        let heads = match stack.fetch(&wanted).await {
            Err(Error::PullRefGone(_)) => return Ok(Expected::PullRefGone),
            fetched => fetched.map_err(of_git)?,
        };
        let (default_head, found) = (heads.of(&wanted[0]).map_err(of_git)?, heads.of(&wanted[1]).map_err(of_git)?);
        if *found != oid(head)? {
            return Ok(Expected::HeadChanged { head: Sha::from(found) });
        }
        let expected = stack.objects().expected_tree(default_head, found).await.map_err(of_git)?;
        Ok(match expected {
            Ok(tree) => Expected::Tree { default_head: Sha::from(default_head), tree: Sha::from(&tree) },
            Err(conflict) => Expected::Conflict(conflict),
        })
    }

    /// Whether what landed is the squash of what was to land.
    pub(super) async fn prove(&self, root: PrNumber, landed: &Landed, default: &BranchName) -> Result<Proof, Failure> {
        let stack = self.stack(root).await?;
        let squash = match validated(&stack, landed, default).await.map_err(of_git)? {
            Ok(squash) => squash,
            Err(refusal) => return Ok(Proof::NotASquash { reason: refusal.how() }),
        };
        let heads = stack.heads().await.map_err(of_git)?;
        let on_github = heads.of(&Wanted::Pull(landed.pull)).map_err(of_git)?.clone();
        let head = landed.head.as_ref().map_or_else(|| Ok(on_github.clone()), oid)?;
        let objects = stack.objects();
        if !objects.contains(&head, &head).await.map_err(of_git)? {
            let pull = landed.pull;
            let reason = format!("{head}, the head of #{pull} that was squashed, cannot be fetched any more");
            return Ok(Proof::CannotTell { reason });
        }
        let proof = objects.prove_landed(&squash, &head).await.map_err(of_git)?;
        if proof != LandedProof::Proven
            && on_github != head
            && objects.prove_landed(&squash, &on_github).await.map_err(of_git)? == LandedProof::Proven
        {
            // Somebody merged what was pushed after the last look. GitHub did nothing wrong.
            return Ok(Proof::OtherHead { head: Sha::from(&on_github) });
        }
        Ok(match proof {
            LandedProof::Proven => Proof::Proven,
            LandedProof::WrongTree { expected, found, files, unnamed } => {
                tracing::error!(repo = %self.name, pull = %landed.pull, commit = %landed.commit, %expected, %found, unnamed,
                    ?files, "what landed is not what was to land");
                Proof::WrongTree { expected: Sha::from(&expected), found: Sha::from(&found), files }
            }
            LandedProof::CannotTell(conflict) => {
                let reason = format!("merging it here conflicts, although GitHub merged it: {conflict}");
                Proof::CannotTell { reason }
            }
        })
    }
}
