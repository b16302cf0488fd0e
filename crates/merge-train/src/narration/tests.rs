//! What is told of what happens.

use merge_train_core::workflow::{ApprovalNeed, Decision, Input};
use serde_json::json;

use super::*;
use crate::cli::runs::tests::{Trial, agent, gate, snapshot, train, wait};

fn told(run_type: &str, events: &[Value]) -> String {
    let mut narrator = RunNarrator::default();
    events.iter().filter_map(|event| narrator.tell(run_type, event)).map(|line| line + "\n").collect()
}

#[test]
fn a_run_is_told_from_its_beginning_to_its_end() {
    let run =
        Trial::of(vec![agent("read"), gate("ok", &["alice", "bob"], ApprovalNeed::Any), wait("landed"), agent("tell")])
            .ends("11:00:02", Err("exit status: 1\n\u{1b}[2Jno network"))
            .feed("11:05:02", &Input::Tick)
            .ends("11:05:03.500", Ok(json!({})))
            .decides("11:10:00", "github:alice", Decision::Approved, Some("looks\nfine"))
            .hears("11:20:00")
            .feed("11:21:00", &Input::Resume { is_orphan: false });
    assert_eq!(run.run_state.status, RunStatus::Failed, "a restart in a step that is neither");
    snapshot("watch_failed", &told("deploy", &run.events()));
}

#[test]
fn a_run_that_is_cancelled_is_told_with_what_is_undone() {
    let begun = || Trial::of(vec![agent("read"), agent("tell")]).ends("11:00:02", Ok(json!({}))).cancelled("11:00:05");
    let run = begun().ends("11:00:05", Err("")).ends("11:00:06", Ok(json!({}))).ends("11:00:07", Err("gone"));
    assert_eq!(run.run_state.status, RunStatus::Cancelled);
    snapshot("watch_cancelled", &told("deploy", &run.events()));
}

#[test]
fn a_gate_that_nobody_passes_in_time_is_told() {
    let run = Trial::of(vec![gate("ok", &[], ApprovalNeed::Any)]).feed("13:00:00", &Input::Tick);
    snapshot("watch_expired", &told("deploy", &run.events()));
}

#[test]
fn a_run_that_is_heard_of_late_is_told_without_the_names_of_its_steps() {
    let run = Trial::of(vec![agent("read")]).ends("11:00:02", Ok(json!({})));
    let late = told("deploy", &run.events()[2..]);
    assert!(late.starts_with("2026-11-15 11:00:00Z  step 1 starts\n2026-11-15 11:00:02Z  step 1 is done\n"), "{late}");
}

#[test]
fn what_a_newer_daemon_tells_is_told_by_its_name() {
    let event = json!({ "seq": 9, "ts": "2026-11-15T11:00:00Z", "type": "moon_rose\u{1b}" });
    for run_type in ["deploy", TRAIN] {
        assert_eq!(told(run_type, std::slice::from_ref(&event)), "2026-11-15 11:00:00Z  moon rose\n");
    }
}

#[test]
fn a_train_is_told_from_its_start_to_its_end() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let phase = |phase: Value| {
        json!({
            "type": "phase_transition", "train_root": 12, "current_pr": 12, "predecessor_pr": null,
            "last_squash_sha": null, "phase": phase,
        })
    };
    let preparing = |completed: Value| {
        phase(json!({ "Preparing": { "completed": completed, "skipped": [], "frozen_descendants": [13] } }))
    };
    let why = json!({
        "blocker": "The required check `build` failed on PR #13.", "who": "The author of PR #13, by pushing a fix.",
        "since": "2026-11-15T11:00:00Z", "next": "",
    });
    let events = [
        json!({ "type": "train_started", "root_pr": 12, "current_pr": 12 }),
        preparing(json!([])),
        json!({ "type": "done_push_prep", "train_root": 12, "branch": "two", "pr": 13 }),
        preparing(json!([13])),
        phase(json!({ "SquashPending": { "skipped": [], "frozen_descendants": [13] } })),
        json!({ "type": "squash_committed", "train_root": 12, "pr": 12, "sha": sha }),
        json!({ "type": "status_written", "train_root": 12, "comment": 7, "status_seq": 3 }),
        json!({ "type": "train_waiting", "train_root": 12, "why": why }),
        json!({ "type": "train_resumed", "train_root": 12 }),
        json!({ "type": "train_stopped", "root_pr": 12 }),
    ];
    let recorded = events.into_iter().enumerate().map(|(index, event)| {
        let mut recorded = json!({ "seq": index + 1, "ts": "2026-11-15T11:00:00Z" });
        recorded.as_object_mut().expect("an object").extend(event.as_object().cloned().expect("an object"));
        recorded
    });
    snapshot("watch_train", &told(TRAIN, &recorded.collect::<Vec<_>>()));
}

#[test]
fn only_of_a_train_the_state_is_told_besides() {
    let mut narrator = RunNarrator::default();
    assert_eq!(narrator.see(&train("running", json!({}))), None, "nothing has changed yet");
    let told = narrator.see(&train("waiting_external", json!({})));
    assert_eq!(told.as_deref(), Some("2026-11-15 11:48:00Z  running → waiting_external"));
    let mut narrator = RunNarrator::default();
    let run = Trial::of(vec![agent("read")]);
    narrator.see(&run.document());
    assert_eq!(narrator.see(&run.ends("11:00:02", Ok(json!({}))).document()), None, "its events tell");
}
