//! What is asked about those who give commands.

use crate::ids::CommentId;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Read what the author of a comment may do.
    ReadPermission { comment: CommentId, login: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    ReadPermission(CommentId),
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::ReadPermission { .. } => "read_permission",
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::ReadPermission { comment, .. } => EffectKey::ReadPermission(*comment),
        }
    }
}
