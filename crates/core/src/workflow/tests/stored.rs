//! Stored events, documents and requests of runs stay readable, and are written as they were. A line in these fixtures never
//! changes; a new event gets a run of its own at the end of the log, and the documents follow.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;
use crate::fixtures::{Tag, assert_same, by_type, data, missing, read_back, variants};

/// Every event, once with every field and once with as few as possible: several runs, one after the other.
const LOG: &str = include_str!("fixtures/every_event.log");
/// What they add up to.
const RUNS: &str = include_str!("fixtures/runs.log");
const STEPS: &str = include_str!("fixtures/steps.log");
const CHECKPOINTS: &str = include_str!("fixtures/checkpoints.log");
/// What can be asked of a run, as the inbox keeps it.
const REQUESTS: &str = include_str!("fixtures/requests.log");
/// Lines in a form that is no longer written, each followed by the same event as it is written now.
const OLDER: &str = include_str!("fixtures/older_events.log");

#[derive(Deserialize)]
struct Place {
    seq: u64,
    ts: Timestamp,
}

/// The events of each run.
fn runs() -> Vec<Vec<(Event, Timestamp)>> {
    let mut runs: Vec<Vec<(Event, Timestamp)>> = Vec::new();
    for line in LOG.lines() {
        let Place { seq, ts } = serde_json::from_str(line).unwrap();
        if seq == 1 {
            runs.push(Vec::new());
        }
        let run = runs.last_mut().unwrap();
        run.push((serde_json::from_str(&data(line)).unwrap(), ts));
        assert_eq!(run.len() as u64, seq);
    }
    runs
}

fn lines<T: Serialize>(documents: impl IntoIterator<Item = T>) -> String {
    documents.into_iter().map(|document| serde_json::to_string(&document).unwrap() + "\n").collect()
}

#[test]
fn every_event_is_read_and_written_back_byte_for_byte() {
    for line in LOG.lines() {
        read_back::<Event>(&data(line));
    }
}

#[test]
fn the_log_has_every_type_of_event() {
    let there: Vec<String> = by_type(LOG).as_object().unwrap().keys().cloned().collect();
    assert_eq!(variants::<Event>(Tag::Member("type")), there.into_iter().collect());
}

#[test]
fn the_log_has_every_value_that_an_event_can_hold() {
    let log = by_type(LOG);
    let (value, gate) = (Tag::Value, "run_created.workflow.steps.approval");
    let all = [
        missing::<TriggerSource>(&log, value, &["run_created.trigger.source"]),
        missing::<StepKind>(&log, value, &["run_created.workflow.steps"]),
        missing::<ApprovalNeed>(&log, value, &[&format!("{gate}.need")]),
        missing::<OnExpiry>(&log, value, &[&format!("{gate}.on_expiry")]),
        missing::<RunStatus>(&log, value, &["run_transition.from", "run_transition.to"]),
        missing::<Initiator>(&log, value, &["run_transition.context.initiator"]),
        missing::<RunErrorCode>(&log, value, &["run_transition.error.code"]),
        missing::<Decision>(&log, value, &["approval_decided.decision"]),
    ];
    assert_eq!(all.concat(), [""; 0]);
}

#[test]
fn a_replay_of_the_log_gives_the_documents() {
    let (mut documents, mut steps, mut checkpoints) = (Vec::new(), Vec::new(), Vec::new());
    for events in runs() {
        for end in 1..=events.len() {
            let state = RunState::replay(events[..end].iter().map(|(event, at)| (event, *at))).unwrap();
            checkpoints.extend(state.checkpoint(&events[end - 1].0));
        }
        let state = RunState::replay(events.iter().map(|(event, at)| (event, *at))).unwrap();
        documents.push(state.document());
        steps.extend((0..state.steps.len()).map(|step| state.step_document(step)));
    }
    assert_same(&lines(documents), RUNS);
    assert_same(&lines(steps), STEPS);
    assert_same(&lines(checkpoints), CHECKPOINTS);
}

#[test]
fn documents_and_requests_are_read_and_written_back_byte_for_byte() {
    fn all<T: Serialize + DeserializeOwned + Debug>(stored: &str) {
        for line in stored.lines() {
            // An output that is `null` is written, and reads as no output.
            read_back::<T>(&line.replace("\"output\":null,", ""));
        }
    }
    all::<Run>(RUNS);
    all::<RunStep>(STEPS);
    all::<Checkpoint>(CHECKPOINTS);
    all::<Request>(REQUESTS);
}

#[test]
fn the_requests_are_all_there_are() {
    let requests = serde_json::Deserializer::from_str(REQUESTS).into_iter::<Value>();
    let requests = json!({ "requests": requests.map(Result::unwrap).collect::<Vec<_>>() });
    assert_eq!(missing::<Request>(&requests, Tag::Value, &["requests"]), [""; 0]);
}

#[test]
fn lines_of_older_versions_are_read_as_what_they_mean_now() {
    for pair in OLDER.split("\n\n") {
        let (older, now) = pair.trim_end().split_once('\n').expect("the older form, then the present one");
        assert_ne!(older, now);
        let read: Event = serde_json::from_str(&data(older)).unwrap_or_else(|error| panic!("{error}: {older}"));
        assert_eq!(read, read_back(&data(now)), "{older}");
    }
}
