//! What the bot owes to say on GitHub: each said once, in order on each pull request, whatever crashes.
//!
//! A note is an event before it is a comment. One that may have been said, because the answer was lost or the process died, is
//! looked for on GitHub before it is said again: its comment carries the note's mark.

mod effect;
mod event;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::effect::EffectOutcome;
use super::event::PrStateName;
use super::state::{Backoff, RepoState};
use super::transaction::Transaction;
use super::{EffectFailure, EffectFailureKind, Event as RepoEvent};
use crate::ids::{BranchName, CommentId, DeliveryId, PrNumber};
use crate::repo::commands::StoredCommand;
use crate::repo::mirror::{self, reads};
use crate::repo::trains::plan::StackMember;

pub use effect::{Effect, EffectKey};
pub use event::Event;

/// A note's number in its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NoteId(pub u64);

/// What is to be said.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum NoteContent {
    /// 👍 under a comment: it was understood and done. GitHub keeps one of each person's, however often it is given.
    Acknowledge { comment: CommentId },
    /// A comment in the conversation, Markdown.
    Comment { body: String },
    /// Not said but done: the pull request is closed, by a forced stop.
    Close {},
    /// A comment with what landing the stack would do, computed when it is said.
    Plan { members: Vec<StackMember>, default: BranchName },
    /// A comment with what came of a command about runs, which is given when it is said.
    Order {
        comment: CommentId,
        command: StoredCommand,
        login: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivery: Option<DeliveryId>,
    },
}

/// Whether a note can have been said already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PostAttempt {
    Never,
    /// Perhaps it was said: look first.
    Perhaps,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Outbox {
    /// The number of the last note.
    pub last: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub owed: BTreeMap<NoteId, PendingNote>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PendingNote {
    pub pr: PrNumber,
    #[serde(flatten)]
    pub say: NoteContent,
    pub since: Timestamp,
    #[serde(default)]
    pub backoff: Backoff,
}

/// What a comment carries so that it is recognised. The time tells notes of one number apart if a state was ever lost.
pub fn mark(note: NoteId, since: Timestamp) -> String {
    format!("<!-- merge-train-note {}-{} -->", note.0, since.as_millisecond())
}

/// Whether a comment is one that merge-train wrote.
pub(super) fn is_marked(body: &str) -> bool {
    body.contains("<!-- merge-train-")
}

/// Whether the bot is about to close a pull request.
pub(super) fn is_closing(state: &RepoState, pr: PrNumber) -> bool {
    state.outbox.owed.values().any(|owed| owed.pr == pr && owed.say == (NoteContent::Close {}))
}

/// Records that something is to be said, and says it if nothing else is to be said there first.
pub(super) fn owe(transaction: &mut Transaction<'_>, pr: PrNumber, say: NoteContent) {
    let (note, since) = (transaction.next_note(), transaction.now);
    let mut recorded = transaction.plan.events.iter();
    let is_first = !transaction.state.outbox.owed.values().any(|owed| owed.pr == pr)
        && !recorded.any(|event| matches!(event, RepoEvent::Outbox(Event::NoteOwed { pr: other, .. }) if *other == pr));
    transaction.record(Event::NoteOwed { note, pr, say: say.clone() });
    if is_first {
        transaction.effect(Effect::Say { note, pr, say, since, tried: PostAttempt::Never });
    }
}

/// The first note of each pull request, where it is due.
pub(super) fn due(state: &RepoState, now: Timestamp) -> Vec<super::Effect> {
    let mut met = BTreeSet::new();
    let first = state.outbox.owed.iter().filter(|(_, owed)| met.insert(owed.pr));
    first
        .filter(|(_, owed)| owed.backoff.is_due(now))
        .map(|(note, owed)| effect(*note, owed, PostAttempt::Perhaps))
        .collect()
}

/// When something is to be said again.
pub(super) fn retries(state: &RepoState) -> impl Iterator<Item = &Backoff> {
    state.outbox.owed.values().map(|owed| &owed.backoff)
}

/// Takes down what came of saying something.
pub(super) fn completed(transaction: &mut Transaction<'_>, effect: &Effect, outcome: &EffectOutcome<'_>) {
    match effect {
        Effect::Say { note, .. } => said(transaction, *note, outcome.answer()),
    }
}

fn said(transaction: &mut Transaction<'_>, note: NoteId, result: Result<&(), &EffectFailure>) {
    let notes = &transaction.before.outbox.owed;
    let Some(owed) = notes.get(&note) else { return };
    match result {
        Ok(()) => {
            transaction.record(Event::NoteSaid { note });
            if owed.say == (NoteContent::Close {}) {
                transaction.record(mirror::Event::PrStateChanged { pr: owed.pr, state: PrStateName::Closed, at: None });
            }
        }
        Err(failure) if failure.kind == EffectFailureKind::Permanent => {
            transaction.record(Event::NoteDropped { note, reason: failure.reason.clone() });
        }
        Err(failure) => {
            let retry_at = reads::retry_at(failure, owed.backoff.attempts, transaction.now);
            transaction.record(Event::NoteDelayed { note, reason: failure.reason.clone(), retry_at });
            return;
        }
    }
    let next = notes.iter().find(|(other, waiting)| **other > note && waiting.pr == owed.pr);
    transaction.effects(next.map(|(next, waiting)| effect(*next, waiting, PostAttempt::Never)));
}

fn effect(note: NoteId, owed: &PendingNote, tried: PostAttempt) -> super::Effect {
    Effect::Say { note, pr: owed.pr, say: owed.say.clone(), since: owed.since, tried }.into()
}

/// Folds one event in.
pub(super) fn apply(outbox: &mut Outbox, event: &Event, ts: Timestamp) {
    match event {
        Event::NoteOwed { note, pr, say } => {
            outbox.last = outbox.last.max(note.0);
            outbox
                .owed
                .insert(*note, PendingNote { pr: *pr, say: say.clone(), since: ts, backoff: Backoff::default() });
        }
        Event::NoteSaid { note } | Event::NoteDropped { note, .. } => {
            outbox.owed.remove(note);
        }
        Event::NoteDelayed { note, retry_at, .. } => {
            if let Some(owed) = outbox.owed.get_mut(note) {
                owed.backoff.fail(*retry_at);
            }
        }
    }
}
