//! What an event does to the state. Each feature folds its own events in; nothing else changes the state.

use jiff::Timestamp;

use super::event::Event;
use super::state::RepoState;
use super::{commands, mirror, outbox, ratchet, settings, trains};

/// Folds one event in.
pub fn apply(state: &mut RepoState, event: &Event, ts: Timestamp) {
    state.touched_at = Some(ts);
    match event {
        Event::Mirror(event) => mirror::apply(state, event, ts),
        Event::Trains(event) => trains::apply(state, event, ts),
        Event::Settings(event) => settings::apply(&mut state.own, event, ts),
        Event::Commands(event) => commands::apply(state, event),
        Event::Outbox(event) => outbox::apply(&mut state.outbox, event, ts),
        Event::Ratchet(event) => ratchet::apply(state, event, ts),
    }
}
