//! Sections 1 and 2 of the run specification, and its appendix: the states of a run, and every transition between them.

use super::*;

/// The specification's table, as it stands there.
const VALID: [(&str, &[&str]); 7] = [
    ("pending", &["running", "cancelled", "failed"]),
    ("running", &["completed", "failed", "cancelled", "awaiting_approval", "waiting_external"]),
    ("awaiting_approval", &["running", "completed", "failed", "cancelled"]),
    ("waiting_external", &["running", "completed", "failed", "cancelled"]),
    ("completed", &[]),
    ("failed", &[]),
    ("cancelled", &[]),
];

#[test]
fn section_2_1_of_all_49_pairs_the_valid_transitions_pass_and_each_other_has_its_code() {
    let mut pairs = 0;
    for (from, (name, next)) in RunStatus::ALL.into_iter().zip(VALID) {
        assert_eq!(from.as_str(), name);
        for to in RunStatus::ALL {
            pairs += 1;
            let expected = match (next.is_empty(), next.contains(&to.as_str())) {
                (true, _) => Err(RunErrorCode::TerminalState),
                (false, true) => Ok(()),
                (false, false) => Err(RunErrorCode::InvalidTransition),
            };
            assert_eq!(from.check(to).map_err(IllegalTransition::code), expected, "{from} to {to}");
        }
    }
    assert_eq!(pairs, 49);
}

#[test]
fn section_1_1_which_states_are_terminal_and_which_can_resume() {
    let terminal: Vec<_> = RunStatus::ALL.into_iter().filter(|status| status.is_terminal()).collect();
    assert_eq!(terminal, [RunStatus::Completed, RunStatus::Failed, RunStatus::Cancelled]);
    let resumable: Vec<_> = RunStatus::ALL.into_iter().filter(|status| status.can_resume()).collect();
    assert_eq!(resumable, [RunStatus::AwaitingApproval, RunStatus::WaitingExternal]);
    for status in RunStatus::ALL {
        assert_eq!(json!(status), json!(status.as_str()));
    }
}

#[test]
fn the_appendix_has_these_codes() {
    let codes = [
        (RunErrorCode::InvalidTransition, "RUN_INVALID_TRANSITION"),
        (RunErrorCode::TerminalState, "RUN_TERMINAL_STATE"),
        (RunErrorCode::Orphaned, "RUN_ORPHANED"),
        (RunErrorCode::ResumeFailed, "RUN_RESUME_FAILED"),
        (RunErrorCode::IdempotencyConflict, "IDEMPOTENCY_CONFLICT"),
        (RunErrorCode::IdempotencyExpired, "IDEMPOTENCY_EXPIRED"),
    ];
    for (code, name) in codes {
        assert_eq!((code.as_str(), json!(code)), (name, json!(name)));
    }
}

#[test]
fn section_2_2_every_transition_says_who_why_and_when() {
    let mut trial = Trial::of(vec![agent("read"), gate("ok", &["octocat"]), wait("landed", "landed", None)]);
    trial.done();
    trial.clock = 5;
    trial.approve("github:octocat").unwrap();
    trial.clock = 9;
    trial.signal("landed", None).unwrap();
    let contexts: Vec<&TransitionContext> = trial
        .log
        .iter()
        .filter_map(|(event, _)| match event {
            Event::RunTransition { context, .. } => Some(&**context),
            _ => None,
        })
        .collect();
    let initiators: Vec<_> = contexts.iter().filter_map(|context| context.initiator).collect();
    let expected = [
        Initiator::System,
        Initiator::Policy,
        Initiator::Approval,
        Initiator::System,
        Initiator::Webhook,
        Initiator::System,
    ];
    assert_eq!(initiators, expected);
    assert!(contexts.iter().all(|context| context.run_id.is_some() && context.timestamp.is_some()));
    let asked = contexts[1].approval.clone().unwrap();
    assert_eq!((asked.action.as_str(), asked.requested_by.as_deref()), ("ok", Some("api:ops")));
    let decided = contexts[2].approval.clone().unwrap();
    assert_eq!((decided.decision, decided.decided_at), (Some(Decision::Approved), Some(at(5))));
    assert_eq!(contexts[2].user_id.as_deref(), Some("github:octocat"));
    let awaited = contexts[3].external_event.clone().unwrap();
    assert_eq!((awaited.event_type.as_str(), awaited.timeout_ms), ("landed", Some(600_000)));
    assert_eq!(contexts[4].external_event.clone().unwrap().event_id.as_deref(), Some("delivery-1"));
}

#[test]
fn section_2_3_a_run_that_has_ended_takes_nothing_more() {
    let mut trial = Trial::of(vec![agent("read")]);
    trial.clock = 3;
    trial.done();
    let document = trial.state.document();
    assert_eq!(
        (document.status, document.completed_at, document.duration_ms),
        (RunStatus::Completed, Some(at(3)), Some(3_000))
    );
    assert_eq!(document.result, Some(json!({ "made_by": 0 })));
    let refused = [trial.cancel(), trial.approve("octocat"), trial.signal("landed", None)];
    for refusal in refused {
        assert_eq!(refusal.unwrap_err().code(), Some(RunErrorCode::TerminalState));
    }
    trial.passes(100);
    trial.crash();
    assert_eq!(trial.state.document(), document, "not a field of it");
}
