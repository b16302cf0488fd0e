//! Proofs about what landed.

use crate::Oid;

/// A commit that is known to be a squash: one parent, and that parent was the default branch's head just before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Squash {
    commit: Oid,
    parent: Oid,
    tree: Oid,
}

impl Squash {
    /// One that a plan made itself.
    pub(crate) fn planned(commit: Oid, parent: Oid, tree: Oid) -> Self {
        Self { commit, parent, tree }
    }

    pub fn commit(&self) -> &Oid {
        &self.commit
    }

    /// The default branch as it was just before.
    pub fn parent(&self) -> &Oid {
        &self.parent
    }

    pub fn tree(&self) -> &Oid {
        &self.tree
    }
}
