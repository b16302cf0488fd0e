//! Whether a descendant was prepared before its predecessor was squashed.

use crate::{Error, Objects, Oid};

impl Objects {
    /// Whether the descendant holds all of its predecessor, as the predecessor was when it landed. Only then may it be
    /// reconciled: the ours-merge of a squash takes nothing from it, and what is not there already would be lost.
    pub async fn is_prepared(&self, descendant_head: &Oid, predecessor_head: &Oid) -> Result<bool, Error> {
        self.is_ancestor(predecessor_head, descendant_head).await
    }
}
