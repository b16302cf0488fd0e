//! What the outbox has done on GitHub.

use jiff::Timestamp;

use super::{NoteContent, NoteId, PostAttempt};
use crate::ids::PrNumber;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Say something on a pull request.
    Say {
        note: NoteId,
        pr: PrNumber,
        say: NoteContent,
        /// When it became owed: part of its mark.
        since: Timestamp,
        tried: PostAttempt,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EffectKey {
    Say(NoteId),
}

impl Effect {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Say { .. } => "say",
        }
    }

    pub fn key(&self) -> EffectKey {
        match self {
            Self::Say { note, .. } => EffectKey::Say(*note),
        }
    }
}
