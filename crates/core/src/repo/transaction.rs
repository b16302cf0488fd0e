//! A decision in the making: the state as it will be, what is to be recorded for that, and what is to be done then.

use jiff::Timestamp;

use super::event::Event;
use super::outbox::{self, Say};
use super::state::RepoState;
use super::{Effect, Plan, Settings, apply};
use crate::ids::PrNumber;
use crate::repo::mirror::reads;

pub(super) struct Draft<'a> {
    pub state: RepoState,
    pub settings: &'a Settings,
    pub now: Timestamp,
    pub plan: Plan,
}

/// Something that is known to happen next, without anything being done outside.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Change {
    pub events: Vec<Event>,
    pub notes: Vec<(PrNumber, Say)>,
}

impl Change {
    pub fn of(events: impl IntoIterator<Item = Event>) -> Self {
        Self { events: events.into_iter().collect(), notes: Vec::new() }
    }

    pub fn is_nothing(&self) -> bool {
        self.events.is_empty() && self.notes.is_empty()
    }

    pub fn saying(mut self, pr: PrNumber, body: String) -> Self {
        self.notes.push((pr, Say::Comment { body }));
        self
    }

    /// And then all of that.
    pub fn then(mut self, other: Self) -> Self {
        self.events.extend(other.events);
        self.notes.extend(other.notes);
        self
    }

    pub fn and(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }
}

impl<'a> Draft<'a> {
    /// Goes on from what was decided so far.
    pub fn after(state: &RepoState, plan: Plan, settings: &'a Settings, now: Timestamp) -> Self {
        let mut state = state.clone();
        plan.events.iter().for_each(|event| apply(&mut state, event, now));
        Self { state, settings, now, plan }
    }

    pub fn record(&mut self, event: Event) {
        apply(&mut self.state, &event, self.now);
        self.plan.events.push(event);
    }

    pub fn say(&mut self, pr: PrNumber, say: Say) {
        let mut said = Plan::default();
        outbox::owe(&self.state, pr, say, self.now, &mut said);
        said.events.into_iter().for_each(|event| self.record(event));
        self.plan.effects.extend(said.effects);
    }

    pub fn comment(&mut self, pr: PrNumber, body: String) {
        self.say(pr, Say::Comment { body });
    }

    pub fn make(&mut self, change: Change) {
        change.events.into_iter().for_each(|event| self.record(event));
        change.notes.into_iter().for_each(|(pr, say)| self.say(pr, say));
    }

    pub fn effect(&mut self, effect: impl Into<Effect>) {
        self.plan.effects.push(effect.into());
    }

    /// What is asked for once, with all that is wanted by now.
    pub fn finish(mut self) -> Plan {
        let reads_wanted = |event: &Event| matches!(event, Event::MergeStateOutdated { .. } | Event::PrWanted { .. });
        if self.plan.events.iter().any(reads_wanted) {
            self.plan.effects.extend(reads::pulls_owed(&self.state, self.now));
        }
        reads::merge_duplicates(&mut self.plan);
        self.plan
    }
}
