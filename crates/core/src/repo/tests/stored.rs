//! Stored events and snapshots stay readable, and are written as they were. The fixtures are what stores out there hold: a line in
//! them never changes. A new event gets its lines at the end of the log, and the snapshot follows.

use serde_json::Value;

use super::*;
use crate::facts::{CheckConclusion, CheckProgress, ReviewDecision};
use crate::fixtures::{Tag, assert_same, by_type, data, missing, read_back, variants};
use crate::repo::event::PrStateName;
use crate::repo::pace::PacedAction;
use crate::repo::ratchet::{
    CiSummary, FixExit, FixIssue, FixPhase, TransitionLogAction, WorkspaceReason, WorkspaceStatus,
};
use crate::repo::settings;
use crate::repo::trains::detail::IntendedAction;
use crate::repo::trains::status::WaitParty;
use crate::repo::trains::work::{PushKind, WorktreeCleanup};
use crate::repo::trains::{CascadePhase, StaleApprovals, TrainState};
use crate::workflow::Decision;

/// Every event, once with every field and once with as few as possible. No repository has such a history.
const LOG: &str = include_str!("fixtures/every_event.log");
/// What the log adds up to.
const SNAPSHOT: &str = include_str!("fixtures/snapshot.json");
/// Lines in a form that is no longer written, each followed by the same event as it is written now.
const OLDER: &str = include_str!("fixtures/older_events.log");

const TYPE: Tag = Tag::Member("type");

fn replayed() -> RepoState {
    let mut state = RepoState::default();
    for line in LOG.lines() {
        let recorded: RecordedEvent = serde_json::from_str(line).unwrap();
        apply(&mut state, &recorded.event, recorded.ts);
    }
    state
}

#[test]
fn every_event_is_read_and_written_back_byte_for_byte() {
    for (line, seq) in LOG.lines().zip(1..) {
        let recorded: RecordedEvent = read_back(line);
        assert_eq!(recorded.seq, seq);
        assert_eq!(read_back::<Event>(&data(line)), recorded.event);
    }
}

#[test]
fn the_log_has_every_type_of_event() {
    let known: BTreeSet<String> = variants::<Event>(TYPE);
    let there: BTreeSet<String> = by_type(LOG).as_object().unwrap().keys().cloned().collect();
    let (lacking, unasked) = (&known - &there, &there - &known);
    assert!(lacking.is_empty(), "the log lacks {lacking:?}");
    assert!(unasked.is_empty(), "of no enum that is asked for here: {unasked:?}");
}

#[test]
fn the_log_has_every_value_that_an_event_of_trains_can_hold() {
    let log = by_type(LOG);
    let (value, outcome) = (Tag::Value, Tag::Member("outcome"));
    let record = "train_recovered.record";
    let all = [
        missing::<Decision>(&log, value, &["train_started.decision"]),
        missing::<CascadePhase>(&log, value, &["phase_transition.phase"]),
        missing::<CascadePhase>(&log, value, &[&format!("{record}.cascade_phase")]),
        missing::<TrainState>(&log, value, &[&format!("{record}.state")]),
        missing::<WaitParty>(&log, value, &["train_waiting.why.party"]),
        missing::<StaleApprovals>(&log, value, &["policy_observed.policy.stale_approvals"]),
        missing::<CommandOutcome>(&log, outcome, &["command_handled.outcome"]),
    ];
    assert_eq!(all.concat(), [""; 0]);
}

#[test]
fn the_log_has_every_value_that_an_event_of_the_mirror_can_hold() {
    let log = by_type(LOG);
    let (value, outcome) = (Tag::Value, Tag::Member("outcome"));
    let mut all = [
        missing::<HeadRepo>(&log, value, &["pr_observed.head_repo"]),
        missing::<PrStateName>(&log, value, &["pr_state_changed.state"]),
        missing::<FetchReason>(&log, value, &["pr_wanted.reason"]),
        missing::<MergeState>(&log, value, &["merge_state_observed.state"]),
        missing::<ReviewDecision>(&log, value, &["merge_state_observed.review"]),
        missing::<CheckProgress>(&log, value, &["merge_state_observed.ci.suites.*"]),
        missing::<CheckConclusion>(&log, value, &["merge_state_observed.ci.checks.*.verdict"]),
        missing::<CheckConclusion>(&log, value, &["merge_state_observed.ci.overall"]),
        missing::<CiReport>(&log, value, &["ci_seen"]),
        missing::<CheckProgress>(&log, value, &["ci_seen.suite.progress"]),
        missing::<CheckConclusion>(&log, value, &["ci_seen.status.verdict"]),
        missing::<SyncReason>(&log, value, &["sync_requested.reason"]),
        missing::<ReadKind>(&log, value, &["read_failed.read"]),
        missing::<StatusCommentPart>(&log, value, &["conversations_heard.traces.shown"]),
        missing::<SettingsFileChange>(&log, value, &["proposal_settled.standing"]),
        missing::<settings::SettingsFileVerdict>(&log, Tag::Member("verdict"), &["check_owed.verdict"]),
        missing::<NoteContent>(&log, Tag::Member("say"), &["note_owed.say"]),
        missing::<DeliveryOutcome>(&log, outcome, &["delivery_processed.outcome"]),
        missing::<Request>(&log, value, &["request_processed.request"]),
        missing::<RequestOutcome>(&log, value, &["request_processed.outcome"]),
    ]
    .concat();
    // `nothing` is the default, and is left out when it is written.
    all.retain(|missing| !missing.contains("StatusCommentPart: `nothing`"));
    assert_eq!(all, [""; 0]);
}

#[test]
fn the_log_has_every_value_that_an_event_of_the_ratchet_can_hold() {
    let log = by_type(LOG);
    let value = Tag::Value;
    let fix = ["fix_dispatched.fix", "fix_settled.fix"];
    let in_fix = |member: &str| fix.map(|fix| format!("{fix}.{member}"));
    let (issues, phases) = (in_fix("issue"), in_fix("phase.phase"));
    let all = [
        missing::<TransitionLogAction>(&log, value, &["ratchet_moved.action"]),
        missing::<WorkspaceStatus>(&log, value, &["ratchet_moved.status"]),
        missing::<WorkspaceReason>(&log, value, &["ratchet_moved.reason"]),
        missing::<CiSummary>(&log, value, &["ratchet_moved.consumed.ci"]),
        missing::<ReviewDecision>(&log, value, &["ratchet_moved.consumed.review"]),
        missing::<FixIssue>(&log, value, &issues.each_ref().map(String::as_str)),
        missing::<FixPhase>(&log, Tag::Member("phase"), &phases.each_ref().map(String::as_str)),
        missing::<FixExit>(&log, value, &["fix_held.exit", "fix_push_intended.exit"]),
    ];
    assert_eq!(all.concat(), [""; 0]);
}

#[test]
fn a_replay_of_the_log_gives_the_snapshot() {
    let stored: Snapshot = serde_json::from_str(SNAPSHOT).unwrap();
    let state = replayed();
    let (generation, next_seq, taken_at) = (stored.log_generation, LOG.lines().count() as u64 + 1, stored.snapshot_at);
    let now = Snapshot::of(&state, Position { generation, next_seq, taken_at });
    assert_same(&(serde_json::to_string_pretty(&now).unwrap() + "\n"), SNAPSHOT);
    assert_eq!(stored.restore(), state);
}

#[test]
fn the_snapshot_is_read_and_written_back_byte_for_byte() {
    let stored: Snapshot = serde_json::from_str(SNAPSHOT).unwrap();
    assert_same(&(serde_json::to_string_pretty(&stored).unwrap() + "\n"), SNAPSHOT);
    let position =
        Position { generation: stored.log_generation, next_seq: stored.next_seq, taken_at: stored.snapshot_at };
    let restored = Snapshot::of(&stored.restore(), position);
    assert_same(&(serde_json::to_string_pretty(&restored).unwrap() + "\n"), SNAPSHOT);
}

#[test]
fn the_snapshot_has_every_value_that_only_a_state_can_hold() {
    let snapshot: Value = serde_json::from_str(SNAPSHOT).unwrap();
    let value = Tag::Value;
    let waits = ["train_details.*.run.waited", "train_details.*.why.party"];
    let all = [
        missing::<PrStateName>(&snapshot, value, &["prs.*.state"]),
        missing::<TrainState>(&snapshot, value, &["active_trains.*.state"]),
        missing::<CascadePhase>(&snapshot, value, &["active_trains.*.cascade_phase"]),
        missing::<IntendedAction>(&snapshot, value, &["train_details.*.intent.what"]),
        missing::<PushKind>(&snapshot, value, &["train_details.*.intent.what.push.kind"]),
        missing::<WorktreeCleanup>(&snapshot, value, &["train_details.*.tidying"]),
        missing::<WaitParty>(&snapshot, value, &waits),
        missing::<PacedAction>(&snapshot, value, &["paces.*"]),
        missing::<NoteContent>(&snapshot, Tag::Member("say"), &["outbox.owed.*.say"]),
        missing::<SettingsFileChange>(&snapshot, value, &["own.proposals.*.standing"]),
        missing::<settings::SettingsFileVerdict>(&snapshot, Tag::Member("verdict"), &["own.checks.*.verdict"]),
        missing::<FixPhase>(&snapshot, Tag::Member("phase"), &["workspaces.*.fix.phase.phase"]),
    ];
    assert_eq!(all.concat(), [""; 0]);
}

#[test]
fn lines_of_older_versions_are_read_as_what_they_mean_now() {
    for pair in OLDER.split("\n\n") {
        let (older, now) = pair.trim_end().split_once('\n').expect("the older form, then the present one");
        assert_ne!(older, now);
        let read: RecordedEvent = serde_json::from_str(older).unwrap_or_else(|error| panic!("{error}: {older}"));
        assert_eq!(read, read_back(now), "{older}");
    }
}
