//! What the bot says. These are events of the repository's stream; their JSON is an interface.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{NoteContent, NoteId};
use crate::ids::PrNumber;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    NoteOwed {
        note: NoteId,
        pr: PrNumber,
        #[serde(flatten)]
        say: NoteContent,
    },
    NoteSaid {
        note: NoteId,
    },
    NoteDelayed {
        note: NoteId,
        reason: String,
        retry_at: Timestamp,
    },
    /// It cannot be said there: the conversation is locked, or the comment is gone.
    NoteDropped {
        note: NoteId,
        reason: String,
    },
}
