//! The worker's clock, set back: what lies behind is all the same, what lies ahead stays as far ahead.
//!
//! Without that no two states on a path would be equal, and there would be no end of them.

use jiff::Timestamp;
use serde_json::Value;

use super::super::at;
use crate::repo::{Position, RepoState, Snapshot};

/// Times before this are GitHub's, and stay.
const GITHUB: i64 = -500_000;

/// The same state, `from` being `to`. Goes through the snapshot, so that no time is forgotten.
pub fn set_back(state: &RepoState, from: Timestamp, to: Timestamp) -> RepoState {
    let position = Position { generation: 1, next_seq: 1, taken_at: from };
    let mut snapshot = serde_json::to_value(Snapshot::of(state, position)).expect("a snapshot is JSON");
    each_time(&mut snapshot, &|time| match time {
        time if time < at(GITHUB) => time,
        time if time <= from => to,
        time => to.checked_add(time.duration_since(from)).expect("near"),
    });
    serde_json::from_value::<Snapshot>(snapshot).expect("still a snapshot").restore()
}

fn each_time(value: &mut Value, change: &impl Fn(Timestamp) -> Timestamp) {
    match value {
        Value::String(text) => {
            if let Ok(time) = text.parse::<Timestamp>() {
                *text = change(time).to_string();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each_time(value, change)),
        Value::Object(fields) => fields.values_mut().for_each(|value| each_time(value, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
