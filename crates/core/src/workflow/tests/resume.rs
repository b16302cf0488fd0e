//! Section 5: what becomes of a run whose process ended.

use super::*;

fn step(resumable: bool, idempotent: bool) -> StepPlan {
    StepPlan { resumable, idempotent, ..agent("middle") }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Skipped,
    Replayed,
    Failed,
}

/// What is made of the middle step when the process ends after, or during it.
fn outcome(step: StepPlan, is_done: bool) -> Outcome {
    let mut trial = Trial::of(vec![agent("first"), step, agent("last")]);
    trial.done();
    if is_done {
        trial.done();
        // The process ended before the next one was begun.
        trial.under_way.clear();
        trial.state =
            RunState::replay(trial.log.iter().filter(|(event, _)| !is_start_of(event, 2)).map(|(e, at)| (e, *at)))
                .unwrap();
        trial.log.retain(|(event, _)| !is_start_of(event, 2));
    }
    trial.crash();
    if trial.status() == RunStatus::Failed {
        assert!(trial.error().starts_with("RUN_RESUME_FAILED: step \"middle\" "), "{}", trial.error());
        assert_eq!(trial.doing(), None);
        return Outcome::Failed;
    }
    let document = trial.state.document();
    assert_eq!((document.resume_count, document.resumed_from.as_deref()), (1, Some("middle")));
    let outcome = match trial.doing() {
        Some("last") => Outcome::Skipped,
        Some("middle") => Outcome::Replayed,
        other => panic!("{other:?}"),
    };
    while trial.status() == RunStatus::Running {
        trial.done();
    }
    assert_eq!(trial.status(), RunStatus::Completed);
    assert_eq!(trial.state.steps[0].attempts, 1, "what was done before is not done again");
    outcome
}

fn is_start_of(event: &Event, index: usize) -> bool {
    matches!(event, Event::StepStarted { step, .. } if *step == index)
}

#[test]
fn section_5_3_the_decision_tree_for_a_step_that_was_done() {
    assert_eq!(outcome(step(true, true), true), Outcome::Skipped);
    assert_eq!(outcome(step(true, false), true), Outcome::Skipped);
    assert_eq!(outcome(step(false, true), true), Outcome::Replayed);
    assert_eq!(outcome(step(false, false), true), Outcome::Failed);
}

#[test]
fn section_5_3_the_decision_tree_for_a_step_that_has_left_no_output() {
    assert_eq!(outcome(step(true, true), false), Outcome::Replayed);
    assert_eq!(outcome(step(true, false), false), Outcome::Failed, "there is nothing to go on with");
    assert_eq!(outcome(step(false, true), false), Outcome::Replayed);
    assert_eq!(outcome(step(false, false), false), Outcome::Failed);
}

#[test]
fn section_5_4_an_orphan_is_taken_up_like_any_other_and_fails_with_its_own_code_where_it_cannot_be() {
    let taken_up = |step: StepPlan| {
        let mut trial = Trial::of(vec![step]);
        trial.under_way.clear();
        trial.clock += 400;
        trial.feed(&Input::Resume { is_orphan: true }).unwrap();
        trial
    };
    let trial = taken_up(step(false, true));
    assert_eq!((trial.status(), trial.doing(), trial.state.resume_count), (RunStatus::Running, Some("middle"), 1));
    for hopeless in [step(false, false), step(true, false)] {
        let trial = taken_up(hopeless);
        assert_eq!(trial.status(), RunStatus::Failed);
        assert!(trial.error().starts_with("RUN_ORPHANED: step \"middle\" was running"), "{}", trial.error());
        assert_eq!(trial.state.steps[0].status, StepStatus::Failed, "the step is not under way any more either");
    }
}

#[test]
fn a_gate_that_was_passed_is_not_asked_again() {
    let gate = StepPlan { resumable: false, ..gate("ok", &[]) };
    let mut trial = Trial::of(vec![gate, StepPlan { idempotent: true, ..agent("last") }]);
    trial.approve("api:ops").unwrap();
    trial.log.retain(|(event, _)| !is_start_of(event, 1));
    trial.state = RunState::replay(trial.log.iter().map(|(event, at)| (event, *at))).unwrap();
    trial.crash();
    assert_eq!((trial.doing(), trial.state.resume_count), (Some("last"), 1));
}

#[test]
fn a_step_that_waits_to_be_tried_again_goes_on_waiting() {
    let retry = RetryPolicy { times: 1, backoff_ms: 1_000_000 };
    let mut trial = Trial::of(vec![StepPlan { retry, ..agent("read") }]);
    trial.ends(Err("no luck"));
    trial.crash();
    assert_eq!((trial.status(), trial.doing()), (RunStatus::Running, None));
    trial.passes(600);
    assert_eq!(trial.doing(), Some("read"));
}

#[test]
fn a_cancellation_that_was_cut_off_is_brought_to_its_end() {
    let steps = || vec![undone_by("unread", agent("read")), undone_by("unwrite", agent("write"))];
    // While the step was being stopped.
    let mut trial = Trial::of(steps());
    trial.done();
    trial.cancel().unwrap();
    trial.crash();
    assert_eq!(trial.doing(), Some("write"));
    // While it was being undone.
    trial.crash();
    assert_eq!(trial.doing(), Some("write"));
    trial.ends(Ok(Value::Null));
    trial.ends(Ok(Value::Null));
    assert_eq!(trial.status(), RunStatus::Cancelled);
    assert_eq!(trial.state.compensations.len(), 2);
}
