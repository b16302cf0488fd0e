//! What a person sees of one run.

use merge_train_core::workflow::{ApprovalNeed, Decision, Input};
use serde_json::json;

use super::*;
use crate::cli::runs::tests::{Trial, agent, gate, now, snapshot, train, wait};

fn told(name: &str, detail: &RunDetail) -> String {
    let told = text(detail, Ink::Plain, now());
    snapshot(name, &told);
    told
}

fn long() -> Trial {
    Trial::of(vec![agent("read"), gate("ok", &["alice", "bob"], ApprovalNeed::All), wait("landed"), agent("tell")])
}

fn at_gate() -> Trial {
    long().ends("11:00:02.500", Ok(json!({ "files": 3 })))
}

#[test]
fn a_run_at_a_gate_says_who_may_decide_and_until_when() {
    let detail = at_gate().decides("11:57:00", "github:alice", Decision::Approved, Some("looks fine")).detail();
    told("show_gate", &detail);
}

#[test]
fn a_run_that_waits_says_for_what() {
    let waits = at_gate().decides("11:10:00", "github:alice", Decision::Approved, None).decides(
        "11:20:00",
        "slack:bob",
        Decision::Approved,
        None,
    );
    told("show_wait", &waits.detail());
}

#[test]
fn a_run_that_tries_again_says_when() {
    let detail = long().ends("11:58:00", Err("exit status: 1\n\u{1b}[2Jno network")).detail();
    told("show_retry", &detail);
}

#[test]
fn a_run_that_failed_says_why_and_how_to_begin_anew() {
    let detail = long()
        .ends("11:01:00", Err("no network"))
        .feed("11:06:00", &Input::Tick)
        .ends("11:06:01", Err("still no network"))
        .detail();
    told("show_failed", &detail);
}

#[test]
fn a_run_that_completed_says_what_came_of_it() {
    let detail = Trial::of(vec![agent("read")]).ends("11:00:41", Ok(json!({ "files": 3 }))).detail();
    let told = told("show_completed", &detail);
    assert!(!told.contains("What you can do"), "it does not");
}

#[test]
fn a_run_that_was_cancelled_says_by_whom_and_what_was_undone() {
    let winding_up = || at_gate().cancelled("11:50:00");
    told("show_cancelling", &winding_up().detail());
    told("show_cancelled", &winding_up().ends("11:50:01", Ok(json!({}))).detail());
    told("show_not_undone", &winding_up().ends("11:50:01", Err("the server is gone")).detail());
}

#[test]
fn a_train_says_why_not_yet_and_who_can_change_that() {
    let why = json!({
        "initiator": "system", "timestamp": "2026-11-15T11:48:00Z",
        "metadata": {
            "blocker": "The required check `build` failed on PR #13.",
            "who": "The author of PR #13, by pushing a fix.",
            "next": "PR #13 is squash-merged once the check passes.",
        },
        "externalEvent": { "eventType": "ci", "source": "github" },
    });
    let run = train("waiting_external", json!({ "lastTransition": why }));
    told("show_train_waits", &RunDetail { run, steps: Vec::new(), run_state: None });
    let reason = "what landed as 0123456 is not what should have";
    let why = json!({ "initiator": "policy", "approval": { "action": "manual_review", "reason": reason } });
    let run = train("awaiting_approval", json!({ "lastTransition": why, "error": reason }));
    told("show_train_frozen", &RunDetail { run, steps: Vec::new(), run_state: None });
    let run = train("failed", json!({ "error": "CONFLICT", "completedAt": "2026-11-15T11:48:00Z" }));
    told("show_train_failed", &RunDetail { run, steps: Vec::new(), run_state: None });
}

#[test]
fn what_is_long_is_cut_and_says_where_the_rest_is() {
    let detail = Trial::of(vec![agent("read")]).ends("11:00:41", Ok(json!("é".repeat(2_000)))).detail();
    let told = text(&detail, Ink::Plain, now());
    let result = told.lines().find(|line| line.contains("result")).expect("a result");
    assert!(result.ends_with("éé … (all of it: --json)") && result.chars().count() < 450, "{result}");
}

fn fixer(status: &str, result: Value, more: &Value) -> RunDetail {
    let mut detail = json!({ "id": "fixer-1", "type": "fixer", "currentStep": "fix", "result": result });
    detail.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    RunDetail { run: train(status, detail), steps: Vec::new(), run_state: None }
}

fn sent() -> Value {
    json!({ "issue": "FIX_CI", "branch": "feature", "headSha": "0123456789abcdef0123", "ciRunId": "1:1" })
}

#[test]
fn a_fixer_that_is_held_shows_what_it_wants_to_push_and_nothing_that_a_terminal_obeys() {
    let mut result = sent();
    result["push"] =
        json!({ "from": "0123456789abcdef0123", "to": "fedcba98765432100000", "files": ["a.txt", "b\n.txt"] });
    result["diff"] =
        json!("diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-bad\n+\u{1b}]0;x\u{7}good\n");
    let approval = json!({ "action": "push", "reason": "it changes a.txt" });
    let context =
        json!({ "currentStep": "approve", "lastTransition": { "initiator": "policy", "approval": approval } });
    let detail = fixer("awaiting_approval", result, &context);
    told("show_fixer_held", &detail);
    let coloured = text(&detail, Ink::Coloured, now());
    assert!(coloured.contains("\u{1b}[31m-bad\u{1b}[0m\n  \u{1b}[32m+\\u{1b}]0;x\\u{7}good\u{1b}[0m\n"), "{coloured}");
}

#[test]
fn a_fixer_that_has_ended_says_what_came_of_it() {
    let mut pushed = sent();
    pushed["outcome"] = json!("FIXER_PUSHED");
    pushed["pushed"] = json!(true);
    pushed["pushedSha"] = json!("fedcba98765432100000");
    told("show_fixer_pushed", &fixer("completed", pushed, &json!({ "durationMs": 60_000 })));
    let mut died = sent();
    died["exit"] = json!("it was killed\nThe end of its log:\noh no");
    died["outcome"] = json!("FIXER_DIED");
    let error = json!({ "error": "The fixer died before it could push: it was killed" });
    told("show_fixer_died", &fixer("failed", died, &error));
}
