//! A decision in the making: the state as it will be, what is to be recorded for that, and what is to be done then.

use std::borrow::Cow;

use jiff::Timestamp;

use super::event::Event;
use super::outbox::{self, NoteContent, NoteId};
use super::state::RepoState;
use super::{Effect, Plan, Settings, apply};
use crate::ids::PrNumber;
use crate::repo::mirror::{self, reads};

pub(super) struct Transaction<'a> {
    /// The state when the input came.
    pub before: &'a RepoState,
    /// The state that is decided on: `before`, and after `look_ahead` what is recorded makes of it. It is not copied
    /// before that: most inputs only tell something, and the state may be large.
    pub state: Cow<'a, RepoState>,
    pub operator: &'a Settings,
    /// The operator's, with what the repository itself has set.
    pub settings: Cow<'a, Settings>,
    pub now: Timestamp,
    pub plan: Plan,
    last_note: NoteId,
}

/// Something that is known to happen next, without anything being done outside.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Change {
    pub events: Vec<Event>,
    pub notes: Vec<(PrNumber, NoteContent)>,
}

impl Change {
    pub fn of(events: impl IntoIterator<Item = impl Into<Event>>) -> Self {
        Self { events: events.into_iter().map(Into::into).collect(), notes: Vec::new() }
    }

    pub fn is_nothing(&self) -> bool {
        self.events.is_empty() && self.notes.is_empty()
    }

    pub fn saying(mut self, pr: PrNumber, body: String) -> Self {
        self.notes.push((pr, NoteContent::Comment { body }));
        self
    }

    pub fn record(&mut self, event: impl Into<Event>) {
        self.events.push(event.into());
    }

    /// And then all of that.
    pub fn then(mut self, other: Self) -> Self {
        self.events.extend(other.events);
        self.notes.extend(other.notes);
        self
    }

    pub fn and(mut self, event: impl Into<Event>) -> Self {
        self.record(event);
        self
    }
}

impl<'a> Transaction<'a> {
    pub fn begin(before: &'a RepoState, operator: &'a Settings, now: Timestamp) -> Self {
        let (state, settings) = (Cow::Borrowed(before), before.settings(operator));
        let last_note = NoteId(before.outbox.last);
        Self { before, state, operator, settings, now, plan: Plan::default(), last_note }
    }

    /// From here on the state is what is recorded makes of it.
    pub fn look_ahead(&mut self) {
        self.state = Cow::Owned(self.after());
    }

    /// What is recorded so far makes of the state.
    pub fn after(&self) -> RepoState {
        match &self.state {
            Cow::Owned(state) => state.clone(),
            Cow::Borrowed(before) => {
                let mut state = (*before).clone();
                self.plan.events.iter().for_each(|event| apply(&mut state, event, self.now));
                state
            }
        }
    }

    pub fn record(&mut self, event: impl Into<Event>) {
        let event = event.into();
        if let Cow::Owned(state) = &mut self.state {
            apply(state, &event, self.now);
        }
        if let Event::Outbox(outbox::Event::NoteOwed { note, .. }) = &event {
            self.last_note = self.last_note.max(*note);
        }
        self.plan.events.push(event);
    }

    pub fn record_all(&mut self, events: impl IntoIterator<Item = impl Into<Event>>) {
        events.into_iter().for_each(|event| self.record(event));
    }

    /// A number for a note that is about to be recorded.
    pub fn next_note(&self) -> NoteId {
        NoteId(self.last_note.0 + 1)
    }

    pub fn say(&mut self, pr: PrNumber, say: NoteContent) {
        outbox::owe(self, pr, say);
    }

    pub fn comment(&mut self, pr: PrNumber, body: String) {
        self.say(pr, NoteContent::Comment { body });
    }

    pub fn make(&mut self, change: Change) {
        change.events.into_iter().for_each(|event| self.record(event));
        change.notes.into_iter().for_each(|(pr, say)| self.say(pr, say));
    }

    pub fn effect(&mut self, effect: impl Into<Effect>) {
        self.plan.effects.push(effect.into());
    }

    pub fn effects(&mut self, effects: impl IntoIterator<Item = impl Into<Effect>>) {
        effects.into_iter().for_each(|effect| self.effect(effect));
    }

    /// What is asked for once, with all that is wanted by now.
    pub fn finish(mut self) -> Plan {
        let reads_wanted = |event: &Event| {
            matches!(event, Event::Mirror(mirror::Event::MergeStateOutdated { .. } | mirror::Event::PrWanted { .. }))
        };
        if self.plan.events.iter().any(reads_wanted) {
            self.plan.effects.extend(reads::pulls_owed(&self.state, self.now));
        }
        reads::merge_duplicates(&mut self.plan);
        self.plan
    }
}
