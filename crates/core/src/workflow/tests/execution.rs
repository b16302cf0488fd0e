//! Steps of a workflow run one after the other: retries, outputs, inputs from earlier steps.

use super::*;

#[test]
fn steps_are_done_in_order_and_each_knows_what_those_before_it_left() {
    let mut trial = Trial::of(vec![agent("read"), agent("write")]);
    assert_eq!((trial.doing(), trial.state.document().current_step.as_deref()), (Some("read"), Some("read")));
    trial.done();
    assert_eq!(trial.doing(), Some("write"));
    let Effect::Agent { input, .. } = &trial.under_way[0] else { panic!("a command") };
    assert_eq!(input["inputs"], json!({ "pr": 7 }));
    assert_eq!(input["steps"], json!({ "read": { "made_by": 0 } }));
    assert_eq!(input["run"]["repo"], "acme/widgets");
    assert_eq!(input["step"], json!({ "id": "write", "attempt": 1 }));
    trial.done();
    assert_eq!(trial.status(), RunStatus::Completed);
    assert_eq!(trial.state.document().current_step, None);
}

#[test]
fn a_checkpoint_is_made_before_and_after_each_step() {
    let mut trial = Trial::of(vec![agent("read"), gate("ok", &[])]);
    trial.done();
    trial.approve("api:ops").unwrap();
    let mut state = RunState::replay([(&trial.log[0].0, trial.log[0].1)]).unwrap();
    let mut checkpoints = Vec::new();
    for (event, at) in &trial.log[1..] {
        state.apply(event, *at);
        checkpoints.extend(state.checkpoint(event));
    }
    let told: Vec<_> = checkpoints.iter().map(|it| (it.id.as_str(), it.status, it.output.is_some())).collect();
    let expected = [
        ("000-read-001-begun", StepStatus::Running, false),
        ("000-read-001-ended", StepStatus::Completed, true),
        ("001-ok-001-begun", StepStatus::Running, false),
        ("001-ok-001-ended", StepStatus::Completed, true),
    ];
    assert_eq!(told, expected);
    assert!(checkpoints.iter().all(|it| it.resumable && !it.idempotent));
}

#[test]
fn a_step_that_fails_is_tried_again_after_longer_and_longer_waits_and_then_fails_the_run() {
    let retry = RetryPolicy { times: 2, backoff_ms: 10_000 };
    let mut trial = Trial::of(vec![StepPlan { retry, ..agent("read") }]);
    trial.ends(Err("no luck"));
    assert_eq!((trial.doing(), next_wake(&trial.state)), (None, Some(at(10))));
    trial.passes(9);
    assert_eq!(trial.doing(), None);
    trial.passes(1);
    assert_eq!(trial.doing(), Some("read"));
    trial.ends(Err("no luck"));
    assert_eq!(next_wake(&trial.state), Some(at(30)));
    trial.passes(20);
    trial.ends(Err("no luck at all"));
    assert_eq!((trial.status(), trial.error().as_str()), (RunStatus::Failed, "step \"read\" failed: no luck at all"));
    assert_eq!(trial.state.step_document(0).unwrap().attempts, 3);
}

#[test]
fn the_end_of_a_command_that_was_given_up_means_nothing() {
    let mut trial = Trial::of(vec![StepPlan { idempotent: true, ..agent("read") }, agent("write")]);
    let late =
        Input::StepEnded { step: 0, attempt: 1, result: Ok(CommandOutput { value: json!(1), tokens_used: None }) };
    trial.crash();
    assert_eq!(trial.state.steps[0].attempts, 2);
    trial.feed(&late).unwrap();
    assert_eq!((trial.doing(), trial.state.position), (Some("read"), 0));
}

#[test]
fn a_cancelled_run_stops_its_step_undoes_the_last_first_and_logs_each() {
    let steps = vec![
        undone_by("unread", agent("read")),
        agent("think"),
        undone_by("unwrite", agent("write")),
        undone_by("never", agent("later")),
    ];
    let mut trial = Trial::of(steps);
    trial.done();
    trial.done();
    trial.cancel().unwrap();
    assert_eq!((trial.status(), trial.doing()), (RunStatus::Running, Some("write")), "until it has stopped");
    assert_eq!(trial.cancel(), Err(RunRequestRefusal::CancelledAlready));
    trial.ends(Err("stopped"));
    let Effect::Compensate { program, .. } = &trial.under_way[0] else { panic!("{:?}", trial.under_way) };
    assert_eq!(program.command, ["unwrite"]);
    trial.ends(Err("it is written in stone"));
    let Effect::Compensate { program, input, .. } = &trial.under_way[0] else { panic!("{:?}", trial.under_way) };
    assert_eq!((program.command[0].as_str(), &input["output"]), ("unread", &json!({ "made_by": 0 })));
    trial.ends(Ok(Value::Null));
    assert_eq!(trial.status(), RunStatus::Cancelled);
    let document = trial.state.document();
    let log: Vec<_> = document.compensation_log.iter().map(|it| (it.action.as_str(), it.error.as_deref())).collect();
    assert_eq!(log, [("write", Some("it is written in stone")), ("read", None)]);
    assert_eq!(document.cancellation.unwrap().user_id.as_deref(), Some("api:ops"));
}

#[test]
fn the_step_that_a_run_stands_at_ends_with_it() {
    type End = fn(&mut Trial);
    let reject: End = |trial| {
        let (by, reason) = ("api:ops".to_owned(), Some("not today".to_owned()));
        trial.ask(Request::Decide { by, decision: Decision::Rejected, reason, step: None }).unwrap();
    };
    let expire: End = |trial| trial.passes(601);
    let cancel: End = |trial| trial.cancel().unwrap();
    let crash: End = Trial::crash;
    let ends = [
        (gate("here", &[]), reject, "rejected by api:ops: not today"),
        (gate("here", &[]), expire, "nobody decided in time"),
        (gate("here", &[]), cancel, "the run was cancelled"),
        (wait("here", "landed", None), expire, "landed did not come in time"),
        (wait("here", "landed", None), cancel, "the run was cancelled"),
        (agent("here"), crash, "the process that ran it stopped"),
    ];
    for (step, end, error) in ends {
        let mut trial = Trial::of(vec![step, agent("after")]);
        end(&mut trial);
        assert!(trial.status().is_terminal(), "{error}");
        let document = trial.state.step_document(0).unwrap();
        assert_eq!((document.status, document.completed_at), (StepStatus::Failed, Some(at(trial.clock))), "{error}");
        assert!(document.error.as_ref().is_some_and(|told| told.starts_with(error)), "{error}: {document:?}");
        let (last, when) = trial.log.iter().rev().find(|(event, _)| matches!(event, Event::StepFailed { .. })).unwrap();
        let checkpoint = trial.state.checkpoint(last).expect("a checkpoint after it");
        assert_eq!((checkpoint.status, *when), (StepStatus::Failed, at(trial.clock)), "{error}");
        assert_eq!(trial.state.step_document(1).unwrap().status, StepStatus::Pending, "what was not begun was not");
    }
}

#[test]
fn to_resume_is_to_go_on_past_whatever_the_run_waits_for() {
    let resume = |by: &str| Request::Resume { by: by.to_owned(), reason: Some("we know".to_owned()) };
    let mut trial = Trial::of(vec![gate("ok", &["ana"]), wait("landed", "landed", None), agent("last")]);
    assert!(
        matches!(trial.ask(resume("api:bob")), Err(RunRequestRefusal::NotEntitled { .. })),
        "to resume is to approve"
    );
    trial.ask(resume("api:ana")).unwrap();
    assert_eq!(trial.status(), RunStatus::WaitingExternal);
    trial.ask(resume("api:bob")).unwrap();
    assert_eq!((trial.status(), trial.doing()), (RunStatus::Running, Some("last")));
    assert_eq!(
        trial.state.steps[1].output,
        Some(json!({ "event": null, "resumedBy": "api:bob", "reason": "we know" }))
    );
    assert_eq!(trial.state.last_transition.as_ref().unwrap().user_id.as_deref(), Some("api:bob"));
    let refused = trial.ask(resume("api:bob")).unwrap_err();
    assert_eq!(refused.code(), Some(RunErrorCode::InvalidTransition), "it is under way: {refused}");
    trial.cancel().unwrap();
    assert_eq!(
        trial.ask(resume("api:bob")).unwrap_err().code(),
        Some(RunErrorCode::InvalidTransition),
        "it is being cancelled"
    );
    trial.ends(Err("it was stopped"));
    assert_eq!(trial.ask(resume("api:bob")).unwrap_err().code(), Some(RunErrorCode::TerminalState));
}

#[test]
fn to_resume_ends_the_pause_before_a_step_is_tried_again() {
    let step = StepPlan { retry: RetryPolicy { times: 1, backoff_ms: 60_000 }, ..agent("flaky") };
    let mut trial = Trial::of(vec![step]);
    trial.ends(Err("no luck"));
    assert_eq!((trial.doing(), next_wake(&trial.state)), (None, Some(at(60))));
    trial.ask(Request::Resume { by: "api:ops".to_owned(), reason: None }).unwrap();
    assert_eq!((trial.doing(), trial.state.steps[0].attempts), (Some("flaky"), 2));
    trial.done();
    assert_eq!(trial.status(), RunStatus::Completed);
}

#[test]
fn what_is_wrong_with_a_workflow_is_told() {
    let all = Gate { by: Vec::new(), need: ApprovalNeed::All, timeout_ms: None, on_expiry: OnExpiry::Fail };
    let steps = vec![
        agent("read"),
        agent("read"),
        agent("a b"),
        StepPlan { kind: StepKind::Agent(Program { command: vec!["./do".to_owned()], timeout_ms: 1 }), ..agent("do") },
        StepPlan { kind: StepKind::Approval(all), ..agent("ok") },
        wait("for", "", None),
        undone_by("un", gate("gate", &[])),
        undone_by("", agent("last")),
    ];
    let workflow = Workflow {
        name: "odd".to_owned(),
        description: String::new(),
        on: Vec::new(),
        inputs: serde_json::Map::new(),
        steps,
    };
    insta::assert_snapshot!(workflow.problems().join("\n"), @r#"
    two steps have the same id, "read"
    the id "a b" of step 3 is not made of letters, digits, `-` and `_`
    step "do": its command is a relative path; write the full path
    step "ok": everyone has to approve, but `by` names nobody
    step "for": it waits for an event without a type
    step "gate": only a command can be retried or undone
    step "last": the command that undoes it is empty
    "#);
    assert_eq!(Workflow { steps: Vec::new(), ..workflow }.problems(), ["it has no steps"]);
}

#[test]
fn templates_are_filled_with_what_is_known() {
    let known = json!({ "inputs": { "pr": 7, "who": "me" }, "steps": { "read": { "all": [1] } } });
    assert_eq!(fill("{inputs.who}/{inputs.pr}!", &known), Ok("me/7!".to_owned()));
    assert_eq!(fill("{inputs.none}", &known), Err("`{inputs.none}` leads nowhere".to_owned()));
    assert!(fill("{steps.read.all}", &known).is_err());
    assert!(fill("{inputs.who", &known).is_err());
}
