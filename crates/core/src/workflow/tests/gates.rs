//! Where a run waits for people, and for what happens outside.

use super::*;

#[test]
fn an_approval_lets_the_run_go_on_and_a_rejection_fails_it_with_the_reason() {
    let steps = || vec![gate("ok", &["octocat", "hubot"]), agent("write")];
    let mut trial = Trial::of(steps());
    assert_eq!(
        (trial.status(), trial.state.document().current_step.as_deref()),
        (RunStatus::AwaitingApproval, Some("ok"))
    );
    assert_eq!(trial.approve("github:octocat"), Ok(()));
    assert_eq!((trial.status(), trial.doing()), (RunStatus::Running, Some("write")));

    let mut trial = Trial::of(steps());
    let decision = Decision::Rejected;
    let reason = Some("too early".to_owned());
    trial.ask(Request::Decide { by: "hubot".to_owned(), decision, reason, step: None }).unwrap();
    assert_eq!((trial.status(), trial.error().as_str()), (RunStatus::Failed, "rejected by hubot: too early"));
}

#[test]
fn where_all_have_to_approve_each_has_to() {
    let all = Gate {
        by: vec!["octocat".to_owned(), "slack:U1".to_owned()],
        need: ApprovalNeed::All,
        timeout_ms: None,
        on_expiry: OnExpiry::Fail,
    };
    let mut trial = Trial::of(vec![StepPlan { kind: StepKind::Approval(all), ..agent("ok") }]);
    trial.approve("github:octocat").unwrap();
    assert_eq!(trial.status(), RunStatus::AwaitingApproval);
    assert_eq!(
        trial.approve("github:octocat"),
        Err(RunRequestRefusal::DecidedAlready { by: "github:octocat".to_owned() })
    );
    trial.approve("slack:U1").unwrap();
    assert_eq!(trial.status(), RunStatus::Completed);
}

#[test]
fn who_is_not_entitled_too_late_or_elsewhere_is_refused() {
    let mut trial = Trial::of(vec![gate("ok", &["octocat"]), agent("write")]);
    let refusal = trial.approve("github:mallory").unwrap_err();
    assert_eq!(refusal.to_string(), "github:mallory may not decide this; these may: octocat");
    trial.approve("octocat").unwrap();
    let refusal = trial.approve("octocat").unwrap_err();
    assert_eq!(refusal.code(), Some(RunErrorCode::InvalidTransition), "nobody asks any more");

    let mut trial = Trial::of(vec![gate("ok", &["octocat"])]);
    trial.clock = 600;
    assert_eq!(trial.approve("octocat").unwrap_err().code(), Some(RunErrorCode::TerminalState), "it was too late");
}

#[test]
fn who_means_another_gate_decides_nothing() {
    let mut trial = Trial::of(vec![gate("first", &[]), gate("second", &[])]);
    let decide = |step: &str| {
        let (by, step) = ("slack:U1".to_owned(), Some(step.to_owned()));
        Request::Decide { by, decision: Decision::Approved, reason: None, step }
    };
    trial.ask(decide("first")).unwrap();
    let refusal = trial.ask(decide("first")).unwrap_err();
    assert_eq!(refusal.to_string(), "the run no longer waits for \"first\", but for \"second\"");
    assert_eq!(trial.status(), RunStatus::AwaitingApproval, "a second click is not a second approval");
    trial.ask(decide("second")).unwrap();
    assert_eq!(trial.status(), RunStatus::Completed);
}

#[test]
fn what_an_approval_that_expires_is_taken_for_is_for_the_workflow_to_say() {
    let outcome = |on_expiry: OnExpiry| {
        let gate = Gate { by: Vec::new(), need: ApprovalNeed::Any, timeout_ms: Some(60_000), on_expiry };
        let mut trial = Trial::of(vec![StepPlan { kind: StepKind::Approval(gate), ..agent("ok") }]);
        assert_eq!(next_wake(&trial.state), Some(at(60)));
        trial.passes(60);
        let initiator = trial.state.last_transition.as_ref().and_then(|context| context.initiator);
        (trial.status(), initiator.unwrap())
    };
    assert_eq!(outcome(OnExpiry::Fail), (RunStatus::Failed, Initiator::Timeout));
    assert_eq!(outcome(OnExpiry::Cancel), (RunStatus::Cancelled, Initiator::Timeout));
    assert_eq!(outcome(OnExpiry::Approve).0, RunStatus::Completed);
}

#[test]
fn an_event_lets_those_go_on_that_wait_for_it_and_no_other() {
    let mut trial = Trial::of(vec![wait("landed", "landed", Some("pr-{inputs.pr}")), agent("tell")]);
    assert_eq!(trial.status(), RunStatus::WaitingExternal);
    trial.signal("opened", Some("pr-7")).unwrap();
    trial.signal("landed", Some("pr-8")).unwrap();
    trial.signal("landed", None).unwrap();
    assert_eq!(trial.status(), RunStatus::WaitingExternal);
    trial.signal("landed", Some("pr-7")).unwrap();
    assert_eq!((trial.status(), trial.doing()), (RunStatus::Running, Some("tell")));
    let expected = json!({ "event": "landed", "eventId": "delivery-1", "payload": { "seen": true } });
    assert_eq!(trial.state.steps[0].output, Some(expected));
}

#[test]
fn an_event_that_comes_early_is_kept_and_counts_once() {
    let mut trial = Trial::of(vec![agent("read"), wait("one", "landed", None), wait("two", "landed", None)]);
    trial.signal("landed", None).unwrap();
    trial.done();
    assert_eq!((trial.status(), trial.state.position), (RunStatus::WaitingExternal, 2));
    for _ in 0..2 * MOST_SIGNALS {
        trial.signal("noise", None).unwrap();
    }
    assert_eq!(trial.state.signals.len(), MOST_SIGNALS);
    trial.signal("landed", None).unwrap();
    assert_eq!(trial.status(), RunStatus::Completed);
}

#[test]
fn section_5_1_a_run_that_waits_past_its_timeout_fails_also_after_a_restart() {
    let mut trial = Trial::of(vec![wait("landed", "landed", None)]);
    trial.passes(599);
    assert_eq!(trial.status(), RunStatus::WaitingExternal);
    trial.crash();
    assert_eq!((trial.status(), trial.error().as_str()), (RunStatus::Failed, "landed did not come in time"));
}

#[test]
fn section_5_1_a_run_that_waits_is_left_alone_by_a_restart_and_needs_nobody() {
    let mut trial = Trial::of(vec![gate("ok", &[]), wait("landed", "landed", None)]);
    let before = trial.state.clone();
    trial.crash();
    assert_eq!(trial.state, before);
    assert!(!needs_a_worker(&trial.state));
    trial.approve("api:ops").unwrap();
    let before = trial.state.clone();
    trial.crash();
    assert_eq!((&trial.state, needs_a_worker(&trial.state)), (&before, false));
    trial.cancel().unwrap();
    assert_eq!(trial.status(), RunStatus::Cancelled);
}

#[test]
fn a_wait_for_what_cannot_be_named_fails_at_once() {
    let trial = Trial::of(vec![wait("landed", "landed", Some("{steps.none.sha}"))]);
    assert_eq!(trial.status(), RunStatus::Failed);
    assert!(trial.error().contains("`{steps.none.sha}` leads nowhere"), "{}", trial.error());
}
