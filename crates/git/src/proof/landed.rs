//! Whether what landed is what was to land.

use merge_train_core::repo::trains::conflict::Conflict;

use super::Squash;
use crate::merge::Attributes;
use crate::{Error, Objects, Oid};

/// How many differing files are named; the rest is counted.
pub(super) const FILES_NAMED: usize = 20;

/// What became of a squashed pull request on the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LandedProof {
    /// The squash has the tree that merging the pull request gives.
    Proven,
    /// It has another: work of somebody was dropped or added.
    WrongTree {
        expected: Oid,
        found: Oid,
        /// Where the two differ, as far as they are named.
        files: Vec<String>,
        /// How many more there are.
        unnamed: usize,
    },
    /// The pull request and the squash's parent do not merge cleanly here, so nobody can say what was to land.
    CannotTell(Conflict),
}

impl Objects {
    /// Compares a squash with what merging the pull request into the squash's parent gives.
    ///
    /// GitHub does not heed `.gitattributes`. Other servers may, and their result is as good.
    pub async fn prove_landed(&self, squash: &Squash, pull_head: &Oid) -> Result<LandedProof, Error> {
        let expected = self.expected_tree(squash.parent(), pull_head).await?;
        if expected.as_ref().is_ok_and(|tree| tree == squash.tree()) {
            return Ok(LandedProof::Proven);
        }
        let heeding = self.merge_trees(squash.parent(), pull_head, Attributes::OfOurs).await?;
        if heeding.as_ref().is_ok_and(|tree| tree == squash.tree()) {
            return Ok(LandedProof::Proven);
        }
        let expected = match expected.or(heeding) {
            Ok(expected) => expected,
            Err(conflict) => return Ok(LandedProof::CannotTell(conflict)),
        };
        let found = squash.tree().clone();
        let mut files = self.differing_files(&expected, &found).await?;
        let unnamed = files.len().saturating_sub(FILES_NAMED);
        files.truncate(FILES_NAMED);
        Ok(LandedProof::WrongTree { expected, found, files, unnamed })
    }

    /// The tree that the default branch has after a squash of the pull request onto `default_head`: known before it is done.
    pub async fn expected_tree(&self, default_head: &Oid, pull_head: &Oid) -> Result<Result<Oid, Conflict>, Error> {
        self.merge_trees(default_head, pull_head, Attributes::Ignored).await
    }

    pub(super) async fn differing_files(&self, one: &Oid, other: &Oid) -> Result<Vec<String>, Error> {
        let args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", one.as_str(), other.as_str()];
        let output = self.command(args).await?.run().await?;
        let names = output.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }
}
