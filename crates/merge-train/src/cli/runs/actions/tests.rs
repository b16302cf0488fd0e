//! What came of it, in a sentence.

use merge_train_core::workflow::{ApprovalNeed, Decision, Request};

use super::*;
use crate::cli::runs::tests::{Trial, agent, gate, train, wait};

fn told(action: RunAction, before: &Run, after: &Run) -> String {
    sentence(action.result(before, after, ResponseProgress::Done), before)
}

#[test]
fn what_came_of_it_is_told_in_a_sentence() {
    let at_gate = || Trial::of(vec![gate("ok", &["alice", "bob"], ApprovalNeed::All), wait("landed"), agent("tell")]);
    let said = |trial: Trial, by: &str, decision| trial.decides("11:10:00", by, decision, None);
    let yes = Decision::Approved;
    let resumed = |trial: Trial| trial.asked("11:11:00", Request::Resume { by: "bob".to_owned(), reason: None });
    let half = || said(at_gate(), "alice", yes);
    let waiting = || said(half(), "bob", yes);
    let id = "run-5d41402abc4b2a76b9719d91";
    for (action, before, after, expected) in [
        (
            RunAction::Approve,
            at_gate(),
            half(),
            "Your approval of step ok of RUN is recorded; others have to approve as well.",
        ),
        (RunAction::Approve, half(), waiting(), "step ok of RUN is approved."),
        (RunAction::Resume, half(), waiting(), "step ok of RUN is approved."),
        (
            RunAction::Reject,
            at_gate(),
            said(at_gate(), "bob", Decision::Rejected),
            "step ok of RUN is rejected, which ends the run.",
        ),
        (RunAction::Resume, waiting(), resumed(waiting()), "RUN continues without the event landed."),
        (RunAction::Resume, resumed(waiting()), resumed(waiting()), "RUN continues now."),
        (RunAction::Cancel, waiting(), waiting().cancelled("11:12:00"), "RUN is cancelled."),
        (
            RunAction::Cancel,
            resumed(waiting()),
            resumed(waiting()).cancelled("11:12:00"),
            "RUN is being cancelled: merge-train stops it and undoes its steps.",
        ),
    ] {
        assert_eq!(told(action, &before.document(), &after.document()), expected.replace("RUN", id), "{action:?}");
    }
}

#[test]
fn what_takes_longer_than_anybody_waits_is_told_so() {
    let before = Trial::of(vec![agent("read")]).document();
    assert_eq!(RunAction::Cancel.result(&before, &before, ResponseProgress::UnderWay), RunActionResult::Pending);
    let frozen = train("awaiting_approval", json!({}));
    assert_eq!(
        RunAction::Approve.result(&frozen, &frozen, ResponseProgress::Done),
        RunActionResult::Pending,
        "a train thinks first"
    );
    let goes_on = train("running", json!({}));
    assert_eq!(RunAction::Approve.result(&frozen, &goes_on, ResponseProgress::Done), RunActionResult::Approved);
}
