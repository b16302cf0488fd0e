//! The log and the snapshot, as the specification writes them.

use super::*;
use crate::repo::trains::{CascadePhase, TrainState};

const LOG: &str = r#"{"seq":1,"ts":"2024-01-15T10:00:00Z","type":"train_started","root_pr":123,"current_pr":123}
{"seq":2,"ts":"2024-01-15T10:01:00Z","type":"phase_transition","train_root":123,"current_pr":123,"predecessor_pr":null,"last_squash_sha":null,"phase":{"Preparing":{"completed":[],"skipped":[],"frozen_descendants":[124]}}}
{"seq":3,"ts":"2024-01-15T10:01:30Z","type":"phase_transition","train_root":123,"current_pr":123,"predecessor_pr":null,"last_squash_sha":null,"phase":{"SquashPending":{"frozen_descendants":[124],"skipped":[]}}}
{"seq":4,"ts":"2024-01-15T10:02:00Z","type":"squash_committed","train_root":123,"pr":123,"sha":"abc123"}
{"seq":5,"ts":"2024-01-15T10:02:30Z","type":"phase_transition","train_root":123,"current_pr":123,"predecessor_pr":null,"last_squash_sha":"abc123","phase":{"Reconciling":{"completed":[],"skipped":[],"frozen_descendants":[124]}}}
{"seq":6,"ts":"2024-01-15T10:03:00Z","type":"phase_transition","train_root":123,"current_pr":124,"predecessor_pr":123,"last_squash_sha":"abc123","phase":"Idle"}
{"seq":7,"ts":"2024-01-15T10:10:00Z","type":"train_completed","root_pr":123}"#;

#[test]
fn the_lines_of_the_specification_read_and_write_back_byte_for_byte() {
    for line in LOG.lines() {
        let recorded: RecordedEvent = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_string(&recorded).unwrap(), line);
    }
}

#[test]
fn a_replay_of_the_specifications_log_follows_the_train() {
    let mut state = RepoState::default();
    let mut phases = Vec::new();
    for line in LOG.lines() {
        let recorded: RecordedEvent = serde_json::from_str(line).unwrap();
        apply(&mut state, &recorded.event, recorded.ts);
        let train = state.active_trains().get(&pr(123));
        phases.push(
            train.map(|train| (train.recovery_seq, train.current_pr.get(), train.cascade_phase != CascadePhase::Idle)),
        );
    }
    let expected = [
        Some((1, 123, false)),
        Some((2, 123, true)),
        Some((3, 123, true)),
        Some((4, 123, true)),
        Some((5, 123, true)),
        Some((6, 124, false)),
        None,
    ];
    assert_eq!(phases, expected);
}

#[test]
fn the_snapshot_of_the_specification_is_understood() {
    let snapshot: Snapshot = serde_json::from_str(
        r#"{"schema_version":1,"snapshot_at":"2024-01-15T10:30:00Z","log_generation":1,"log_position":1234,"next_seq":5,
            "default_branch":"main","prs":{
              "123":{"head_sha":"abc123def456","base_ref":"main","predecessor":null,"state":"open","closed_at":null},
              "124":{"head_sha":"def456ghi789","base_ref":"feature-123","predecessor":123,"state":"open","closed_at":null}},
            "active_trains":{"123":{"version":1,"recovery_seq":5,"state":"running","original_root_pr":123,"current_pr":123,
              "cascade_phase":"Idle","predecessor_pr":null,"last_squash_sha":null,"started_at":"2024-01-15T09:00:00Z",
              "stopped_at":null,"error":null}}}"#,
    )
    .unwrap();
    assert_eq!((snapshot.log_position, snapshot.next_seq), (1234, 5));
    let state = snapshot.restore();
    assert_eq!(state.descendants(pr(123)).collect::<Vec<_>>(), [pr(124)]);
    assert_eq!(state.active_trains()[&pr(123)].state, TrainState::Running);
    assert_eq!(state.default_branch().unwrap().as_str(), "main");
}

#[test]
fn a_line_of_an_unknown_type_is_refused() {
    let unknown = r#"{"seq":1,"ts":"2024-01-15T10:00:00Z","type":"moon_landed"}"#;
    let error = serde_json::from_str::<RecordedEvent>(unknown).unwrap_err().to_string();
    assert!(error.contains("moon_landed"), "{error}");
}
